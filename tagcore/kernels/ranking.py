"""The best few of many scores."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def best_of_row(scores, k, tags, values):
    """Fills tags and values (length k) with the k best of `scores`, best first, ties to the lower index."""
    filled = 0
    for tag in range(scores.size):
        score = scores[tag]
        if filled == k and not score > values[k - 1]:
            continue
        at = filled if filled < k else k - 1
        while at > 0 and score > values[at - 1]:
            values[at] = values[at - 1]
            tags[at] = tags[at - 1]
            at -= 1
        values[at] = score
        tags[at] = tag
        if filled < k:
            filled += 1


@njit(cache=True, nogil=True)
def best_of_rows(scores, k):
    n = scores.shape[0]
    tags = np.empty((n, k), np.int64)
    values = np.empty((n, k), np.float64)
    for i in range(n):
        best_of_row(scores[i], k, tags[i], values[i])
    return tags, values
