"""The best rows of every label against sorting, in whatever parts the scores are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagcore.labelling.best_rows import best_rows, keep_best
from tests.tagcore.metrics.problems import InParts, blocks_of, truth_and_scores


@given(truth_and_scores(max_rows=40), st.lists(st.integers(0, 40), max_size=6), st.data())
def test_best_rows_hold_no_more_than_was_asked_for(problem, cuts, data):
    _, scores = problem
    n, n_labels = scores.shape
    counts = data.draw(arrays(np.int64, n_labels, elements=st.integers(0, n)))
    joined = InParts(scores, cuts).sum(keep_best, counts=counts)["best"]
    np.testing.assert_array_equal(joined.sizes, counts)
    wanted = [np.argsort(-scores[:, c], kind="stable")[:count] for c, count in enumerate(counts)]
    np.testing.assert_array_equal(joined.rows, np.concatenate(wanted))
    np.testing.assert_array_equal(joined.scores, scores[joined.rows, joined.labels])


def test_best_rows_come_best_first_with_ties_to_the_lower_row():
    scores = np.array([1.0, 3.0, 2.0, 3.0, 2.0, 0.0, 3.0])[:, None]
    best = best_rows(InParts(scores, [3, 5], step=2), np.array([5]), 7)
    assert best.sizes.tolist() == [5]
    assert best.scores.tolist() == [3, 3, 3, 2, 2]
    assert best.rows.tolist() == [1, 3, 6, 2, 4]


def test_the_last_row_of_every_label():
    scores = np.array([[1.0, 5.0, 0.0], [3.0, 4.0, 0.0], [3.0, 6.0, 0.0]])
    limits, rows = best_rows(blocks_of(scores, 2), np.array([2, 1, 0]), 3).last()
    assert limits.tolist() == [3.0, 6.0, np.inf]
    assert rows.tolist() == [2, 2, -1]


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="scores of 4 rows, expected 5"):
        best_rows(blocks_of(np.zeros((4, 2)), 3), np.array([2, 2]), 5)
    with pytest.raises(ValueError, match="the score of row 3, label 1 is nan"):
        best_rows(InParts(np.array([[0, 0]] * 3 + [[0, np.nan]]), [2]), np.array([2, 2]), 4)
