"""Rows of comma-separated numbers with one class among them, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.lines import (
    BINARY,
    COMMA,
    NEWLINE,
    NUMBER,
    TAG,
    TEXT,
    WIDTH,
    count_byte,
    is_blank,
    line_end,
    noted,
    skip_blanks,
    token_end,
)
from tagcore.kernels.parsing.numbers import parse_number
from tagcore.kernels.parsing.utf8 import utf8_flaw

CLASS, FLAG = -1, -2
_MISSING = 63  # a question mark


@njit(cache=True, nogil=True)
def _parse_row(data, at, end, column, words, values, starts, n, span):
    """(words filled, flag, start of the last token, broken rule or 0); the bounds of the class go to `span`."""
    flag = False
    for k in range(column.size):
        token = skip_blanks(data, at, end)
        stop = token
        while stop < end and data[stop] != COMMA:
            stop += 1
        if (stop == end) != (k + 1 == column.size):
            return n, flag, token, WIDTH
        at, over = stop + 1, stop
        while over > token and is_blank(data[over - 1]):
            over -= 1
        if column[k] == CLASS:
            if over == token or (over - token == 1 and data[token] == _MISSING):
                return n, flag, token, TAG
            flaw = utf8_flaw(data, token, over)
            if flaw >= 0:
                return n, flag, flaw, TEXT
            span[0], span[1] = token, over
            continue
        value, after, fine = parse_number(data, token, over)
        if not fine or after < over:
            return n, flag, token, NUMBER
        if column[k] == FLAG:
            flag = value == 1
            if not flag and value != 0:
                return n, flag, token, BINARY
        elif value != 0:
            words[n], values[n] = column[k], value
            if np.isnan(value):
                starts[n] = token
            n += 1
    return n, flag, at, 0


@njit(cache=True, nogil=True)
def uci_rows(data, column):
    """(rows, class_starts, class_stops, flags): what `xc_rows` gives, with no tags yet.

    `column[k]` is the number of field k among the words, or CLASS, or FLAG for one that is 0 or 1 and no word. The
    class of row i is data[class_starts[i]:class_stops[i]]. Blank lines are no rows.
    """
    n_lines = count_byte(data, NEWLINE) + 1
    room = count_byte(data, COMMA) + n_lines
    lines, word_ptr = np.empty(n_lines, np.int64), np.zeros(n_lines + 1, np.int64)
    words, values, starts = np.empty(room, np.int32), np.empty(room, np.float32), np.empty(room, np.int64)
    spans, flags = np.empty((n_lines, 2), np.int64), np.empty(n_lines, np.bool_)
    bad = np.empty((16, 6), np.int64)
    rows, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        first = start
        end, start = line_end(data, first)
        if skip_blanks(data, first, end) == end:
            continue
        n, flags[rows], token, rule = _parse_row(
            data, first, end, column, words, values, starts, word_ptr[rows], spans[rows]
        )
        if rule:
            bad = noted(bad, n_bad, (line, rule, token, token_end(data, token, end, False), first, end))
            n_bad += 1
        else:
            lines[rows] = line
            rows += 1
            word_ptr[rows] = n
    n = word_ptr[rows]
    none = np.empty(0, np.int32)
    good = (lines[:rows], word_ptr[: rows + 1], words[:n], values[:n], word_ptr[:0], none, starts[:n], bad[:n_bad])
    return good, spans[:rows, 0].copy(), spans[:rows, 1].copy(), flags[:rows]
