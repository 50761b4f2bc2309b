"""A hash table of byte strings in plain arrays.

A string is kept as 8-byte words padded with zeros: `pool` holds the words, `spans[id]` its first word and its
length in bytes, `slots[j]` its hash and `(id + 1) << 4 | min(length, 9)`, 0 where free. `used` is [strings, words].
"""

import numpy as np
from numba import njit

from tagcore.kernels.random.splitmix import GOLDEN

_LONG = np.uint64(9)  # the length mark of strings that do not fit one word


@njit(cache=True, nogil=True)
def hash_words(words, n_words, seed):
    """Hash of a string; every step is invertible, so strings of one word and equal length never share one."""
    multiplier = seed[1] | np.uint64(1)
    h = seed[0]
    for k in range(n_words):
        h = (h ^ words[k]) * multiplier
        h ^= h >> np.uint64(32)
    h *= GOLDEN
    return h ^ (h >> np.uint64(29))


@njit(cache=True, nogil=True)
def locate(words, n_words, length, h, slots, spans, pool):
    """(slot, id) of a string; where it is absent, the free slot it would take and -1."""
    mask = np.uint64(slots.shape[0] - 1)
    mark = np.uint64(length) if length < 9 else _LONG
    j = h & mask
    while slots[j, 1] != 0:
        if slots[j, 0] == h and (slots[j, 1] & np.uint64(15)) == mark:
            term = np.int64(slots[j, 1] >> np.uint64(4)) - 1
            if mark != _LONG:
                return j, term  # one word: the hash and the length say it all
            if spans[term, 1] == length:
                start = spans[term, 0]
                k = 0
                while k < n_words and pool[start + k] == words[k]:
                    k += 1
                if k == n_words:
                    return j, term
        j = (j + np.uint64(1)) & mask
    return j, np.int64(-1)


@njit(cache=True, nogil=True)
def insert(j, words, n_words, length, h, slots, spans, pool, used):
    """Id of a new string put into free slot j, or -1 when the table has no room (nothing is changed then)."""
    term = used[0]
    start = used[1]
    if term >= spans.shape[0] or 2 * (term + 1) > slots.shape[0] or start + n_words > pool.size:
        return np.int64(-1)
    mark = np.uint64(length) if length < 9 else _LONG
    slots[j, 0] = h
    slots[j, 1] = (np.uint64(term + 1) << np.uint64(4)) | mark
    spans[term, 0] = start
    spans[term, 1] = length
    for k in range(n_words):
        pool[start + k] = words[k]
    used[0] = term + 1
    used[1] = start + n_words
    return term


@njit(cache=True, nogil=True)
def rehash(slots, size):
    """The same entries in `size` slots (a power of two)."""
    wider = np.zeros((size, 2), np.uint64)
    mask = np.uint64(size - 1)
    for i in range(slots.shape[0]):
        if slots[i, 1] != 0:
            j = slots[i, 0] & mask
            while wider[j, 1] != 0:
                j = (j + np.uint64(1)) & mask
            wider[j, 0] = slots[i, 0]
            wider[j, 1] = slots[i, 1]
    return wider


@njit(cache=True, nogil=True)
def intern(data, offsets, row, ids, grow, seed, slots, spans, pool, used):
    """Ids of whole strings from `row` on, -1 for unknown ones unless they may `grow` the table.

    Returns the row to go on with once the table was given room: the number of rows when all is done.
    """
    rows = offsets.size - 1
    longest = np.int64(0)
    for i in range(row, rows):
        longest = max(longest, offsets[i + 1] - offsets[i])
    words = np.empty(longest // 8 + 1, np.uint64)
    for i in range(row, rows):
        length = offsets[i + 1] - offsets[i]
        n_words = (length + 7) // 8
        for k in range(n_words):
            word = np.uint64(0)
            first = offsets[i] + 8 * k
            for b in range(min(np.int64(8), offsets[i + 1] - first)):
                word |= np.uint64(data[first + b]) << np.uint64(8 * b)
            words[k] = word
        h = hash_words(words, n_words, seed)
        j, term = locate(words, n_words, length, h, slots, spans, pool)
        if term < 0 and grow:
            term = insert(j, words, n_words, length, h, slots, spans, pool, used)
            if term < 0:
                return i
        ids[i] = term
    return rows


@njit(cache=True, nogil=True)
def spell(terms, spans, pool):
    """(offsets, bytes) of the strings with these ids, as an arrow string array holds them."""
    offsets = np.zeros(terms.size + 1, np.int64)
    for i in range(terms.size):
        offsets[i + 1] = offsets[i] + spans[terms[i], 1]
    data = np.empty(offsets[terms.size], np.uint8)
    for i in range(terms.size):
        start = spans[terms[i], 0]
        for b in range(spans[terms[i], 1]):
            data[offsets[i] + b] = np.uint8((pool[start + b // 8] >> np.uint64(8 * (b % 8))) & np.uint64(255))
    return offsets, data
