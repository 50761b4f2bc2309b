"""Arithmetic of measures, in numba."""
