"""Lines and tokens: where they begin and end in bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.characters import CLOSE, COMMA, NEWLINE, RETURN, SPACE, TAB


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
