"""Sums over rows drawn with replacement, for bootstrap intervals."""

import numpy as np
from numba import njit

from tagcore.kernels.random.splitmix import GOLDEN, mix

HALF = np.uint64(32)
RESAMPLES_TOGETHER, ROWS_TOGETHER = 8, 256


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
