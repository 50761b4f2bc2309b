"""Arithmetic in numba: plain arrays in and out, no classes, one thread."""

from tagcore.inference_only import serves_only
from tagcore.kernels.compiled import compile_kernels_once, load_without_compiler

compile_kernels_once()
if serves_only():
    load_without_compiler()
