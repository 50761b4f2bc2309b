"""Rows of comma-separated numbers with one class among them, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.characters import COMMA
from tagcore.kernels.parsing.lines import count_byte, is_blank, line_end, skip_blanks
from tagcore.kernels.parsing.numbers import parse_number
from tagcore.kernels.parsing.rows import filled, note, room_for_rows, room_for_words
from tagcore.kernels.parsing.rules import BINARY, NUMBER, TAG, TEXT, WIDTH
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
    lines, word_ptr, tag_ptr, bad = room_for_rows(data)
    words, values, starts = room_for_words(count_byte(data, COMMA) + lines.size)
    tags, spans, flags = np.empty(0, np.int32), np.empty((lines.size, 2), np.int64), np.empty(lines.size, np.bool_)
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
            bad, n_bad = note(bad, n_bad, data, line, rule, token, False, first, end)
        else:
            lines[rows] = line
            rows += 1
            word_ptr[rows] = n
    good = filled(rows, lines, word_ptr, words, values, tag_ptr, tags, starts, bad[:n_bad])
    return good, spans[:rows, 0].copy(), spans[:rows, 1].copy(), flags[:rows]
