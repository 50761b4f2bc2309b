"""Inner products of short float32 vectors."""

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "contract"}  # sums side by side, in an order fixed when the code is compiled


@njit(cache=True, nogil=True, fastmath=_FAST)
def dot(a, b):
    total = np.float32(0.0)
    for c in range(a.size):
        total += a[c] * b[c]
    return total


@njit(cache=True, nogil=True)
def cell_scores(left, right, ids, starts, out):
    """out[p] = left[i] · right[ids[p]] for the cells p of each row i."""
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            out[p] = dot(left[i], right[ids[p]])
