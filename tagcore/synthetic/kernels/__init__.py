"""Arithmetic of planted data, in numba."""
