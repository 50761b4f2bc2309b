"""Arithmetic of labelling rules, in numba."""
