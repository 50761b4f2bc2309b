"""Hashes of many strings at once."""

import numpy as np
from numba import njit

from tagcore.kernels.random.splitmix import GOLDEN, mix

_MULTIPLIER, _HALF = np.uint64(0x9FB21C651E98DF25), np.uint64(32)
_FNV_START, _FNV_PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


@njit(cache=True, nogil=True)
def hash_strings(data, offsets, seed):
    """A 64-bit hash per string of an arrow buffer: FNV-1a from a seeded start, then SplitMix64's finaliser."""
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(out.size):
        h = _FNV_START ^ (np.uint64(seed) * GOLDEN)
        for p in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[p])) * _FNV_PRIME
        out[i] = mix(h)
    return out


@njit(cache=True, nogil=True)
def hash_texts(data, offsets):
    """As `hash_strings`, of long strings: eight bytes at a step, in a fifth of the time."""
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(out.size):
        text = data[offsets[i] : offsets[i + 1]]
        whole = text.size // 8 * 8
        h = np.uint64(text.size) * GOLDEN
        for word in text[:whole].view(np.uint64):
            h = (h ^ word) * _MULTIPLIER
            h ^= h >> _HALF
        rest = np.uint64(0)
        for byte in text[whole:]:
            rest = (rest << np.uint64(8)) | np.uint64(byte)
        out[i] = mix(h ^ rest)
    return out
