"""Arithmetic of BMLPL, in numba."""
