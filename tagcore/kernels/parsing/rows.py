"""Rows as kernels fill them: room for all that a text can hold, what good rows filled of it, notes about bad ones.

A row that breaks a rule is left out and noted in a table (columns: line, rule, start and end of the offending
token, start and end of the row), so one pass serves both a reader that stops and one that goes on.
"""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into
from tagcore.kernels.parsing.characters import NEWLINE
from tagcore.kernels.parsing.lines import count_byte, token_end

_FIRST_NOTES = 16


@njit(cache=True, nogil=True)
def room_for_rows(data):
    """(lines, word_ptr, tag_ptr, bad): as many rows as there are lines, and a few notes."""
    n_lines = count_byte(data, NEWLINE) + 1
    word_ptr, tag_ptr = np.zeros(n_lines + 1, np.int64), np.zeros(n_lines + 1, np.int64)
    return np.empty(n_lines, np.int64), word_ptr, tag_ptr, np.empty((_FIRST_NOTES, 6), np.int64)


@njit(cache=True, nogil=True)
def room_for_words(size):
    """(words, values, starts): starts are those of the values that the caller has to round."""
    return np.empty(size, np.int32), np.empty(size, np.float32), np.empty(size, np.int64)


@njit(cache=True, nogil=True)
def note(bad, n_bad, data, line, rule, token, at_blanks, first, end):
    """(bad, how many notes it holds) with one more: row data[first:end] breaks a rule at `token`.

    The token ends as in `token_end`; the table becomes twice as long where it was full.
    """
    if n_bad == bad.shape[0]:
        longer = np.empty((2 * n_bad, bad.shape[1]), np.int64)
        copy_into(longer, bad)
        bad = longer
    row = bad[n_bad]
    row[0], row[1], row[2], row[3] = line, rule, token, token_end(data, token, end, at_blanks)
    row[4], row[5] = first, end
    return bad, n_bad + 1


@njit(cache=True, nogil=True)
def filled(rows, lines, word_ptr, words, values, tag_ptr, tags, starts, bad):
    """What `rows` good rows filled of the room that was made for them, and the notes about bad ones."""
    n, m = word_ptr[rows], tag_ptr[rows]
    words, values, tags, starts = words[:n], values[:n], tags[:m], starts[:n]
    return lines[:rows], word_ptr[: rows + 1], words, values, tag_ptr[: rows + 1], tags, starts, bad
