"""Numerical methods that several models share, in numpy; what must be compiled stands in `tagcore.kernels`."""
