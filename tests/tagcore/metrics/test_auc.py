"""AUC by row, by label and pooled against scikit-learn and against counting pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from tagcore.metrics.auc import auc_from_ranks, roc_auc
from tagcore.metrics.row_ranking import rank_rows
from tagcore.scoring import blocks
from tagcore.scoring.blocks import LocalScores
from tests.tagcore.metrics.problems import InParts, blocks_of, messy_csr, truth_and_scores


def pairs(truth: np.ndarray, scores: np.ndarray) -> float:
    """The share of (positive, negative) pairs in the right order, ties half; NaN without pairs."""
    gap = scores[truth > 0][:, None] - scores[truth == 0][None, :]
    return float(((gap > 0) + 0.5 * (gap == 0)).mean()) if gap.size else float("nan")


@pytest.fixture(params=[0, blocks.KEPT_CELLS], ids=["two walks", "one walk"])
def walks(request, monkeypatch):
    monkeypatch.setattr(blocks, "KEPT_CELLS", request.param)
    return 1 if request.param else 2


@given(truth_and_scores(), st.integers(1, 5), st.sampled_from([0, 10**6]))
def test_equal_to_counting_pairs(problem, step, kept):
    counts, scores = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "KEPT_CELLS", kept)
        auc = roc_auc(messy_csr(counts), blocks_of(scores, step))
    rows = [pairs(t, s) for t, s in zip(counts, scores, strict=True)]
    labels = [pairs(t, s) for t, s in zip(counts.T, scores.T, strict=True)]
    np.testing.assert_allclose(auc.rows, rows, atol=1e-14)
    np.testing.assert_allclose(auc.labels, labels, atol=1e-14)
    np.testing.assert_allclose(auc.micro, pairs(counts.ravel(), scores.ravel()), atol=1e-14)
    assert auc.rows_left_out == np.isnan(rows).sum()
    assert auc.labels_left_out == np.isnan(labels).sum()


@given(truth_and_scores(), st.lists(st.integers(0, 12), max_size=4))
def test_parts_give_the_bits_of_the_whole(problem, cuts):
    counts, scores = problem
    truth = sp.csr_matrix(counts)
    parts = InParts(scores, cuts, truth=truth)
    ranked = parts.collect(rank_rows)
    joined = {name: np.concatenate([part[name] for part in ranked], axis=-1) for name in ranked[0]}
    auc, whole = auc_from_ranks(parts, truth, **joined), roc_auc(counts, blocks_of(scores, 3))
    np.testing.assert_array_equal(auc.rows, whole.rows)
    np.testing.assert_array_equal(auc.labels, whole.labels)
    np.testing.assert_array_equal(auc.micro, whole.micro)
    np.testing.assert_array_equal(auc.ranking.lrap, whole.ranking.lrap)


def test_more_pairs_than_64_bits_hold():
    """they are added as two numbers."""

    class Many(LocalScores):
        def sum(self, step, **shared):
            return step(self.part, **shared) | {"all": np.array([2**40, 12])}

    truth = sp.csr_matrix(np.eye(2))
    many = Many(blocks_of(np.eye(2), 2), truth)
    (ranks,) = many.collect(rank_rows)
    assert auc_from_ranks(many, truth, **ranks).micro == (2**72 + 12 - 4) / 8


def test_equal_to_scikit_learn(walks):
    rng = np.random.default_rng(0)
    truth = (rng.random((80, 12)) < 0.3).astype(int)
    truth[:2], truth[:, 0] = np.eye(12, dtype=int)[:2], 0
    truth[0, 0], truth[5] = 1, 0
    scores = np.round(truth + rng.normal(size=truth.shape), 1)
    auc = roc_auc(sp.csr_matrix(truth), blocks_of(scores, 7))
    tagged = truth.any(axis=1)
    assert auc.rows_left_out == (~tagged).sum() > 0
    np.testing.assert_allclose(auc.labels, roc_auc_score(truth, scores, average=None), atol=1e-12)
    assert auc.macro == pytest.approx(roc_auc_score(truth, scores, average="macro"), abs=1e-12)
    assert auc.micro == pytest.approx(roc_auc_score(truth, scores, average="micro"), abs=1e-12)
    assert auc.row == pytest.approx(roc_auc_score(truth[tagged], scores[tagged], average="samples"), abs=1e-12)


def test_the_model_is_asked_as_rarely_as_memory_allows(walks):
    calls = []

    def walk():
        calls.append(1)
        yield slice(0, 2), np.eye(2)

    assert roc_auc(np.eye(2), walk).micro == 1.0
    assert len(calls) == walks


def test_nothing_to_compare_gives_nan():
    auc = roc_auc(np.zeros((3, 2)), blocks_of(np.zeros((3, 2)), 2))
    assert np.isnan([auc.row, auc.macro, auc.micro]).all()


def test_float32_and_integer_scores():
    for dtype in (np.float32, np.int64):
        assert roc_auc([[0, 1, 0]], lambda dtype=dtype: [(slice(0, 1), np.array([[1, 1, 0]], dtype))]).row == 0.75


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(slice(0, 2), [[0, 1], [0, np.nan]])], "the score of row 1, label 1 is nan"),
        ([(slice(0, 1), [[0, 1]]), (slice(1, 2), [[-np.inf, 0]])], "the score of row 1, label 0 is -inf"),
        ([(slice(0, 1), [[0, 1]])], "scores of 1 rows, expected 2"),
        ([(slice(1, 2), [[0, 1]]), (slice(0, 1), [[0, 1]])], "starts at row 1, expected row 0"),
        ([(slice(0, 2), [[0, 1, 2], [0, 1, 2]])], r"shape \(2, 3\), expected 2 columns"),
        ([(slice(0, 2), [0, 1])], r"shape \(2,\), expected 2 columns"),
        ([(slice(0, 3), np.zeros((3, 2)))], "scores of 3 rows or more, expected 2"),
    ],
)
def test_bad_scores_are_named(blocks, message):
    with pytest.raises(ValueError, match=message):
        roc_auc(np.eye(2), lambda: [(rows, np.array(block, float)) for rows, block in blocks])
