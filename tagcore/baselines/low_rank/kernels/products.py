"""Sparse rows times dense factors, a tile of columns at a time so that the factors stay in the cache."""

import numpy as np
from numba import njit

_TILE = 128


@njit(cache=True, nogil=True)
def embed_rows(data, indices, indptr, factors, out):
    """out = rows @ factors."""
    columns = factors.shape[1]
    for left in range(0, columns, _TILE):
        right = min(columns, left + _TILE)
        for i in range(indptr.size - 1):
            total = out[i, left:right]
            total[:] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                value, row = data[p], factors[indices[p], left:right]
                for c in range(right - left):
                    total[c] += value * row[c]


@njit(cache=True, nogil=True)
def add_transposed(data, indices, indptr, values, out):
    """out += rowsᵀ @ values."""
    columns = values.shape[1]
    for left in range(0, columns, _TILE):
        right = min(columns, left + _TILE)
        for i in range(indptr.size - 1):
            row = values[i, left:right]
            for p in range(indptr[i], indptr[i + 1]):
                value, total = data[p], out[indices[p], left:right]
                for c in range(right - left):
                    total[c] += value * row[c]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def cell_scores(left, right, ids, starts, out):
    """out[p] = left[i] · right[ids[p]] for the cells p of each row i: the order of a sum is fixed when compiled."""
    for i in range(starts.size - 1):
        row = left[i]
        for p in range(starts[i], starts[i + 1]):
            other, total = right[ids[p]], np.float32(0.0)
            for c in range(row.size):
                total += row[c] * other[c]
            out[p] = total
