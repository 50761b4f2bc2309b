"""Word n-grams as a tree: a gram is its prefix and one more word, found by the pair of their ids.

`slots[j]` is `(prefix + 1) << 32 | word` and `gram + 1`, 0 where free; `prefixes` and `lasts` are the pair by gram.
"""

import numpy as np
from numba import njit

from tagcore.kernels.random.splitmix import GOLDEN


@njit(cache=True, nogil=True)
def _home(key, seed):
    h = (key ^ seed[0]) * (seed[1] | np.uint64(1))
    h = (h ^ (h >> np.uint64(32))) * GOLDEN
    return h ^ (h >> np.uint64(29))


@njit(cache=True, nogil=True)
def _gram(prefix, word, grow, seed, slots, prefixes, lasts, used):
    """Id of a gram; -1 where it is absent, -2 where it has no room to be added."""
    mask = np.uint64(slots.shape[0] - 1)
    key = (np.uint64(prefix + 1) << np.uint64(32)) | np.uint64(word)
    j = _home(key, seed) & mask
    while slots[j, 1] != 0:
        if slots[j, 0] == key:
            return np.int64(slots[j, 1]) - 1
        j = (j + np.uint64(1)) & mask
    if not grow:
        return np.int64(-1)
    gram = used[0]
    if gram >= prefixes.size or 2 * (gram + 1) > slots.shape[0]:
        return np.int64(-2)
    slots[j, 0] = key
    slots[j, 1] = np.uint64(gram + 1)
    prefixes[gram] = prefix
    lasts[gram] = word
    used[0] = gram + 1
    return gram


@njit(cache=True, nogil=True)
def rehash_grams(slots, size, seed):
    """The same grams in `size` slots (a power of two)."""
    wider = np.zeros((size, 2), np.uint64)
    mask = np.uint64(size - 1)
    for i in range(slots.shape[0]):
        if slots[i, 1] != 0:
            j = _home(slots[i, 0], seed) & mask
            while wider[j, 1] != 0:
                j = (j + np.uint64(1)) & mask
            wider[j, 0] = slots[i, 0]
            wider[j, 1] = slots[i, 1]
    return wider


@njit(cache=True, nogil=True)
def extract(words, indptr, row, shortest, longest, out, out_indptr, grow, seed, slots, prefixes, lasts, used):
    """Grams of `shortest` to `longest` words of every text from `row` on; -1 stands for an unknown word.

    Unknown grams are left out. Returns the row to go on with once the table was given room.
    """
    rows = indptr.size - 1
    n = out_indptr[row]
    for i in range(row, rows):
        for first in range(indptr[i], indptr[i + 1]):
            gram = np.int64(-1)
            for p in range(first, min(first + longest, indptr[i + 1])):
                if words[p] < 0:
                    break
                gram = _gram(gram, np.int64(words[p]), grow, seed, slots, prefixes, lasts, used)
                if gram == -2:
                    return i
                if gram < 0:
                    break
                if p - first + 1 >= shortest:
                    out[n] = gram
                    n += 1
        out_indptr[i + 1] = n
    return rows


@njit(cache=True, nogil=True)
def plant(words, indptr, row, grams, seed, slots, prefixes, lasts, used):
    """Adds whole texts as one gram each: their ids into `grams`. Returns the row to go on with, as `extract`."""
    rows = indptr.size - 1
    for i in range(row, rows):
        gram = np.int64(-1)
        for p in range(indptr[i], indptr[i + 1]):
            gram = _gram(gram, np.int64(words[p]), True, seed, slots, prefixes, lasts, used)
            if gram == -2:
                return i
        grams[i] = gram
    return rows
