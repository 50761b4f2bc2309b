"""Words of UTF-8 texts: runs of word characters, folded to lower case, as ids of a term table."""

import numpy as np
from numba import njit

from tagcore.kernels.text.terms import hash_words, insert, locate


@njit(cache=True, nogil=True)
def _decode(data, p, end):
    """(code point, next position) of the character at p; the code point is -1 where bytes are malformed."""
    lead = np.int64(data[p])
    if lead < 0x80:
        return lead, p + 1
    if lead < 0xC2 or lead > 0xF4:
        return np.int64(-1), p + 1
    extra = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
    if p + extra >= end:
        return np.int64(-1), p + 1
    code = lead & (0x3F >> extra)
    for k in range(1, extra + 1):
        byte = np.int64(data[p + k])
        if byte & 0xC0 != 0x80:
            return np.int64(-1), p + 1
        code = (code << 6) | (byte & 0x3F)
    if code < 0x80 or (extra == 2 and code < 0x800) or (extra == 3 and code < 0x10000):
        return np.int64(-1), p + 1
    return code, p + extra + 1


@njit(cache=True, nogil=True)
def _is_foldable(data, start, end, folded):
    """Whether each character of a text has an entry in `folded` (negative: none)."""
    bits = np.uint8(0)
    least = np.uint8(255)
    for p in range(start, end):
        bits |= data[p]
        least = min(least, data[p])
    if bits < 0x80 and (least > 0 or folded[0] >= 0):
        return True  # of ASCII, only the character 0 may have none
    p = start
    while p < end:
        code, p = _decode(data, p, end)
        if code < 0 or code >= folded.size or folded[code] < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _fold(data, p, end, folded):
    """(what to store for the character at p, next position)."""
    byte = np.int64(data[p])
    if byte < 0x80:
        return np.int64(folded[byte]), p + 1
    code, p = _decode(data, p, end)
    return np.int64(folded[code]), p


@njit(cache=True, nogil=True)
def _append(byte, words, length):
    if length & 7 == 0:
        words[length >> 3] = 0
    words[length >> 3] |= np.uint64(byte) << np.uint64((length & 7) << 3)
    return length + 1


@njit(cache=True, nogil=True)
def _append_encoded(code, words, length):
    """Appends the UTF-8 bytes of a character that is not ASCII."""
    if code < 0x800:
        length = _append(0xC0 | (code >> 6), words, length)
    else:
        if code < 0x10000:
            length = _append(0xE0 | (code >> 12), words, length)
        else:
            length = _append(0xF0 | (code >> 18), words, length)
            length = _append(0x80 | ((code >> 12) & 0x3F), words, length)
        length = _append(0x80 | ((code >> 6) & 0x3F), words, length)
    return _append(0x80 | (code & 0x3F), words, length)


@njit(cache=True, nogil=True)
def tokenise(data, offsets, row, folded, shortest, ids, indptr, skipped, grow, seed, slots, spans, pool, used):
    """Ids of the words of texts from `row` on, -1 for unknown ones unless they may `grow` the table.

    `folded[code point]` is the character to store, 0 for what separates words, negative for what only Python can
    fold: such texts are `skipped`. Words have `shortest` characters at least. Returns the row to go on with once the
    table was given room: the number of rows when all is done. A row begun in a full table is read again, which is
    harmless: its words are found then.
    """
    rows = offsets.size - 1
    longest = np.int64(0)
    for i in range(row, rows):
        longest = max(longest, offsets[i + 1] - offsets[i])
    words = np.empty(longest // 4 + 1, np.uint64)  # folding makes a character twice as long at most
    n = indptr[row]
    for i in range(row, rows):
        p = offsets[i]
        end = offsets[i + 1]
        if not _is_foldable(data, p, end, folded):
            skipped[i] = True
            indptr[i + 1] = n
            continue
        while p < end:
            code, p = _fold(data, p, end, folded)
            if code == 0:
                continue
            characters = 0
            length = np.int64(0)
            word = np.uint64(0)  # the last word so far, in a register
            while code != 0:
                characters += 1
                if code < 0x80:
                    word |= np.uint64(code) << np.uint64((length & 7) << 3)
                    length += 1
                    if length & 7 == 0:
                        words[(length >> 3) - 1] = word
                        word = np.uint64(0)
                else:
                    words[length >> 3] = word
                    length = _append_encoded(code, words, length)
                    word = words[length >> 3] if length & 7 != 0 else np.uint64(0)
                if p == end:
                    break
                code, p = _fold(data, p, end, folded)
            if characters < shortest:
                continue
            n_words = (length + 7) >> 3
            if length & 7 != 0:
                words[n_words - 1] = word
            h = hash_words(words, n_words, seed)
            j, term = locate(words, n_words, length, h, slots, spans, pool)
            if term < 0 and grow:
                term = insert(j, words, n_words, length, h, slots, spans, pool, used)
                if term < 0:
                    return i
            ids[n] = term
            n += 1
        indptr[i + 1] = n
    return rows
