"""Counting for measures: hits in a ranking, pairs in order, bootstrap means."""

import numpy as np
from numba import njit

from tagcore.kernels.random.splitmix import GOLDEN, mix

HALF = np.uint64(32)
RESAMPLES_TOGETHER, ROWS_TOGETHER = 8, 256


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
def twice_above(positives, ordered):
    """Sum over `ordered` of 2 · #(positives above) + #(positives equal): integers, though a tie counts half.

    Both ascend: one walk along the two.
    """
    n_pos = positives.size
    first = last = twice = 0
    for score in ordered:
        while first < n_pos and positives[first] < score:
            first += 1
        last = max(last, first)
        while last < n_pos and positives[last] <= score:
            last += 1
        twice += 2 * n_pos - first - last
    return twice


@njit(cache=True, nogil=True)
def add_label_pairs(starts, positives, cell_starts, cells, twice):
    """Adds to twice[c] the pairs of its positives with cells[cell_starts[c]:cell_starts[c + 1]]; both ascend."""
    for c in range(twice.size):
        of_label = positives[starts[c] : starts[c + 1]]
        twice[c] += twice_above(of_label, cells[cell_starts[c] : cell_starts[c + 1]])


@njit(cache=True, nogil=True)
def resampled_sums(values, seed, sums):
    """Fills sums (resamples, m) with column sums of n rows of values (n, m) drawn with replacement.

    Draw i of resample b is a hash of (seed, b, i): no state, the same on every machine. How often each row was drawn
    comes first, so that rows are read in order, and a few at a time for several resamples.
    """
    n, m = values.shape
    size = np.uint64(n)
    times = np.empty((RESAMPLES_TOGETHER, n), np.int32)
    for low in range(0, sums.shape[0], RESAMPLES_TOGETHER):
        high = min(low + RESAMPLES_TOGETHER, sums.shape[0])
        times[:] = 0
        for b in range(low, high):
            key = mix(mix(np.uint64(seed)) + np.uint64(b + 1) * GOLDEN)
            for i in range(n):
                draw = mix(key + np.uint64(i + 1) * GOLDEN)
                times[b - low, np.int64(((draw >> HALF) * size) >> HALF)] += 1
        sums[low:high] = 0
        for start in range(0, n, ROWS_TOGETHER):
            for b in range(low, high):
                for row in range(start, min(start + ROWS_TOGETHER, n)):
                    drawn = times[b - low, row]
                    if drawn:
                        for j in range(m):
                            sums[b, j] += drawn * values[row, j]
