"""Values of one array into another, by a loop.

numba compiles `out[:] = values` with the text of an error about shapes: three seconds of a process that compiles one.
"""

from numba import njit


@njit(cache=True, nogil=True)
def copy_into(out, values):
    """Copies values, of as many dimensions as `out`, one or two, into the first places of `out`."""
    if values.ndim == 1:
        for i in range(values.size):
            out[i] = values[i]
    else:
        for i in range(values.shape[0]):
            for j in range(values.shape[1]):
                out[i, j] = values[i, j]
