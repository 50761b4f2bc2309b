"""Labels from scores against counting by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagcore.labelling.rules import (
    best_rows,
    class_mass_labels,
    keep_best,
    threshold_labels,
    top_k_labels,
)
from tests.tagcore.metrics.problems import InParts, blocks_of, ranking, truth_and_scores


@given(truth_and_scores(), st.data())
def test_top_k_labels(problem, data):
    _, scores = problem
    k = data.draw(st.integers(0, scores.shape[1]))
    top = ranking(scores, k)
    expected = np.zeros(scores.shape, np.int8)
    np.put_along_axis(expected, top, 1, axis=1)
    found = top_k_labels(top, scores.shape[1])
    assert found.dtype == np.int8
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), expected)


@pytest.mark.parametrize("row", [[0, 0], [-1, 0], [0, 3]])
def test_bad_rankings_are_named(row):
    with pytest.raises(ValueError, match=r"row 1 of the ranking is .* expected ids from 0 to 2, each once"):
        top_k_labels(np.array([[0, 1], row]), 3)


@given(truth_and_scores(), st.integers(1, 5), st.data())
def test_threshold_labels(problem, step, data):
    _, scores = problem
    limits = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, np.inf])
    thresholds = data.draw(arrays(np.float64, scores.shape[1], elements=limits))
    found = threshold_labels(blocks_of(scores, step), thresholds)
    np.testing.assert_array_equal(found.toarray(), scores > thresholds)


def test_no_rows_have_no_labels():
    assert threshold_labels(list, np.zeros(3)).shape == (0, 3)
    assert class_mass_labels(list, np.full(3, 0.5), 0).shape == (0, 3)
    assert top_k_labels(np.zeros((0, 2), int), 3).shape == (0, 3)


@given(truth_and_scores(max_rows=40), st.integers(1, 9), st.data())
def test_class_mass_labels_exactly_its_share(problem, step, data):
    _, scores = problem
    n, n_labels = scores.shape
    rates = data.draw(arrays(np.float64, n_labels, elements=st.floats(0, 1)))
    expected = np.zeros(scores.shape, int)
    for label, rate in enumerate(rates):
        best = np.argsort(-scores[:, label], kind="stable")[: round(n * rate)]
        expected[best, label] = 1
    found = class_mass_labels(blocks_of(scores, step), rates, n)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.has_canonical_format


@given(truth_and_scores(max_rows=40), st.lists(st.integers(0, 40), max_size=4), st.data())
def test_class_mass_is_the_same_in_whatever_parts_the_scores_are(problem, cuts, data):
    _, scores = problem
    n, n_labels = scores.shape
    rates = data.draw(arrays(np.float64, n_labels, elements=st.floats(0, 1)))
    parts, whole = InParts(scores, cuts), blocks_of(scores, n)
    assert (class_mass_labels(parts, rates, n) != class_mass_labels(whole, rates, n)).nnz == 0


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


def test_class_mass_without_ties():
    scores = np.random.default_rng(0).normal(size=(1000, 7))
    rates = np.array([0, 0.001, 0.01, 0.1234, 0.5, 0.999, 1])
    labels = class_mass_labels(blocks_of(scores, 64), rates, 1000)
    assert labels.sum(axis=0).tolist() == [[0, 1, 10, 123, 500, 999, 1000]]
    assert (labels != class_mass_labels(blocks_of(scores, 100), rates, 1000)).nnz == 0


def test_what_does_not_fit_is_named():
    blocks = blocks_of(np.zeros((4, 2)), 3)
    with pytest.raises(ValueError, match="expected 3 columns"):
        threshold_labels(blocks, np.zeros(3))
    with pytest.raises(ValueError, match="none of them NaN"):
        threshold_labels(blocks, np.array([0, np.nan]))
    with pytest.raises(ValueError, match="one number from 0 to 1 per label"):
        class_mass_labels(blocks, np.array([0.5, 1.5]), 4)
    with pytest.raises(ValueError, match="one number from 0 to 1 per label"):
        class_mass_labels(blocks, np.array([0.5, np.nan]), 4)
    with pytest.raises(ValueError, match="scores of 4 rows, expected 5"):
        class_mass_labels(blocks, np.array([0.5, 0.5]), 5)
    with pytest.raises(ValueError, match="the score of row 3, label 1 is nan"):
        class_mass_labels(InParts(np.array([[0, 0]] * 3 + [[0, np.nan]]), [2]), np.array([0.5, 0.5]), 4)
