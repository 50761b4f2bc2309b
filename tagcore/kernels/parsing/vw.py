"""Rows of Vowpal Wabbit text, `label,label 'id |namespace word:value word ... |namespace ...`, out of bytes."""

import numpy as np
from numba import njit

from tagcore.kernels.parsing.characters import BAR, COLON, COMMA, MINUS, PLUS, POINT, QUOTE, SPACE, TAB
from tagcore.kernels.parsing.lines import count_byte, is_blank, line_end, skip_blanks
from tagcore.kernels.parsing.numbers import parse_number
from tagcore.kernels.parsing.rows import filled, note, room_for_rows
from tagcore.kernels.parsing.rules import NUMBER, PAIR, SPACE_NAME, TAG, TEXT, WIDTH
from tagcore.kernels.parsing.svmlight import parse_labels
from tagcore.kernels.parsing.utf8 import utf8_flaw

NAMED = 1 << 62  # a label from here on is a name, which starts at byte (label - NAMED) // NAME_ROOM
NAME_ROOM = 1 << 12  # and has as many bytes as the remainder: more than any name may have
_LARGEST = 1e30  # so that no sum over one row leaves single precision


@njit(cache=True, nogil=True)
def _name_end(data, at, end):
    while at < end and data[at] != COLON and data[at] != BAR and not is_blank(data[at]):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _parse_names(data, at, end, longest, labels, m):
    """(labels filled, start of the last token, broken rule or 0): labels of which the first is a name."""
    while True:
        token = at
        while at < end and data[at] != COMMA and data[at] != COLON:
            at += 1
        if at == token or at - token > longest or _like_number(data[token]) or (at < end and data[at] == COLON):
            return m, token, TAG
        labels[m] = NAMED + token * NAME_ROOM + at - token
        m += 1
        if at == end:
            return m, token, 0
        at += 1


@njit(cache=True, nogil=True)
def _like_number(byte):
    return 48 <= byte <= 57 or byte in (MINUS, PLUS, POINT)


@njit(cache=True, nogil=True)
def _parse_head(data, at, end, longest, labels, m):
    """(labels filled, position of the first bar, start of the last token, broken rule or 0)."""
    bar = at
    while bar < end and data[bar] != BAR:
        bar += 1
    if bar == end:
        return m, bar, at, WIDTH
    at = skip_blanks(data, at, bar)
    stop = at
    while stop < bar and not is_blank(data[stop]):
        stop += 1
    token, rule = at, 0
    # what touches the bar or starts with a quote is the id of the row, which may also stand without a label
    if at < stop and stop < bar and data[at] != QUOTE:
        if _like_number(data[at]):
            m, token, rule = parse_labels(data, at, stop, labels, m)
        else:
            m, token, rule = _parse_names(data, at, stop, longest, labels, m)
        at = skip_blanks(data, stop, bar)
    if rule == 0 and at < bar:
        token, stop = at, at
        while stop < bar and not is_blank(data[stop]):
            stop += 1
        if skip_blanks(data, stop, bar) < bar or (stop < bar and data[at] != QUOTE):
            rule = TAG
    return m, bar, token, rule


@njit(cache=True, nogil=True)
def _parse_space(data, bar, end, longest):
    """(end of the name of the namespace after the bar, broken rule or 0)."""
    stop = _name_end(data, bar + 1, end)
    return stop, (SPACE_NAME if stop - bar - 1 > longest or (stop < end and data[stop] == COLON) else 0)


@njit(cache=True, nogil=True)
def vw_rows(data, longest, longest_label):
    """(rows, word_stops, spaces, space_starts, space_stops): what `xc_rows` gives, with labels as tags.

    The labels of a row are whole numbers, or names of at most `longest_label` bytes: those from `NAMED` on. Word i of
    the rows is data[words[i]:word_stops[i]] in the namespace numbered spaces[i], whose name stands at `space_starts`
    and has at most `longest` bytes. A word may be there twice in a row. Blank lines are no rows.
    """
    lines, word_ptr, tag_ptr, bad = room_for_rows(data)
    n_spaces = count_byte(data, BAR)
    room = count_byte(data, SPACE) + count_byte(data, TAB) + n_spaces + lines.size
    words, word_stops = np.empty(room, np.int64), np.empty(room, np.int64)
    spaces, values, starts = np.empty(room, np.int32), np.empty(room, np.float32), np.empty(room, np.int64)
    space_starts, space_stops = np.empty(n_spaces, np.int64), np.empty(n_spaces, np.int64)
    labels = np.empty(count_byte(data, COMMA) + lines.size, np.int64)
    rows, n_bad, line, start, space = 0, 0, -1, 0, -1
    while start < data.size:
        line += 1
        first = start
        end, start = line_end(data, first)
        at = skip_blanks(data, first, end)
        if at == end:
            continue
        n = word_ptr[rows]
        m, flaw = tag_ptr[rows], utf8_flaw(data, at, end)
        if flaw >= 0:
            token, rule = flaw, TEXT
        else:
            m, at, token, rule = _parse_head(data, at, end, longest_label, labels, m)
        while rule == 0 and at < end:
            token = at
            if data[at] == BAR:
                stop, rule = _parse_space(data, at, end, longest)
                space += 1
                space_starts[space], space_stops[space] = at + 1, stop
                at = skip_blanks(data, stop, end)
                continue
            stop = _name_end(data, at, end)
            value = np.float32(1)
            if stop == at:
                rule = PAIR
                continue
            words[n], word_stops[n], spaces[n], at = token, stop, space, stop
            if at < end and data[at] == COLON:
                starts[n] = at + 1
                value, at, fine = parse_number(data, at + 1, end)
                if not fine or abs(value) > _LARGEST or (at < end and data[at] != BAR and not is_blank(data[at])):
                    rule = NUMBER
            values[n] = value
            n += value != 0
            at = skip_blanks(data, at, end)
        if rule:
            bad, n_bad = note(bad, n_bad, data, line, rule, token, True, first, end)
        else:
            lines[rows] = line
            rows += 1
            word_ptr[rows], tag_ptr[rows] = n, m
    n = word_ptr[rows]
    good = filled(rows, lines, word_ptr, words, values, tag_ptr, labels, starts, bad[:n_bad])
    return good, word_stops[:n], spaces[:n], space_starts[: space + 1], space_stops[: space + 1]
