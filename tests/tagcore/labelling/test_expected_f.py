"""Sampled expected F against counting by hand with the same draws, and against scikit-learn's F-beta."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from sklearn.metrics import fbeta_score

from tagcore.kernels.random.counter_normals import counter_normal
from tagcore.labelling import expected_f as module
from tagcore.labelling.expected_f import ExpectedF, quantile_thresholds, sampled_biases
from tagcore.labelling.posterior import Posterior
from tagcore.scoring.blocks import LocalScores, unknown_truth
from tests.tagcore.metrics.problems import InParts, blocks_of

FIELDS = ("mean", "variance", "bias_mean", "bias_variance", "bias_of")


def _problem(rng, n, words, classes, dtype=np.float64, tree=False):
    """(X, posterior, scores): some rows without words, some weights without variance."""
    X = rng.poisson(0.4, (n, words)) * rng.normal(1, 0.3, (n, words))
    X[rng.random(n) < 0.2] = 0.0
    mean, variance = rng.normal(0, 0.5, (words, classes)), rng.gamma(0.5, 1.0, (words, classes))
    variance[rng.random(words) < 0.3] = 0.0
    bias_of = rng.integers(0, classes, classes)
    biases = rng.normal(0, 0.5, classes), rng.gamma(1.0, 0.3, classes)
    parents = _tree(rng, classes) if tree else None
    posterior = Posterior(mean.astype(dtype), variance.astype(dtype), *biases, bias_of, parents)
    return sp.csr_matrix(X.astype(dtype)), posterior, X @ mean + rng.normal(0, 0.5, (n, classes))


def _tree(rng, classes):
    """Random trees; a parent may have a higher number than its children."""
    parents = np.array([rng.integers(-1, c) for c in range(classes)])
    names, renamed = rng.permutation(classes), np.full(classes, -1)
    renamed[names] = np.where(parents >= 0, names[parents], -1)
    return renamed


def expected_f(X, posterior, score_blocks, **how):
    """Of all rows as one part."""
    whole = LocalScores(score_blocks, unknown_truth(X.shape[0], posterior.mean.shape[1]), X)
    return module.expected_f(whole, lambda part: (part.X, posterior), **how)


def _sampled_by_hand(X, posterior, samples, seed):
    """(S, n, C): whether each sample gives a row the class, one number at a time."""
    n, (words, classes) = X.shape[0], posterior.mean.shape
    given_to = np.zeros((samples, n, classes), bool)
    for s, i, c in itertools.product(range(samples), range(n), range(classes)):
        total = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            d = X.indices[p]
            deviation = np.sqrt(np.float64(posterior.variance[d, c]))
            w = np.float64(posterior.mean[d, c]) + deviation * counter_normal(seed, s, d, c)
            total += np.float64(X.data[p]) * w
        j = posterior.bias_of[c]
        b = posterior.bias_mean[j] + np.sqrt(posterior.bias_variance[j]) * counter_normal(seed, s, words, j)
        given_to[s, i, c] = total - b > 0
    if posterior.parents is not None:
        flat = given_to.copy()
        for c in range(classes):
            ancestor = posterior.parents[c]
            while ancestor >= 0:
                given_to[:, :, c] &= flat[:, :, ancestor]
                ancestor = posterior.parents[ancestor]
    return given_to


def _by_hand(X, posterior, scores, samples, thresholds, seed=0):
    """ExpectedF as its definition says."""
    above = scores[:, :, None] > thresholds  # (n, C, G)
    given_to = _sampled_by_hand(X, posterior, samples, seed)
    both = np.einsum("snc,ncg->csg", given_to.astype(int), above.astype(int))
    return ExpectedF(thresholds, both, given_to.sum(axis=1).T, above.sum(axis=0))


def _assert_same(found, expected):
    for field in ("thresholds", "both", "sampled", "labelled"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), field)


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.sampled_from([1, 2, 5, 33, 70]),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
)
def test_streaming_and_stored_are_counting_by_hand(seed, n, classes, samples, count, dtype, tree):
    rng = np.random.default_rng(seed)
    X, posterior, scores = _problem(rng, n, 6, classes, dtype, tree)
    blocks = blocks_of(scores, 5)
    how = {"samples": samples, "thresholds": count, "seed": seed}
    stored = expected_f(X, posterior, blocks, **how)
    _assert_same(stored, _by_hand(X, posterior, scores, samples, stored.thresholds, seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_STORED_BYTES", -1)
        _assert_same(expected_f(X, posterior, blocks, **how), stored)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 60), max_size=3), st.integers(1, 20))
def test_parts_of_the_rows_add_up(seed, cuts, step):
    X, posterior, scores = _problem(np.random.default_rng(seed), 60, 15, 7)
    rates = np.full(7, 0.2)
    for grid in ("uniform", "quantile"):
        how = {"seed": seed, "grid": grid, "rates": rates}
        whole = expected_f(X, posterior, blocks_of(scores, 60), **how)
        _assert_same(module.expected_f(InParts(scores, cuts, step, X), lambda part: (part.X, posterior), **how), whole)
    edges = [0, *sorted(cuts), 60]
    parts = [
        expected_f(X[a:b], posterior, blocks_of(scores[a:b], step), seed=seed, thresholds=np.asarray(whole.thresholds))
        for a, b in itertools.pairwise(edges)
    ]
    _assert_same(sum(parts[1:], parts[0]), whole)
    _assert_same(sum(parts[-2::-1], parts[-1]), whole)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_expected_is_the_mean_of_scikit_learns_f(beta):
    X, posterior, scores = _problem(np.random.default_rng(3), 80, 10, 4)
    sampled = expected_f(X, posterior, blocks_of(scores, 33), samples=3, thresholds=7)
    given_to = _sampled_by_hand(X, posterior, 3, 0)
    expected = np.empty((4, 7))
    for c, g in itertools.product(range(4), range(7)):
        labels = ndtr(scores[:, c]) > (g + 1) / 8  # θ_g = g/(G + 1), on the scale of probabilities
        each = [fbeta_score(given_to[s, :, c], labels, beta=beta, zero_division=0) for s in range(3)]
        expected[c, g] = np.mean(each)
    np.testing.assert_allclose(sampled.expected(beta), expected, rtol=1e-12)
    best = sampled.best(beta)
    np.testing.assert_array_equal(best, sampled.thresholds[range(4), expected.argmax(axis=1)])
    chosen = sampled.labelled[range(4), expected.argmax(axis=1)]
    np.testing.assert_array_equal(np.count_nonzero(scores > best, axis=0), chosen)


def test_beta_one_is_f1_and_the_default():
    both, sampled, labelled = np.array([[[3, 1]]]), np.array([[5]]), np.array([[7, 2]])
    found = ExpectedF(np.array([[-1.0, 1.0]]), both, sampled, labelled)
    np.testing.assert_allclose(found.expected(), [[6 / 12, 2 / 7]])
    assert np.array_equal(found.expected(1.0), found.expected())
    np.testing.assert_allclose(found.expected(0.0), [[3 / 7, 1 / 2]])  # precision


def test_nothing_over_nothing_is_nothing_and_the_first_maximum_is_taken():
    zeros = np.zeros((1, 2, 3), int)
    sampled = ExpectedF(np.array([[0.0, 1.0, 2.0]]), zeros, zeros[:, :, 0], zeros[:, 0])
    assert sampled.expected().tolist() == [[0, 0, 0]]
    assert sampled.best().tolist() == [0.0]
    tied = ExpectedF(sampled.thresholds, np.array([[[1, 2, 2]]]), np.array([[2]]), np.array([[2, 2, 2]]))
    assert tied.best().tolist() == [1.0]


def test_without_variance_every_sample_is_the_mean():
    rng = np.random.default_rng(0)
    X, posterior, scores = _problem(rng, 50, 8, 5)
    certain = Posterior(
        posterior.mean,
        np.zeros_like(posterior.variance),
        posterior.bias_mean,
        np.zeros_like(posterior.bias_mean),
        posterior.bias_of,
    )
    sampled = expected_f(X, certain, blocks_of(scores, 50), samples=4)
    expected = (X @ posterior.mean - posterior.bias_mean[posterior.bias_of] > 0).sum(axis=0)
    np.testing.assert_array_equal(sampled.sampled, np.tile(expected[:, None], 4))


@pytest.mark.parametrize("room", [2**28, -1], ids=["stored", "streaming"])
def test_rows_without_words_have_the_sign_of_the_bias(room, monkeypatch):
    monkeypatch.setattr(module, "_STORED_BYTES", room)
    posterior = Posterior(np.ones((3, 2)), np.ones((3, 2)), np.array([-100.0, 100.0]), np.ones(2), np.array([0, 1]))
    sampled = expected_f(sp.csr_matrix((4, 3)), posterior, blocks_of(np.zeros((4, 2)), 4), thresholds=3)
    assert sampled.sampled.tolist() == [[4] * 5, [0] * 5]
    assert sampled.labelled.tolist() == [[4, 0, 0]] * 2  # z = 0 is above θ = 1/4, not above 1/2


def test_no_rows():
    _, posterior, _ = _problem(np.random.default_rng(0), 3, 4, 2)
    sampled = expected_f(sp.csr_matrix((0, 4)), posterior, list)
    assert sampled.both.shape == (2, 5, 20)
    assert not sampled.labelled.any()


def test_a_shared_bias_moves_all_its_classes_together():
    posterior = Posterior(np.zeros((2, 90)), np.zeros((2, 90)), np.zeros(2), np.ones(2), np.arange(90) % 2)
    biases = sampled_biases(posterior, 6, 1)
    assert biases.shape == (6, 90)
    assert np.unique(biases).size == 12
    np.testing.assert_array_equal(biases[:, 2:], biases[:, :-2])
    assert biases[3, 1] == counter_normal(1, 3, 2, 1)


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_the_quantile_grid_labels_from_eight_times_to_an_eighth_of_the_rate(seed, count):
    rng = np.random.default_rng(seed)
    scores = rng.permutation(np.arange(600.0)).reshape(200, 3)
    rates = np.array([0.0, 0.04, 0.6])
    limits = quantile_thresholds(blocks_of(scores, 23), rates, 200, count)
    labelled = (scores[:, :, None] > limits).sum(axis=0)
    assert labelled[0].tolist() == [0] * count
    assert labelled[1].tolist() == np.rint(np.geomspace(64, 1, count)).tolist()
    assert labelled[2, 0] == 200
    assert labelled[2, -1] == 15


def test_quantile_thresholds_reach_expected_f():
    X, posterior, scores = _problem(np.random.default_rng(5), 60, 8, 3)
    rates = np.array([0.1, 0.2, 0.5])
    blocks = blocks_of(scores, 25)
    sampled = expected_f(X, posterior, blocks, samples=2, thresholds=6, grid="quantile", rates=rates)
    limits = quantile_thresholds(blocks, rates, 60, 6)
    _assert_same(sampled, _by_hand(X, posterior, scores, 2, limits))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"samples": 0}, "samples must be at least 1, got 0"),
        ({"thresholds": 0}, "thresholds must be at least 1, got 0"),
        ({"thresholds": np.array([[1.0, 0.0]] * 2)}, "2 rows of ascending numbers"),
        ({"thresholds": np.array([[np.nan], [0.0]])}, "2 rows of ascending numbers"),
        ({"thresholds": np.zeros((3, 4))}, "2 rows of ascending numbers, got shape"),
        ({"grid": "log"}, 'grid must be "uniform" or "quantile", got \'log\''),
        ({"grid": "quantile"}, "needs the training rates of 2 classes, got None"),
        ({"grid": "quantile", "rates": np.full(3, 0.5)}, "training rates of 2 classes"),
        ({"grid": "quantile", "rates": np.full(2, 0.5), "thresholds": 1}, "at least 2 thresholds, got 1"),
        ({"X": sp.csr_matrix((5, 3))}, "X has 3 words, the posterior 4"),
        ({"X": sp.csr_matrix((6, 4))}, "scores of 5 rows, expected 6"),
        ({"X": sp.csr_matrix([[0.0] * 4] * 3 + [[0, np.nan, 0, 0], [0] * 4])}, "row 3 of X holds a value that is not"),
    ],
)
def test_what_does_not_fit_is_named(asked, message):
    X, posterior, scores = _problem(np.random.default_rng(0), 5, 4, 2)
    given = {"X": X, "posterior": posterior, "score_blocks": blocks_of(scores, 3), **asked}
    with pytest.raises(ValueError, match=message):
        expected_f(**given)


def test_counts_of_other_thresholds_are_not_added():
    X, posterior, scores = _problem(np.random.default_rng(0), 5, 4, 2)
    sampled = expected_f(X, posterior, blocks_of(scores, 5), thresholds=3)
    for other in ({"thresholds": 4}, {"thresholds": 3, "samples": 2}):
        with pytest.raises(ValueError, match="cannot be added"):
            sampled + expected_f(X, posterior, blocks_of(scores, 5), **other)
    with pytest.raises(ValueError, match=r"beta must be a number of at least 0, got -1"):
        sampled.expected(-1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variance": np.full((4, 2), -1.0)}, "weights must have finite means and variances of at least 0"),
        ({"mean": np.full((4, 2), np.nan)}, "weights must have finite means"),
        ({"mean": np.zeros((4, 2), int)}, "weights must be float32 or float64, got int64"),
        ({"variance": np.ones((4, 3))}, r"means of shape \(4, 2\) and variances of shape \(4, 3\) do not fit"),
        ({"bias_variance": np.array([np.inf])}, "biases must have finite means"),
        ({"bias_of": np.array([0, 1])}, "bias_of must be 2 integers from 0 to 0"),
        ({"parents": np.array([-1, 2])}, "parents must be 2 integers from -1 to 1"),
        ({"parents": np.array([1, 0])}, "class 0 is its own ancestor"),
    ],
)
def test_a_posterior_that_does_not_fit_together_is_named(change, message):
    right = (np.zeros((4, 2)), np.ones((4, 2)), np.zeros(1), np.ones(1), np.zeros(2, int))
    with pytest.raises(ValueError, match=message):
        Posterior(**(dict(zip(FIELDS, right, strict=True)) | change))
