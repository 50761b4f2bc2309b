"""MurmurHash3 of strings, 32 bits with seed 0, as scikit-learn's FeatureHasher chooses columns by.

Bytes are absorbed one by one: (hash so far, the last one to three bytes, how many these are).
"""

import numpy as np
from numba import njit

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_MULTIPLIER, _SUMMAND = np.uint32(5), np.uint32(0xE6546B64)
_MIX1, _MIX2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_MOST = np.int64(2**31)
_BLANK = np.uint8(32)


@njit(cache=True, nogil=True)
def _turned(word, bits):
    return np.uint32((word << np.uint32(bits)) | (word >> np.uint32(32 - bits)))


@njit(cache=True, nogil=True)
def _scrambled(word):
    return np.uint32(_turned(np.uint32(word * _C1), 15) * _C2)


@njit(cache=True, nogil=True)
def _absorb(byte, h, tail, filled):
    tail = np.uint32(tail | (np.uint32(byte) << np.uint32(8 * filled)))
    if filled < 3:
        return h, tail, filled + 1
    return np.uint32(_turned(np.uint32(h ^ _scrambled(tail)), 13) * _MULTIPLIER + _SUMMAND), np.uint32(0), 0


@njit(cache=True, nogil=True)
def _hash(h, tail, filled, length):
    """The hash of all that was absorbed, `length` bytes."""
    if filled > 0:
        h = np.uint32(h ^ _scrambled(tail))
    h = np.uint32(h ^ np.uint32(length))
    h = np.uint32((h ^ (h >> np.uint32(16))) * _MIX1)
    h = np.uint32((h ^ (h >> np.uint32(13))) * _MIX2)
    return np.uint32(h ^ (h >> np.uint32(16)))


@njit(cache=True, nogil=True)
def _column(h, n_columns):
    """The size of a hash, taken as a signed number, modulo the number of columns."""
    size = np.int64(h)
    if size == _MOST:  # whose negative has no 32 bits
        return (_MOST - n_columns) % n_columns
    return min(size, 2 * _MOST - size) % n_columns


@njit(cache=True, nogil=True)
def murmur(data, begin, end):
    """The hash of the bytes from begin to end."""
    h, tail, filled = np.uint32(0), np.uint32(0), 0
    for p in range(begin, end):
        h, tail, filled = _absorb(data[p], h, tail, filled)
    return _hash(h, tail, filled, end - begin)


@njit(cache=True, nogil=True)
def columns_of(data, offsets, n_columns):
    """A column below `n_columns` for every string."""
    columns = np.empty(offsets.size - 1, np.int32)
    for i in range(columns.size):
        columns[i] = _column(murmur(data, offsets[i], offsets[i + 1]), n_columns)
    return columns


@njit(cache=True, nogil=True)
def columns_of_grams(words, indptr, data, offsets, shortest, longest, n_columns):
    """(columns, indptr) of all runs of `shortest` to `longest` words of every text, joined by blanks.

    A longer run goes on from the hash of the shorter one, so no gram is spelt out.
    """
    rows = indptr.size - 1
    bounds = np.zeros(rows + 1, np.int64)
    for i in range(rows):
        n = indptr[i + 1] - indptr[i]
        bounds[i + 1] = bounds[i]
        for length in range(shortest, longest + 1):
            bounds[i + 1] += max(n - length + 1, 0)
    columns = np.empty(bounds[rows], np.int32)
    for i in range(rows):
        n = bounds[i]
        for first in range(indptr[i], indptr[i + 1]):
            h, tail, filled, absorbed = np.uint32(0), np.uint32(0), 0, 0
            for p in range(first, min(first + longest, indptr[i + 1])):
                if p > first:
                    h, tail, filled = _absorb(_BLANK, h, tail, filled)
                    absorbed += 1
                for b in range(offsets[words[p]], offsets[words[p] + 1]):
                    h, tail, filled = _absorb(data[b], h, tail, filled)
                absorbed += offsets[words[p] + 1] - offsets[words[p]]
                if p - first + 1 >= shortest:
                    columns[n] = _column(_hash(h, tail, filled, absorbed), n_columns)
                    n += 1
    return columns, bounds
