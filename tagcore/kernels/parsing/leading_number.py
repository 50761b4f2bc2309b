"""Rows that begin with a whole number: `number word:value ...`, or `n id id ...` where n is how many follow."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.characters import COLON
from tagcore.kernels.parsing.lines import count_byte, is_blank, line_end, skip_blanks
from tagcore.kernels.parsing.numbers import parse_whole
from tagcore.kernels.parsing.rows import filled, note, room_for_rows, room_for_words
from tagcore.kernels.parsing.rules import TAG, TWICE, WIDTH, WORD
from tagcore.kernels.parsing.xc import parse_pairs


@njit(cache=True, nogil=True)
def _parse_leading_number(data, at, end):
    """(number, next position, broken rule or 0)."""
    head, at = parse_whole(data, at, end)
    return head, at, (TAG if head < 0 or (at < end and not is_blank(data[at])) else 0)


@njit(cache=True, nogil=True)
def number_then_pairs(data, n_words, first_word, counted):
    """Parses rows `number word:value ...` into what `xc_rows` gives, with the leading number as the only tag.

    Words are counted from `first_word`. Where `counted`, the number must be how many pairs there are, and as lines then
    number the documents none may be blank; else blank lines do not count.
    """
    lines, word_ptr, tag_ptr, bad = room_for_rows(data)
    words, values, starts = room_for_words(count_byte(data, COLON))
    heads, seen = np.empty(lines.size, np.int64), np.full(n_words, -1, np.int32)
    rows, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        end, after = line_end(data, start)
        if start == end and not counted:
            start = after
            continue
        n, token = word_ptr[rows], start
        head, at, rule = _parse_leading_number(data, start, end)
        if rule == 0:
            n, token, rule = parse_pairs(data, at, end, line, first_word, seen, words, values, starts, n)
        if rule == 0 and counted and head != count_byte(data[at:end], COLON):
            token, rule = start, WIDTH
        if rule:
            bad, n_bad = note(bad, n_bad, data, line, rule, token, True, start, end)
        else:
            lines[rows], heads[rows] = line, head
            rows += 1
            word_ptr[rows], tag_ptr[rows] = n, rows
        start = after
    return filled(rows, lines, word_ptr, words, values, tag_ptr, heads, starts, bad[:n_bad])


@njit(cache=True, nogil=True)
def _parse_ids(data, at, end, line, seen, ids, n):
    """(ids filled, start of the last token, broken rule or 0)."""
    while True:
        token = at = skip_blanks(data, at, end)
        if at == end:
            return n, token, 0
        id_, at = parse_whole(data, at, end)
        if id_ < 0 or id_ >= seen.size or (at < end and not is_blank(data[at])):
            return n, token, WORD
        if seen[id_] == line:
            return n, token, TWICE
        seen[id_] = line
        ids[n] = id_
        n += 1


@njit(cache=True, nogil=True)
def number_then_ids(data, n_ids):
    """Parses rows `n id id ...` into (lines, ptr, ids, bad): CSR indices, ids from 0 to n_ids - 1."""
    lines, ptr, _, bad = room_for_rows(data)
    ids, seen = np.empty(data.size // 2 + 1, np.int32), np.full(n_ids, -1, np.int32)
    rows, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        end, after = line_end(data, start)
        n, token = ptr[rows], start
        head, at, rule = _parse_leading_number(data, start, end)
        if rule == 0:
            n, token, rule = _parse_ids(data, at, end, line, seen, ids, n)
        if rule == 0 and head != n - ptr[rows]:
            token, rule = start, WIDTH
        if rule:
            bad, n_bad = note(bad, n_bad, data, line, rule, token, True, start, end)
        else:
            lines[rows] = line
            rows += 1
            ptr[rows] = n
        start = after
    return lines[:rows], ptr[: rows + 1], ids[: ptr[rows]], bad[:n_bad]
