"""Notes about bad rows, and what good rows filled."""

import numpy as np

from tagcore.kernels.parsing.rows import filled, note, room_for_rows, room_for_words
from tagcore.kernels.parsing.rules import NUMBER, TAG


def test_a_note_holds_line_rule_token_and_row_however_many_there_are():
    data = np.frombuffer(b"1 2:x,3 4:5\n", np.uint8)
    *_, bad = room_for_rows(data)
    n_bad = 0
    for line in range(40):
        bad, n_bad = note(bad, n_bad, data, line, NUMBER if line % 2 else TAG, 2, True, 0, 11)
    assert n_bad == 40
    assert bad[:40].tolist() == [[line, NUMBER if line % 2 else TAG, 2, 5, 0, 11] for line in range(40)]


def test_a_token_of_dense_rows_ends_at_a_comma_alone():
    data = np.frombuffer(b"1, a b,3", np.uint8)
    bad, _ = note(room_for_rows(data)[3], 0, data, 0, NUMBER, 3, False, 0, 8)
    assert bad[0].tolist() == [0, NUMBER, 3, 6, 0, 8]


def test_the_room_is_cut_to_what_good_rows_filled():
    lines, word_ptr, tag_ptr, bad = room_for_rows(np.frombuffer(b"a\nb\nc", np.uint8))
    assert (lines.size, word_ptr.tolist(), tag_ptr.tolist()) == (3, [0] * 4, [0] * 4)
    words, values, starts = room_for_words(9)
    lines[:2], word_ptr[1:3], tag_ptr[1:3] = [0, 2], [3, 5], [1, 2]
    rows = filled(2, lines, word_ptr, words, values, tag_ptr, np.arange(7), starts, bad[:1])
    assert [part.shape[0] for part in rows] == [2, 3, 5, 5, 3, 2, 5, 1]
