"""LRAP, coverage, ranking loss and one-error against scikit-learn."""

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import coverage_error, label_ranking_average_precision_score, label_ranking_loss

from tagcore.metrics.auc import roc_auc
from tagcore.metrics.ranking import mark_hits
from tests.tagcore.metrics.problems import blocks_of, messy_csr, ranking, truth_and_scores


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
    assert_equals_scikit_learn(counts, scores, roc_auc(messy_csr(counts), blocks_of(scores, step)).ranking)


def test_rows_of_one_kind_of_label():
    auc = roc_auc([[0, 0, 0], [1, 1, 1]], blocks_of(np.arange(6.0).reshape(2, 3), 2)).ranking
    assert np.isnan(auc.auc).all()
    assert auc.lrap.tolist() == [1, 1]
    assert auc.ranking_loss.tolist() == [0, 0]
    assert auc.coverage.tolist() == [0, 3]
    assert auc.one_error.tolist() == [1, 0]


@given(truth_and_scores())
def test_what_the_measures_must_obey(problem):
    counts, scores = problem
    auc = roc_auc(counts, blocks_of(scores, 4)).ranking
    top = mark_hits(counts, ranking(scores, 1))
    np.testing.assert_array_equal(auc.one_error, 1 - top.precision(1))
    n_true = (counts > 0).sum(axis=1)
    assert ((auc.coverage >= n_true) & (auc.coverage <= counts.shape[1])).all()
    defined = ~np.isnan(auc.auc)
    assert (auc.ranking_loss[defined] >= 1 - auc.auc[defined] - 1e-15).all()
    perfect = roc_auc(counts, blocks_of((counts > 0).astype(float), 4)).ranking
    assert (perfect.lrap == 1).all()
    np.testing.assert_array_equal(perfect.coverage, n_true)
