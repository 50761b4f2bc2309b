"""Rows of Extreme Classification text, `tag,tag,... word:value word:value ...`, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.lines import (
    COLON,
    COMMA,
    NEWLINE,
    NUMBER,
    PAIR,
    TAG,
    TWICE,
    WORD,
    count_byte,
    filled,
    is_blank,
    line_end,
    noted,
    skip_blanks,
    token_end,
)
from tagcore.kernels.parsing.numbers import parse_number, parse_whole


@njit(cache=True, nogil=True)
def _parse_tags(data, at, end, line, seen, tags, n):
    """(next position, tags filled, start of the last token, broken rule or 0); none where the line starts blank."""
    if at == end or is_blank(data[at]):
        return at, n, at, 0
    while True:
        token = at
        tag, at = parse_whole(data, at, end)
        if tag < 0 or tag >= seen.size or (at < end and data[at] != COMMA and not is_blank(data[at])):
            return at, n, token, TAG
        if seen[tag] == line:
            return at, n, token, TWICE
        seen[tag] = line
        tags[n] = tag
        n += 1
        if at == end or is_blank(data[at]):
            return at, n, token, 0
        at += 1


@njit(cache=True, nogil=True)
def parse_pairs(data, at, end, line, first, seen, words, values, starts, n):
    """(words filled, start of the last token, broken rule or 0): `word:value ...` with words counted from `first`."""
    while True:
        token = at = skip_blanks(data, at, end)
        if at == end:
            return n, token, 0
        word, at = parse_whole(data, at, end)
        if at == end or data[at] != COLON:
            return n, token, PAIR
        word -= first
        if word < 0 or word >= seen.size:
            return n, token, WORD
        if seen[word] == line:
            return n, token, TWICE
        seen[word] = line
        number = at + 1
        value, at, fine = parse_number(data, number, end)
        if not fine or (at < end and not is_blank(data[at])):
            return n, token, NUMBER
        words[n], values[n] = word, value
        if np.isnan(value):
            starts[n] = number
        n += value != 0


@njit(cache=True, nogil=True)
def xc_rows(data, n_words, n_tags):
    """(lines, word_ptr, words, values, tag_ptr, tags, starts, bad): two CSR matrices over the good rows.

    `lines` counts from the start of `data`. A value that is NaN is for the caller to round: it stands at `starts`.
    """
    n_lines = count_byte(data, NEWLINE) + 1
    n_values = count_byte(data, COLON)
    lines = np.empty(n_lines, np.int64)
    word_ptr, tag_ptr = np.zeros(n_lines + 1, np.int64), np.zeros(n_lines + 1, np.int64)
    words, values = np.empty(n_values, np.int32), np.empty(n_values, np.float32)
    tags, starts = np.empty(count_byte(data, COMMA) + n_lines, np.int32), np.empty(n_values, np.int64)
    word_seen, tag_seen = np.full(n_words, -1, np.int32), np.full(n_tags, -1, np.int32)
    bad = np.empty((16, 6), np.int64)
    rows, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        end, after = line_end(data, start)
        n = word_ptr[rows]
        at, m, token, rule = _parse_tags(data, start, end, line, tag_seen, tags, tag_ptr[rows])
        if rule == 0:
            n, token, rule = parse_pairs(data, at, end, line, 0, word_seen, words, values, starts, n)
        if rule:
            bad = noted(bad, n_bad, (line, rule, token, token_end(data, token, end, True), start, end))
            n_bad += 1
        else:
            lines[rows] = line
            rows += 1
            word_ptr[rows], tag_ptr[rows] = n, m
        start = after
    return filled(rows, lines, word_ptr, words, values, tag_ptr, tags, starts, bad[:n_bad])
