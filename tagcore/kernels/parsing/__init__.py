"""Text formats of sparse rows, parsed in numba."""
