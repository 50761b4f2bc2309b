"""Hashes of many strings at once."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def hash_rows(data, offsets, seed):
    """A 64-bit hash per string of an arrow buffer: FNV-1a from a seeded start, then splitmix64's finaliser."""
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(out.size):
        h = np.uint64(14695981039346656037) ^ (np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15))
        for p in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[p])) * np.uint64(1099511628211)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = h ^ (h >> np.uint64(31))
    return out
