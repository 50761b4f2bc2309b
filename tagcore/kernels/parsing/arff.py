"""Rows of the data part of ARFF, sparse `{index value, ...}` or dense `value,value,...`, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.characters import CLOSE, COMMA, OPEN, PERCENT
from tagcore.kernels.parsing.lines import count_byte, is_blank, line_end, skip_blanks
from tagcore.kernels.parsing.numbers import parse_number, parse_whole
from tagcore.kernels.parsing.rows import filled, note, room_for_rows, room_for_words
from tagcore.kernels.parsing.rules import AFTER, BINARY, NUMBER, PAIR, TWICE, WIDTH, WORD


@njit(cache=True, nogil=True)
def _parse_index(data, at, end, line, seen):
    """(index, next position, broken rule or 0): the index of a sparse value and the blanks after it."""
    index, at = parse_whole(data, at, end)
    if at == end or not is_blank(data[at]):
        return index, at, PAIR
    if index < 0 or index >= seen.size:
        return index, at, WORD
    if seen[index] == line:
        return index, at, TWICE
    seen[index] = line
    return index, skip_blanks(data, at, end), 0


@njit(cache=True, nogil=True)
def _parse_value(data, at, end, binary):
    """(value, next position, broken rule or 0): one number before a comma, a closing brace or the end."""
    value, at, fine = parse_number(data, at, end)
    at = skip_blanks(data, at, end)
    if not fine or (at < end and data[at] != COMMA and data[at] != CLOSE):
        return value, at, NUMBER
    return value, at, (BINARY if binary and value != 0 and value != 1 else 0)


@njit(cache=True, nogil=True)
def _parse_row(data, at, end, line, column, is_tag, is_binary, seen, words, values, starts, n, tags, m):
    """(words filled, tags filled, start of the last token, broken rule or 0)."""
    sparse, attribute, token = data[at] == OPEN, -1, at
    at = skip_blanks(data, at + 1, end) if sparse else at
    over = sparse and at < end and data[at] == CLOSE
    while not over:
        token = skip_blanks(data, at, end)
        attribute, at, rule = attribute + 1, token, 0
        if sparse:
            attribute, at, rule = _parse_index(data, token, end, line, seen)
        elif attribute == column.size:
            rule = WIDTH
        if rule:
            return n, m, token, rule
        number = at
        value, at, rule = _parse_value(data, at, end, is_binary[attribute])
        if rule:
            return n, m, number, rule
        if value != 0:
            if is_tag[attribute]:
                tags[m] = column[attribute]
                m += 1
            else:
                words[n], values[n] = column[attribute], value
                if np.isnan(value):
                    starts[n] = number
                n += 1
        over = at == end or data[at] == CLOSE
        at += not over
    if sparse:  # at is the closing brace, which must be the last byte
        return n, m, at, (0 if at + 1 == end else AFTER)
    return n, m, token, (0 if at == end and attribute + 1 == column.size else WIDTH)


@njit(cache=True, nogil=True)
def arff_rows(data, column, is_tag, is_binary):
    """(lines, word_ptr, words, values, tag_ptr, tags, starts, bad): two CSR matrices over the good rows.

    `column[a]` is the number of attribute a among the words or, where is_tag[a], among the tags. The outcome is as
    in `xc_rows`; blank lines and comments are no rows.
    """
    lines, word_ptr, tag_ptr, bad = room_for_rows(data)
    room = count_byte(data, COMMA) + lines.size
    words, values, starts = room_for_words(room)
    tags, seen = np.empty(room, np.int32), np.full(column.size, -1, np.int32)
    rows, n_bad, line, start = 0, 0, -1, 0
    while start < data.size:
        line += 1
        first = start
        end, start = line_end(data, first)
        at = skip_blanks(data, first, end)
        if at == end or data[at] == PERCENT:
            continue
        n, m, token, rule = _parse_row(
            data,
            at,
            end,
            line,
            column,
            is_tag,
            is_binary,
            seen,
            words,
            values,
            starts,
            word_ptr[rows],
            tags,
            tag_ptr[rows],
        )
        if rule:
            bad, n_bad = note(bad, n_bad, data, line, rule, token, False, first, end)
        else:
            lines[rows] = line
            rows += 1
            word_ptr[rows], tag_ptr[rows] = n, m
    return filled(rows, lines, word_ptr, words, values, tag_ptr, tags, starts, bad[:n_bad])
