"""Arithmetic of linear models, in numba."""
