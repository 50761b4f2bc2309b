"""MurmurHash3 of strings, 32 bits, as scikit-learn's FeatureHasher chooses columns by."""

import numpy as np
from numba import njit

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_MULTIPLIER, _SUMMAND = np.uint32(5), np.uint32(0xE6546B64)
_MIX1, _MIX2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_MOST = np.int64(2**31)


@njit(cache=True, nogil=True)
def _turned(word, bits):
    return np.uint32((word << np.uint32(bits)) | (word >> np.uint32(32 - bits)))


@njit(cache=True, nogil=True)
def _scrambled(word):
    return np.uint32(_turned(np.uint32(word * _C1), 15) * _C2)


@njit(cache=True, nogil=True)
def _word(data, begin, end):
    word = np.uint32(0)
    for b in range(end - begin):
        word |= np.uint32(data[begin + b]) << np.uint32(8 * b)
    return word


@njit(cache=True, nogil=True)
def murmur(data, begin, end):
    """The hash of the bytes from begin to end, with seed 0."""
    h = np.uint32(0)
    p = begin
    while p + 4 <= end:
        h = np.uint32(_turned(np.uint32(h ^ _scrambled(_word(data, p, p + 4))), 13) * _MULTIPLIER + _SUMMAND)
        p += 4
    if p < end:
        h ^= _scrambled(_word(data, p, end))
    h ^= np.uint32(end - begin)
    h = np.uint32((h ^ (h >> np.uint32(16))) * _MIX1)
    h = np.uint32((h ^ (h >> np.uint32(13))) * _MIX2)
    return np.uint32(h ^ (h >> np.uint32(16)))


@njit(cache=True, nogil=True)
def columns_of(data, offsets, n_columns):
    """A column below `n_columns` for every string: the size of its hash, taken as a signed number, modulo them."""
    columns = np.empty(offsets.size - 1, np.int32)
    for i in range(columns.size):
        h = np.int64(murmur(data, offsets[i], offsets[i + 1]))
        if h == _MOST:  # whose negative has no 32 bits
            columns[i] = (_MOST - n_columns) % n_columns
        else:
            columns[i] = min(h, 2 * _MOST - h) % n_columns
    return columns
