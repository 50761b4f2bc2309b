"""Propensity-scored precision and nDCG against their definition, written out with dense arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.metrics.intervals import bootstrap_ratio
from tagcore.metrics.propensity import DEFAULT_CURVE, PUBLISHED_CURVES, PropensityCurve, propensities, propensity_hits
from tagcore.metrics.ranking import mark_hits
from tests.tagcore.metrics.problems import messy_csr, ranking, truth_and_scores


def test_the_published_curves():
    assert DEFAULT_CURVE == (0.55, 1.5)
    assert PUBLISHED_CURVES == {"wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
    counts, n = np.array([0, 1, 10, 1000]), 15_539
    for a, b in (DEFAULT_CURVE, *PUBLISHED_CURVES.values()):
        c = (np.log(n) - 1) * (b + 1) ** a  # equation 2 of the paper, in its other form
        expected = 1 / (1 + c * np.exp(-a * np.log(counts + b)))
        np.testing.assert_allclose(propensities(counts, n, PropensityCurve(a, b)), expected, rtol=1e-13)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.integers(50, 10**6))
def test_propensity_rises_with_frequency(counts, n):
    found = propensities(np.array(counts), n)
    assert ((found > 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(counts)]) >= 0).all()


def test_two_documents_show_nothing_missing():
    assert propensities(np.array([0, 1, 2]), 2).tolist() == [1, 1, 1]


def dense_value(truth, scores, weights, k, *, discounted):
    """The mean over documents of weighted gains, over that of a ranking by the weights of the true tags."""

    def mean(order):
        total = 0.0
        for row in range(len(truth)):
            gain = ideal = 0.0
            for place, label in enumerate(order[row][:k]):
                discount = 1 / np.log2(place + 2) if discounted else 1 / k
                gain += truth[row, label] * weights[label] * discount
                ideal += discount if place < truth[row].sum() else 0.0
            if gain:
                total += gain / ideal if discounted else gain
        return total / len(truth)

    best = mean(ranking(truth * weights, truth.shape[1]))
    return mean(ranking(scores, truth.shape[1])) / best if best else 0.0


@given(truth_and_scores(), st.data())
def test_equal_to_the_definition(problem, data):
    counts, scores = problem
    n_labels = counts.shape[1]
    k = data.draw(st.integers(1, n_labels))
    trained = np.array(data.draw(st.lists(st.integers(0, 40), min_size=n_labels, max_size=n_labels)))
    propensity = propensities(trained, 40)
    hits = propensity_hits(messy_csr(counts), ranking(scores, n_labels), propensity)
    truth = (counts > 0).astype(int)
    for measure, discounted in ((hits.precision, False), (hits.ndcg, True)):
        expected = dense_value(truth, scores, 1 / propensity, k, discounted=discounted)
        assert measure(k).value == pytest.approx(expected, abs=1e-12)
        assert bootstrap_ratio(*measure(k), n_resamples=2).value == measure(k).value


def test_equal_propensities_leave_precision_among_what_can_be_had():
    counts, top = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]), np.array([[0, 2], [3, 2], [0, 1]])
    hits = propensity_hits(counts, top, np.full(4, 0.25))
    assert hits.precision(1).value == 1 / 2
    assert hits.precision(2).value == 2 / 3
    perfect = propensity_hits(counts, np.array([[1, 0], [2, 3], [0, 1]]), propensities(np.array([5, 1, 3, 0]), 9))
    assert perfect.precision(2).value == pytest.approx(1)


def test_rare_tags_weigh_more():
    counts = np.array([[1, 1]])
    propensity = propensities(np.array([90, 1]), 100)
    common, rare = (propensity_hits(counts, np.array([[tag]]), propensity).precision(1).value for tag in (0, 1))
    assert common < rare == 1


def test_padding_counts_missing_suggestions_as_wrong():
    hits = propensity_hits([[1, 1], [0, 1]], np.array([[0, 1], [0, 1]]), np.ones(2))
    padded = hits.padded(4)
    assert padded.precision(4).value == hits.precision(2).value == 1
    truth = mark_hits([[1, 1], [0, 1]], np.array([[0, 1], [0, 1]])).padded(4)
    np.testing.assert_allclose(padded.ndcg(4).part, truth.ndcg(4), atol=1e-15)


def test_no_true_tag_at_all_is_zero():
    hits = propensity_hits(np.zeros((2, 3)), np.array([[0], [1]]), np.ones(3))
    assert hits.precision(1).value == hits.ndcg(1).value == 0


@pytest.mark.parametrize(
    ("counts", "n", "curve", "message"),
    [
        ([1, -1], 5, DEFAULT_CURVE, "tag 1 has -1, expected one count per tag, 0 to 5"),
        ([1, 6], 5, DEFAULT_CURVE, "tag 1 has 6"),
        ([[1, 2]], 5, DEFAULT_CURVE, r"shape \(1, 2\)"),
        ([0], 0, DEFAULT_CURVE, "n_documents is 0"),
        ([1], 5, PropensityCurve(-1, 1), "a = -1, b = 1"),
        ([1], 5, PropensityCurve(1, 0), "a = 1, b = 0"),
        ([1], 5, PropensityCurve(float("nan"), 1), "a = nan"),
    ],
)
def test_bad_counts_are_named(counts, n, curve, message):
    with pytest.raises(ValueError, match=message):
        propensities(np.array(counts), n, curve)


def test_bad_propensities_and_k_are_named():
    top = np.array([[0], [1]])
    for wrong in (np.ones(3), np.array([0.5, 0.0]), np.array([0.5, 1.5]), np.array([0.5, np.nan])):
        with pytest.raises(ValueError, match="for each of 2 tags"):
            propensity_hits(np.eye(2), top, wrong)
    hits = propensity_hits(np.eye(2), top, np.ones(2))
    for measure in (hits.precision, hits.ndcg):
        with pytest.raises(ValueError, match="k is 2, expected 1 to 1"):
            measure(2)
