"""Rows of svmlight text, `label,label qid:3 word:value word:value ... # comment`, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.characters import COLON, COMMA, HASH, MINUS, PLUS, POINT, ZERO
from tagcore.kernels.parsing.lines import count_byte, is_blank, line_end, skip_blanks
from tagcore.kernels.parsing.numbers import parse_number, parse_whole
from tagcore.kernels.parsing.rows import filled, note, room_for_rows, room_for_words
from tagcore.kernels.parsing.rules import NUMBER, ORDER, PAIR, TAG, TWICE, WORD


@njit(cache=True, nogil=True)
def _parse_label(data, at, end):
    """(label, next position, whether it is one): a whole number, also as -1, +1 and 1.0."""
    negative = at < end and data[at] == MINUS
    if at < end and (data[at] == MINUS or data[at] == PLUS):
        at += 1
    label, at = parse_whole(data, at, end)
    fine = label >= 0
    if at < end and data[at] == POINT:
        at += 1
        while at < end and data[at] == ZERO:
            at += 1
    return (-label if negative else label), at, fine


@njit(cache=True, nogil=True)
def parse_labels(data, at, end, labels, m):
    """(labels filled, start of the last token, broken rule or 0): all of data[at:end], which rises afterwards."""
    first = m
    while True:
        token = at
        labels[m], at, fine = _parse_label(data, at, end)
        m += 1
        if not fine or (at < end and data[at] != COMMA):
            return m, token, TAG
        if at == end:
            break
        at += 1
    if m - first > 1:
        labels[first:m].sort()
        for i in range(first + 1, m):
            if labels[i] == labels[i - 1]:
                return m, token, TWICE
    return m, token, 0


@njit(cache=True, nogil=True)
def _parse_words(data, at, end, lowest, most, words, values, starts, n):
    """(words filled, smallest and largest word, start of the last token, broken rule or 0).

    A value of 0 is left out but its word counts among the smallest and largest.
    """
    low, last = most, -1
    while True:
        token = at = skip_blanks(data, at, end)
        if at == end:
            return n, low, last, token, 0
        word, at = parse_whole(data, at, end)
        if at == end or data[at] != COLON:
            return n, low, last, token, PAIR
        if word < lowest or word >= most:
            return n, low, last, token, WORD
        if word <= last:
            return n, low, last, token, ORDER
        last, low = word, min(low, word)
        number = at + 1
        value, at, fine = parse_number(data, number, end)
        if not fine or (at < end and not is_blank(data[at])):
            return n, low, last, token, NUMBER
        words[n], values[n] = word, value
        if np.isnan(value):
            starts[n] = number
        n += value != 0


@njit(cache=True, nogil=True)
def _query_end(data, at, end):
    """The position after `qid:3`, or `at` where there is none."""
    if end - at < 5 or data[at] != 113 or data[at + 1] != 105 or data[at + 2] != 100 or data[at + 3] != COLON:
        return at
    query, after = parse_whole(data, at + 4, end)
    return after if query >= 0 and (after == end or is_blank(data[after])) else at


@njit(cache=True, nogil=True)
def svmlight_rows(data, lowest, most):
    """(rows, low, high): what `xc_rows` gives, with labels as tags and words as they are numbered in the file.

    Words from `lowest` to below `most` are allowed; `low` and `high` are the smallest and the largest of the good rows.
    Lines of nothing but blanks and a comment are no rows.
    """
    lines, word_ptr, tag_ptr, bad = room_for_rows(data)
    words, values, starts = room_for_words(count_byte(data, COLON))
    labels = np.empty(count_byte(data, COMMA) + lines.size, np.int64)
    rows, n_bad, line, start = 0, 0, -1, 0
    low, high = most, -1
    while start < data.size:
        line += 1
        first = start
        whole, start = line_end(data, first)
        end = first
        while end < whole and data[end] != HASH:
            end += 1
        at = skip_blanks(data, first, end)
        if at == end:
            continue
        stop, pair = at, False
        while stop < end and not is_blank(data[stop]):
            pair = pair or data[stop] == COLON
            stop += 1
        m, token, rule = tag_ptr[rows], at, 0
        if not pair:  # else the row has no label and starts with its words
            m, token, rule = parse_labels(data, at, stop, labels, m)
            at = stop
        n, row_low, row_high = word_ptr[rows], most, -1
        if rule == 0:
            at = _query_end(data, skip_blanks(data, at, end), end)
            n, row_low, row_high, token, rule = _parse_words(data, at, end, lowest, most, words, values, starts, n)
        if rule:
            bad, n_bad = note(bad, n_bad, data, line, rule, token, True, first, whole)
        else:
            lines[rows] = line
            rows += 1
            word_ptr[rows], tag_ptr[rows] = n, m
            low, high = min(low, row_low), max(high, row_high)
    good = filled(rows, lines, word_ptr, words, values, tag_ptr, labels, starts, bad[:n_bad])
    return good, low, high
