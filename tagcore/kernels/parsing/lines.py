"""What the kernels that read rows out of bytes share: lines, tokens, and notes about bad rows.

A row that breaks a rule is left out and noted in a table (columns: line, rule, start and end of the offending
token, start and end of the row), so one pass serves both a reader that stops and one that goes on.
"""

import numpy as np
from numba import njit

NUMBER, WORD, TAG, TWICE, PAIR, BINARY, WIDTH, AFTER, ORDER, SPACE_NAME, TEXT = range(1, 12)
NEWLINE, SPACE, TAB, RETURN, COMMA, COLON, PERCENT, OPEN, CLOSE = 10, 32, 9, 13, 44, 58, 37, 123, 125
HASH, QUOTE, PLUS, MINUS, POINT, ZERO, BAR = 35, 39, 43, 45, 46, 48, 124


@njit(cache=True, nogil=True)
def count_byte(data, byte):
    n = 0
    for b in data:
        n += b == byte
    return n


@njit(cache=True, nogil=True)
def is_blank(byte):
    return byte in (SPACE, TAB)


@njit(cache=True, nogil=True)
def skip_blanks(data, at, end):
    while at < end and is_blank(data[at]):
        at += 1
    return at


@njit(cache=True, nogil=True)
def line_end(data, at):
    """(end of the text of the line without trailing blanks, start of the next line)."""
    end = at
    while end < data.size and data[end] != NEWLINE:
        end += 1
    after = end + 1
    while end > at and (is_blank(data[end - 1]) or data[end - 1] == RETURN):
        end -= 1
    return end, after


@njit(cache=True, nogil=True)
def token_end(data, at, end, at_blanks):
    """Where the token that starts at `at` ends: after at least one byte, unless the line is over."""
    start = at
    while at < end and data[at] != COMMA and data[at] != CLOSE and not (at_blanks and is_blank(data[at])):
        at += 1
    return min(end, max(at, start + 1))


@njit(cache=True, nogil=True)
def gather(data, starts, stops):
    """(bytes, offsets): the pieces data[start:stop] one after the other."""
    offsets = np.zeros(starts.size + 1, np.int64)
    for i in range(starts.size):
        offsets[i + 1] = offsets[i] + stops[i] - starts[i]
    out = np.empty(offsets[-1], np.uint8)
    for i in range(starts.size):
        at = offsets[i]
        for k in range(starts[i], stops[i]):
            out[at] = data[k]
            at += 1
    return out, offsets


@njit(cache=True, nogil=True)
def noted(table, n, row):
    """`table` with `row` as its row n; twice as long where it was full."""
    if n == table.shape[0]:
        longer = np.empty((2 * n, table.shape[1]), np.int64)
        for i in range(n):
            for k in range(table.shape[1]):
                longer[i, k] = table[i, k]
        table = longer
    for k in range(len(row)):
        table[n, k] = row[k]
    return table


@njit(cache=True, nogil=True)
def filled(rows, lines, word_ptr, words, values, tag_ptr, tags, starts, bad):
    """What `rows` good rows filled of the room that was made for them, and the notes about bad ones."""
    n, m = word_ptr[rows], tag_ptr[rows]
    words, values, tags, starts = words[:n], values[:n], tags[:m], starts[:n]
    return lines[:rows], word_ptr[: rows + 1], words, values, tag_ptr[: rows + 1], tags, starts, bad
