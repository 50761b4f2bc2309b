"""Kendall's τ-b against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from tagcore.metrics.kendall import kendall_at, kendall_union_at
from tests.tagcore.metrics.problems import messy_csr, ranking, truth_and_scores


def tau_b(places: np.ndarray, counts: np.ndarray) -> float:
    """scipy's, 0 where it has none."""
    tau = kendalltau(-places, counts).statistic if len(places) > 1 else np.nan
    return 0.0 if np.isnan(tau) else float(tau)


@given(truth_and_scores(), st.data())
def test_equal_to_scipy(problem, data):
    counts, scores = problem
    n_labels = counts.shape[1]
    k = data.draw(st.integers(1, n_labels))
    top = ranking(scores, n_labels)
    tau, union = kendall_at(messy_csr(counts), top, k), kendall_union_at(messy_csr(counts), top, k)
    for row, order in enumerate(top):
        places = np.full(n_labels, k)  # behind the last place
        places[order[:k]] = np.arange(k)
        suggested = places < k
        assert tau[row] == pytest.approx(tau_b(places[suggested], counts[row][suggested]), abs=1e-14)
        both = suggested | (counts[row] > 0)
        assert union[row] == pytest.approx(tau_b(places[both], counts[row][both]), abs=1e-14)


def test_order_by_count_is_one_and_the_reverse_minus_one():
    counts = np.array([[9, 5, 2, 1, 0]] * 2)
    top = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    assert kendall_at(counts, top, 5).tolist() == [1, -1]
    assert kendall_at(counts, top, 2).tolist() == [1, -1]
    assert kendall_union_at(counts, top, 5).tolist() == [1, -1]


def test_missed_tags_pull_the_union_down():
    counts, top = np.array([[0, 0, 0, 1, 1]]), np.array([[0, 1, 2]])
    assert kendall_at(counts, top, 3).tolist() == [0]  # all tied: undefined
    assert kendall_union_at(counts, top, 3)[0] < -0.7


@pytest.mark.parametrize("measure", [kendall_at, kendall_union_at])
def test_undefined_is_zero_and_what_is_wrong_is_named(measure):
    assert measure(np.zeros((2, 3)), np.array([[0, 1], [2, 1]]), 2).tolist() == [0, 0]
    assert measure(np.eye(2, 3), np.array([[0, 1], [1, 2]]), 1)[0] == 0
    assert measure(np.zeros((0, 3)), np.zeros((0, 2), int), 2).shape == (0,)
    with pytest.raises(ValueError, match="row 1 of the ranking holds label 3"):
        measure(np.eye(2, 3), np.array([[0, 1], [1, 3]]), 2)
    with pytest.raises(ValueError, match="k is 3, expected 1 to 2"):
        measure(np.eye(2, 3), np.array([[0, 1], [1, 2]]), 3)
