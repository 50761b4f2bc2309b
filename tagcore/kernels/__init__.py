"""Arithmetic in numba: plain arrays in and out, no classes, one thread."""

from tagcore.kernels.compiled import lock_compiled_kernels

lock_compiled_kernels()
