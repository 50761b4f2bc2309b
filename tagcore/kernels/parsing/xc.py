"""Rows of Extreme Classification text, `tag,tag,... word:value word:value ...`, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.characters import COLON, COMMA
from tagcore.kernels.parsing.lines import count_byte, is_blank, line_end, skip_blanks
from tagcore.kernels.parsing.numbers import parse_number, parse_whole
from tagcore.kernels.parsing.rows import filled, note, room_for_rows, room_for_words
from tagcore.kernels.parsing.rules import NUMBER, PAIR, TAG, TWICE, WORD


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
    lines, word_ptr, tag_ptr, bad = room_for_rows(data)
    words, values, starts = room_for_words(count_byte(data, COLON))
    tags = np.empty(count_byte(data, COMMA) + lines.size, np.int32)
    word_seen, tag_seen = np.full(n_words, -1, np.int32), np.full(n_tags, -1, np.int32)
    rows, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        end, after = line_end(data, start)
        n = word_ptr[rows]
        at, m, token, rule = _parse_tags(data, start, end, line, tag_seen, tags, tag_ptr[rows])
        if rule == 0:
            n, token, rule = parse_pairs(data, at, end, line, 0, word_seen, words, values, starts, n)
        if rule:
            bad, n_bad = note(bad, n_bad, data, line, rule, token, True, start, end)
        else:
            lines[rows] = line
            rows += 1
            word_ptr[rows], tag_ptr[rows] = n, m
        start = after
    return filled(rows, lines, word_ptr, words, values, tag_ptr, tags, starts, bad[:n_bad])
