"""Thresholds of best F1 against trying every one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.metrics import f1_score

from tagcore.baselines import OneVsRestLinear, Popular
from tagcore.labelling.thresholds import cross_validated_thresholds, f1_thresholds, load_thresholds, save_thresholds
from tests.problems import noisy, official_split
from tests.tagcore.metrics.problems import blocks_of, messy_csr, truth_and_scores


def _f1(truth, predicted):
    return 2 * (truth & predicted).sum() / max(truth.sum() + predicted.sum(), 1)


def _cuts(scores):
    """one threshold for each way to split the scores."""
    return np.concatenate([[-np.inf], np.unique(scores)])


@given(truth_and_scores(max_rows=30, max_labels=5), st.integers(1, 9))
def test_no_other_threshold_has_a_better_f1(problem, step):
    counts, scores = problem
    thresholds = f1_thresholds(blocks_of(scores, step), messy_csr(counts))
    for label, threshold in enumerate(thresholds):
        truth, column = counts[:, label] > 0, scores[:, label]
        if not truth.any():
            assert threshold == np.inf
            continue
        best = max(_f1(truth, column > cut) for cut in _cuts(column))
        assert _f1(truth, column > threshold) == pytest.approx(best)
        fewest = min((column > cut).sum() for cut in _cuts(column) if _f1(truth, column > cut) >= best - 1e-12)
        assert (column > threshold).sum() == fewest


@given(truth_and_scores(max_rows=30, max_labels=5), st.floats(0.05, 1))
def test_tags_of_low_f1_are_given_to_no_row(problem, fbr):
    counts, scores = problem
    trusting, careful = (f1_thresholds(blocks_of(scores, 4), sp.csr_matrix(counts), fbr=f) for f in (0.0, fbr))
    for label in np.flatnonzero((counts > 0).any(axis=0)):
        truth, column = counts[:, label] > 0, scores[:, label]
        if _f1(truth, column > trusting[label]) < fbr:
            assert careful[label] == column.max()
        else:
            assert careful[label] == trusting[label]


def test_thresholds_lie_halfway():
    scores = np.array([[0.9], [0.8], [0.4], [0.1]])
    assert f1_thresholds(blocks_of(scores, 2), sp.csr_matrix([[1], [1], [0], [0]])) == pytest.approx([0.6])
    assert f1_thresholds(blocks_of(scores, 2), sp.csr_matrix([[1], [0], [0], [0]])) == pytest.approx([0.85])
    assert f1_thresholds(blocks_of(scores, 2), sp.csr_matrix(np.ones((4, 1)))) < 0.1


def test_of_equal_f1_the_highest_threshold_is_taken():
    scores = np.array([[0.9], [0.8], [0.7], [0.6]])  # one right of one, or two right of four: 2/3 either way
    assert f1_thresholds(blocks_of(scores, 4), sp.csr_matrix([[1], [0], [0], [1]])) == pytest.approx([0.85])


def test_neighbouring_floats_have_a_threshold_between_them():
    low = 1.0
    high = np.nextafter(low, 2.0)
    thresholds = f1_thresholds(blocks_of(np.array([[low], [high]]), 1), sp.csr_matrix([[0], [1]]))
    assert low <= thresholds[0] < high


def test_cross_validation_scores_each_row_by_a_model_that_has_not_seen_it():
    X, Y = noisy()
    model = OneVsRestLinear(C=5.0)
    thresholds = cross_validated_thresholds(model, X, Y, folds=4, fbr=0.2, seed=7)
    scores = np.empty(Y.shape)
    for rows in np.array_split(np.random.default_rng(7).permutation(X.shape[0]), 4):
        learnt = np.delete(np.arange(X.shape[0]), rows)
        ((_, scores[rows]),) = clone(model).fit(X[learnt], Y[learnt]).score_blocks(X[rows])
    np.testing.assert_allclose(thresholds, f1_thresholds(blocks_of(scores, 50), Y, fbr=0.2), atol=1e-12)
    assert not hasattr(model, "coef_data_")
    assert np.array_equal(thresholds, cross_validated_thresholds(model, X, Y, folds=4, fbr=0.2, seed=7))


def test_progress_counts_folds():
    seen = []
    cross_validated_thresholds(Popular(), *noisy(), folds=3, progress=lambda done, total, _: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("folds", [0, 1, 151])
def test_impossible_folds_are_named(folds):
    with pytest.raises(ValueError, match=f"folds must be from 2 to the 150 rows, got {folds}"):
        cross_validated_thresholds(Popular(), *noisy(), folds=folds)


def test_what_does_not_fit_is_named():
    blocks = blocks_of(np.zeros((4, 2)), 3)
    with pytest.raises(ValueError, match=r"fbr must be an F1 from 0 to 1, got 1\.5"):
        f1_thresholds(blocks, sp.csr_matrix((4, 2)), fbr=1.5)
    with pytest.raises(ValueError, match="expected 3 columns"):
        f1_thresholds(blocks, sp.csr_matrix((4, 3)))
    with pytest.raises(ValueError, match="scores of 4 rows, expected 5"):
        f1_thresholds(blocks, sp.csr_matrix((5, 2)))


def test_stored_thresholds_come_back_and_damaged_ones_are_named(tmp_path):
    path = tmp_path / "t.safetensors"
    save_thresholds(np.array([0.25, np.inf, -np.inf]), path)
    assert load_thresholds(path).tolist() == [0.25, np.inf, -np.inf]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match=r"t\.safetensors: not stored thresholds"):
        load_thresholds(path)
    save_file({"other": np.zeros(2)}, path)
    with pytest.raises(ValueError, match=r"t\.safetensors: not stored thresholds"):
        load_thresholds(path)


@pytest.mark.data
def test_bibtex_gains_macro_f1(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    model = OneVsRestLinear()
    thresholds = cross_validated_thresholds(model, X, Y)
    model.fit(X, Y)
    chosen = np.vstack([scores > thresholds for _, scores in model.score_blocks(X_test)])
    macro = [
        f1_score(Y_test > 0, labels, average="macro", zero_division=0) for labels in (chosen, model.predict(X_test))
    ]
    assert macro[0] > macro[1] + 0.05
