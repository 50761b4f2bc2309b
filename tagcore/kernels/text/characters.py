"""Character n-grams within words, each word between two blanks, as ids of a term table."""

import numpy as np
from numba import njit

from tagcore.kernels.text.terms import hash_words, insert, locate

_BLANK = np.uint8(32)


@njit(cache=True, nogil=True)
def _starts_character(byte):
    return byte & np.uint8(0xC0) != np.uint8(0x80)


@njit(cache=True, nogil=True)
def count_grams(data, offsets, shortest, longest):
    """Bounds of the grams of every word: as many of each length as fit, or the whole word once where none fits."""
    bounds = np.zeros(offsets.size, np.int64)
    for i in range(offsets.size - 1):
        characters = 2
        for p in range(offsets[i], offsets[i + 1]):
            characters += _starts_character(data[p])
        n = 0
        for length in range(shortest, longest + 1):
            n += max(characters - length, 0) + 1
            if length >= characters:
                break
        bounds[i + 1] = bounds[i] + n
    return bounds


@njit(cache=True, nogil=True)
def _put_between_blanks(data, begin, end, text, starts):
    """Writes the word into `text`, and where its characters begin; returns how many these are."""
    text[0] = _BLANK
    starts[0] = 0
    n = 1
    for p in range(begin, end):
        text[p - begin + 1] = data[p]
        if _starts_character(data[p]):
            starts[n] = p - begin + 1
            n += 1
    text[end - begin + 1] = _BLANK
    starts[n] = end - begin + 1
    starts[n + 1] = end - begin + 2
    return n + 1


@njit(cache=True, nogil=True)
def _pack(text, begin, end, words):
    """Puts bytes into words of eight, as a term table keeps them; returns how many words."""
    n_words = (end - begin + 7) >> 3
    for k in range(n_words):
        word = np.uint64(0)
        first = begin + 8 * k
        for b in range(min(np.int64(8), end - first)):
            word |= np.uint64(text[first + b]) << np.uint64(8 * b)
        words[k] = word
    return n_words


@njit(cache=True, nogil=True)
def intern_grams(data, offsets, bounds, row, shortest, longest, grams, grow, seed, slots, spans, pool, used):
    """Ids of the grams of words from `row` on, -1 for unknown ones unless they may `grow` the table.

    Returns the row to go on with once the table was given room: the number of rows when all is done.
    """
    rows = offsets.size - 1
    widest = np.int64(0)
    for i in range(row, rows):
        widest = max(widest, offsets[i + 1] - offsets[i])
    text = np.empty(widest + 2, np.uint8)
    starts = np.empty(widest + 3, np.int64)
    words = np.empty(widest // 8 + 2, np.uint64)
    for i in range(row, rows):
        characters = _put_between_blanks(data, offsets[i], offsets[i + 1], text, starts)
        n = bounds[i]
        for length in range(shortest, longest + 1):
            for first in range(max(characters - length, 0) + 1):
                begin = starts[first]
                end = starts[min(first + length, characters)]
                n_words = _pack(text, begin, end, words)
                h = hash_words(words, n_words, seed)
                j, term = locate(words, n_words, end - begin, h, slots, spans, pool)
                if term < 0 and grow:
                    term = insert(j, words, n_words, end - begin, h, slots, spans, pool, used)
                    if term < 0:
                        return i
                grams[n] = term
                n += 1
            if length >= characters:
                break
    return rows


@njit(cache=True, nogil=True)
def expand(words, indptr, grams, bounds):
    """(ids, indptr) of texts given by their words: the known grams of each word in its place."""
    out_indptr = np.zeros(indptr.size, np.int64)
    total = np.int64(0)
    for p in range(words.size):
        total += bounds[words[p] + 1] - bounds[words[p]]
    out = np.empty(total, np.int32)
    n = 0
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for g in range(bounds[words[p]], bounds[words[p] + 1]):
                if grams[g] >= 0:
                    out[n] = grams[g]
                    n += 1
        out_indptr[i + 1] = n
    return out[:n].copy(), out_indptr
