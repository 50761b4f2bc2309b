"""Rank correlation of suggestions with the user counts of tags: Kendall's τ-b."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def kendall(indptr, indices, counts, top, n_labels, union, tau):
    """Fills tau with Kendall's τ-b between the places of suggestions and their user counts, 0 where it is undefined.

    With `union` the tags that users gave and no suggestion names count too: all tied, behind the last place.
    """
    n, k = top.shape
    count_of = np.zeros(n_labels, np.float64)
    for row in range(n):
        start, stop = indptr[row], indptr[row + 1]
        for e in range(start, stop):
            count_of[indices[e]] = counts[e]
        given = np.empty(k + stop - start, np.float64)  # user counts: of the suggestions, then of what they miss
        for place in range(k):
            given[place] = count_of[top[row, place]]
            count_of[top[row, place]] = 0.0
        size = k
        for e in range(start, stop):
            if union and count_of[indices[e]] > 0:
                given[size] = counts[e]
                size += 1
            count_of[indices[e]] = 0.0
        tau[row] = _tau_b(given[:size], k)


@njit(cache=True, nogil=True)
def _tau_b(given, k):
    """The first k values have a place each, the rest share the last one."""
    order = tied = 0  # pairs in order less pairs out of order; pairs of equal count
    for a in range(k):
        for b in range(a + 1, given.size):
            if given[a] > given[b]:
                order += 1
            elif given[a] < given[b]:
                order -= 1
            else:
                tied += 1
    missed = np.sort(given[k:])
    run = 0
    for a in range(1, missed.size):
        run = run + 1 if missed[a] == missed[a - 1] else 0
        tied += run
    pairs = given.size * (given.size - 1) // 2
    placed, counted = pairs - missed.size * (missed.size - 1) // 2, pairs - tied
    if placed == 0 or counted == 0:
        return 0.0
    return order / np.sqrt(np.float64(placed) * np.float64(counted))
