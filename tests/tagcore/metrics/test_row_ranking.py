"""LRAP, coverage, ranking loss and one-error against scikit-learn, from dense blocks and from sparse scores."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import coverage_error, label_ranking_average_precision_score, label_ranking_loss

from tagcore.metrics.ranking import mark_hits
from tagcore.metrics.row_ranking import label_ranking
from tests.tagcore.metrics.problems import blocks_of, messy_csr, ranking, truth_and_scores

FIELDS = ("auc", "lrap", "coverage", "ranking_loss", "one_error")


def one_row(truth: np.ndarray, scores: np.ndarray) -> tuple[float, float, float]:
    """scikit-learn's LRAP, coverage and ranking loss of one row, which is their mean over it."""
    y, s = truth[None, :], scores[None, :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return label_ranking_average_precision_score(y, s), coverage_error(y, s), label_ranking_loss(y, s)


def assert_equals_scikit_learn(counts, scores, found):
    truth = (counts > 0).astype(int)
    if truth.shape[1] == 1:  # scikit-learn takes no single column: a false label behind all others changes nothing
        truth, scores = np.pad(truth, ((0, 0), (0, 1))), np.pad(scores, ((0, 0), (0, 1)), constant_values=-1e9)
    for row in range(len(truth)):
        expected = one_row(truth[row], scores[row])
        np.testing.assert_allclose(
            (found.lrap[row], found.coverage[row], found.ranking_loss[row]), expected, rtol=0, atol=1e-14
        )
        best = int(np.argmax(scores[row]))
        assert found.one_error[row] == (truth[row, best] == 0)


@given(truth_and_scores(), st.integers(1, 5))
def test_equal_to_scikit_learn(problem, step):
    counts, scores = problem
    assert_equals_scikit_learn(counts, scores, label_ranking(messy_csr(counts), blocks_of(scores, step)))


@given(truth_and_scores(), st.sampled_from([-2.5, 0.0, 0.5, 9.0]), st.data())
def test_sparse_scores_are_dense_ones_with_one_value_for_the_rest(problem, absent, data):
    counts, scores = problem
    stored = data.draw(st.lists(st.booleans(), min_size=scores.size, max_size=scores.size))
    stored = np.array(stored).reshape(scores.shape)
    dense = np.where(stored, scores, absent)
    rows, labels = np.nonzero(stored)
    sparse = sp.csr_matrix((scores[stored], (rows, labels)), shape=scores.shape)
    found = label_ranking(messy_csr(counts), sparse, absent=absent)
    wanted = label_ranking(counts, blocks_of(dense, 3))
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field))


def test_labels_without_a_score_may_stand_behind_all_others():
    scores = sp.csr_matrix([[0.0, 0, -3, -2], [0, 0, 0, 0]])
    found = label_ranking([[0, 1, 1, 0], [0, 1, 0, 0]], scores, absent=-np.inf)
    assert found.coverage.tolist() == [4, 4]
    assert found.lrap.tolist() == [(1 / 2 + 2 / 4) / 2, 1 / 4]
    assert found.ranking_loss.tolist() == [3 / 4, 1]
    assert found.one_error.tolist() == [1, 1]  # label 3, and of none with a score the lowest
    assert label_ranking([[1, 0, 0, 0]], sp.csr_matrix((1, 4)), absent=-np.inf).one_error.tolist() == [0]


def test_scores_that_arrive_messy_are_left_alone():
    counts, scores = np.array([[0, 2, 0], [1, 0, 1]]), np.array([[3, 2, 0], [0, 5, 1]])
    messy = messy_csr(scores)
    found = label_ranking(counts, messy)
    wanted = label_ranking(counts, blocks_of(scores, 2))
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field))
    assert not messy.has_canonical_format


def test_rows_of_one_kind_of_label():
    found = label_ranking([[0, 0, 0], [1, 1, 1]], blocks_of(np.arange(6.0).reshape(2, 3), 2))
    assert np.isnan(found.auc).all()
    assert found.lrap.tolist() == [1, 1]
    assert found.ranking_loss.tolist() == [0, 0]
    assert found.coverage.tolist() == [0, 3]
    assert found.one_error.tolist() == [1, 0]


@given(truth_and_scores())
def test_what_the_measures_must_obey(problem):
    counts, scores = problem
    found = label_ranking(counts, blocks_of(scores, 4))
    top = mark_hits(counts, ranking(scores, 1))
    np.testing.assert_array_equal(found.one_error, 1 - top.precision(1))
    n_true = (counts > 0).sum(axis=1)
    assert ((found.coverage >= n_true) & (found.coverage <= counts.shape[1])).all()
    defined = ~np.isnan(found.auc)
    assert (found.ranking_loss[defined] >= 1 - found.auc[defined] - 1e-15).all()
    perfect = label_ranking(counts, blocks_of((counts > 0).astype(float), 4))
    assert (perfect.lrap == 1).all()
    np.testing.assert_array_equal(perfect.coverage, n_true)


@pytest.mark.parametrize(
    ("scores", "absent", "message"),
    [
        (sp.csr_matrix([[0.0, 1.0]]), 0.0, r"the scores have shape \(1, 2\), the truth \(2, 2\)"),
        (sp.csr_matrix([[0.0, 1.0], [np.nan, 0.0]]), 0.0, "the score of row 1, label 0 is nan"),
        (sp.csr_matrix([[0.0, 1.0], [0.0, np.inf]]), 0.0, "the score of row 1, label 1 is inf"),
        (sp.csr_matrix((2, 2)), np.nan, "absent is nan"),
        (sp.csr_matrix((2, 2)), np.inf, "absent is inf"),
    ],
)
def test_bad_scores_are_named(scores, absent, message):
    with pytest.raises(ValueError, match=message):
        label_ranking(np.eye(2), scores, absent=absent)
