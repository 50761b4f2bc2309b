"""Precision, recall, F1, nDCG, accuracies and histograms at k against scikit-learn and counting by hand."""

import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, ndcg_score, precision_score, recall_score

from tagcore.metrics.ranking import Hits, mark_hits
from tests.tagcore.metrics.problems import messy_csr, ranking, truth_and_scores

MEASURES = [Hits.precision, Hits.recall, Hits.f1, Hits.ndcg, Hits.accuracy, Hits.exact]


@given(truth_and_scores(), st.data())
def test_equal_to_counting_by_hand(problem, data):
    counts, scores = problem
    k = data.draw(st.integers(1, counts.shape[1]))
    top = ranking(scores, counts.shape[1])
    Y = messy_csr(counts)
    for row, order in enumerate(top):
        true = set(np.flatnonzero(counts[row]))
        right = len(true & set(order[:k].tolist()))
        gain = sum(1 / np.log2(place + 2) for place, label in enumerate(order[:k]) if label in true)
        best = sum(1 / np.log2(place + 2) for place in range(min(k, len(true))))
        assert mark_hits(Y, top).precision(k)[row] == right / k
        assert mark_hits(Y, top).recall(k)[row] == (right / len(true) if true else 0.0)
        assert mark_hits(Y, top).ndcg(k)[row] == pytest.approx(gain / best if true else 0.0, abs=1e-15)
        assert mark_hits(Y, top).f1(k)[row] == pytest.approx(2 * right / (k + len(true)), abs=1e-15)
        assert mark_hits(Y, top).accuracy(k)[row] == (right > 0)
        assert mark_hits(Y, top).exact(k)[row] == (order[k - 1] in true)


@pytest.mark.parametrize("k", [1, 3, 7, 30])
def test_equal_to_scikit_learn(k):
    rng = np.random.default_rng(k)
    truth = (rng.random((60, 30)) < 0.1).astype(int)
    scores = rng.random(truth.shape)  # without ties, which ndcg_score averages over
    top = ranking(scores, 30)
    chosen = np.zeros_like(truth)
    np.put_along_axis(chosen, top[:, :k], 1, axis=1)
    Y = sp.csr_array(truth)
    assert truth.sum(axis=1).min() == 0
    options = {"average": "samples", "zero_division": 0}
    assert mark_hits(Y, top).precision(k).mean() == pytest.approx(precision_score(truth, chosen, **options), abs=1e-12)
    assert mark_hits(Y, top).recall(k).mean() == pytest.approx(recall_score(truth, chosen, **options), abs=1e-12)
    assert mark_hits(Y, top).f1(k).mean() == pytest.approx(f1_score(truth, chosen, **options), abs=1e-12)
    assert mark_hits(Y, top).tag_recall(k).value == pytest.approx(
        recall_score(truth, chosen, average="micro"), abs=1e-12
    )
    assert mark_hits(Y, top).ndcg(k).mean() == pytest.approx(ndcg_score(truth, scores, k=k), abs=1e-12)


@given(truth_and_scores())
def test_measures_of_the_poisson_mixture_paper_agree_with_each_other(problem):
    counts, scores = problem
    n, n_labels = counts.shape
    hits = mark_hits(counts, ranking(scores, n_labels))
    assert hits.precision(1).tolist() == hits.accuracy(1).tolist() == hits.exact(1).tolist()
    for k in range(1, n_labels + 1):
        histogram = hits.histogram(k)
        assert histogram.shape == (k + 1,)
        assert histogram.sum() == n
        assert histogram[0] == n - hits.accuracy(k).sum()
        mean = np.average(np.arange(k + 1), weights=histogram)
        assert mean == pytest.approx(sum(hits.exact(j).mean() for j in range(1, k + 1)))
        if k > 1:
            assert hits.accuracy(k).mean() >= hits.accuracy(k - 1).mean()


def test_a_perfect_ranking_is_exactly_one():
    Y = sp.csr_matrix(np.tril(np.ones((9, 9))))
    top = np.tile(np.arange(9), (9, 1))
    assert (mark_hits(Y, top).ndcg(9) == 1).all()
    assert (mark_hits(Y, top).recall(9) == 1).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_one_value_per_document_and_none_for_none(measure):
    assert measure(mark_hits(sp.csr_matrix((0, 3)), np.zeros((0, 2), int)), 2).shape == (0,)
    assert measure(mark_hits(sp.csr_matrix((4, 3)), np.tile([2, 0], (4, 1))), 2).tolist() == [0, 0, 0, 0]


def test_padding_counts_missing_suggestions_as_wrong():
    hits = mark_hits(sp.csr_matrix([[1, 1], [0, 1]]), np.array([[0, 1], [0, 1]])).padded(4)
    assert hits.precision(4).tolist() == [0.5, 0.25]
    assert hits.recall(4).tolist() == [1, 1]
    assert hits.ndcg(4).tolist() == [1, 1 / np.log2(3)]
    assert hits.padded(2).right.shape == (2, 4)


def test_inputs_may_be_read_only_and_are_left_alone():
    counts = np.array([[0, 2, 0], [1, 0, 1]])
    Y, top = messy_csr(counts), np.array([[1, 0], [2, 1]], np.int32)
    for array in (Y.data, Y.indices, Y.indptr, top):
        array.setflags(write=False)
    assert mark_hits(Y, top).precision(1).tolist() == [1, 1]
    assert Y.nnz == 8


@pytest.mark.parametrize(
    ("top", "k", "message"),
    [
        ([[0, 1], [1, 3]], 1, "row 1 of the ranking holds label 3 in column 1: expected ids from 0 to 2"),
        ([[-1, 1], [1, 2]], 1, "row 0 of the ranking holds label -1 in column 0"),
        ([[0, 1], [2, 2]], 1, "row 1 of the ranking holds label 2 in column 1: .* each once"),
        ([[0, 1]], 1, "the ranking has 1 rows, the truth 2"),
        ([[0.0, 1.0], [1.0, 2.0]], 1, "2 dimensions of float64"),
        ([0, 1], 1, "1 dimensions of int64"),
        ([[0, 1], [1, 2]], 3, "k is 3, expected 1 to 2"),
        ([[0, 1], [1, 2]], 0, "k is 0, expected 1 to 2"),
    ],
)
@pytest.mark.parametrize("measure", MEASURES)
def test_bad_rankings_are_named(measure, top, k, message):
    with pytest.raises(ValueError, match=message):
        measure(mark_hits(sp.csr_matrix(np.eye(2, 3)), np.array(top)), k)


def test_negative_counts_are_named():
    with pytest.raises(ValueError, match=r"negative count -1.0 in row 1, tag 2"):
        mark_hits(sp.csr_matrix([[0, 1, 0], [0, 0, -1]]), np.array([[0], [0]]))


def test_many_documents_take_little():
    rng = np.random.default_rng(0)
    n, n_labels, columns = 100_000, 4_000, 50
    top = (rng.integers(n_labels, size=(n, 1)) + 61 * np.arange(columns)) % n_labels
    labels = (rng.integers(n_labels, size=(n, 1)) + 17 * np.arange(5)) % n_labels
    Y = sp.csr_matrix((np.ones(5 * n), labels.ravel(), np.arange(0, 5 * n + 1, 5)), shape=(n, n_labels))
    mark_hits(Y[:9], top[:9]).precision(1)
    tracemalloc.start()
    started = time.process_time()
    hits = mark_hits(Y, top)
    values = [f(k) for f in (hits.precision, hits.recall, hits.ndcg, hits.accuracy) for k in (1, 5, 10, 50)]
    spent, peak = time.process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"16 ranking measures of {n:,} documents × {columns} places: {spent:.3f} s, {peak / 2**20:.0f} MiB")
    assert peak < n * n_labels / 4  # bytes: far from one per cell
    assert all(0 < v.mean() < 1 for v in values)
