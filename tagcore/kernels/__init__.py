"""Arithmetic in numba: plain arrays in and out, no classes, one thread."""

from tagcore.inference_only import serves_only
from tagcore.kernels.compiled import load_without_compiler, lock_compiled_kernels

lock_compiled_kernels()
if serves_only():
    load_without_compiler()
