"""Which suggestions of a ranking are right, and what the right ones weigh."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def mark_hits(indptr, indices, top, n_labels, hits):
    """Fills hits (n, k); returns the flat position of the first id out of range or twice in its row, or -1."""
    n, k = top.shape
    true_in = np.full(n_labels, -1, np.int64)
    seen_in = np.full(n_labels, -1, np.int64)
    for row in range(n):
        for entry in range(indptr[row], indptr[row + 1]):
            true_in[indices[entry]] = row
        for place in range(k):
            label = top[row, place]
            if label < 0 or label >= n_labels or seen_in[label] == row:
                return row * k + place
            seen_in[label] = row
            hits[row, place] = true_in[label] == row
    return -1


@njit(cache=True, nogil=True)
def weigh_hits(indptr, indices, top, right, weights, gain, best):
    """Fills gain (n, k), the weight of every right suggestion, and best (n, k), the largest weights of true tags."""
    n, k = top.shape
    for row in range(n):
        for place in range(k):
            gain[row, place] = weights[top[row, place]] if right[row, place] else 0.0
        true = np.empty(indptr[row + 1] - indptr[row], np.float64)
        for e in range(true.size):
            true[e] = -weights[indices[indptr[row] + e]]
        true.sort()
        for place in range(k):
            best[row, place] = -true[place] if place < true.size else 0.0
