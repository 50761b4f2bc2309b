"""Arithmetic of low-rank models, in numba."""
