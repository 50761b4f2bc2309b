"""Arithmetic in numba: plain arrays in and out, no classes, one thread."""
