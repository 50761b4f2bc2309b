"""BCS against dense variational inference with the full covariance, and against ridge regression."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as Peer
from sklearn.preprocessing import normalize

from tagcore.baselines import BCS
from tagcore.baselines.low_rank.kernels.bcs import infer_tags
from tagcore.metrics.auc import roc_auc
from tagcore.shards import InProcess
from tests.problems import TOPICS, noisy, obvious, official_split, problems


def _posterior(z, projection, noise, rounds, known):
    """E[y] of one document: Σ = (diag(E[a]) + Φᵀ·Φ/noise)⁻¹, μ = Σ·Φᵀ·z/noise, over the tags that are not known."""
    free = np.array([j for j in range(projection.shape[1]) if j not in known], int)
    unexplained = z - sum((value * projection[:, j] for j, value in known.items()), np.zeros_like(z))
    phi, precisions = projection[:, free], np.ones(free.size)
    for _ in range(rounds):
        covariance = np.linalg.inv(np.diag(precisions) + phi.T @ phi / noise)
        mean = covariance @ phi.T @ unexplained / noise
        precisions = (1e-6 + 0.5) / (1e-6 + 0.5 * (mean**2 + np.diag(covariance)))
    out = np.zeros(projection.shape[1])
    out[free] = mean
    out[list(known)] = list(known.values())
    return out


def _inferred(guesses, projection, noise, rounds, ids=(), starts=None, truth=()):
    starts = np.zeros(len(guesses) + 1, np.int32) if starts is None else np.array(starts, np.int32)
    means = np.empty((len(guesses), projection.shape[1]), np.float32)
    observed = np.array(ids, np.int32), starts, np.array(truth, np.float32)
    infer_tags(guesses.astype(np.float32), projection.astype(np.float32), noise, rounds, *observed, means)
    return means


@pytest.mark.parametrize("rounds", [1, 2, 6])
@pytest.mark.parametrize(("small", "tags"), [(1, 1), (3, 8), (8, 8), (12, 30)])
def test_inference_equals_the_dense_one(rounds, small, tags):
    rng = np.random.default_rng(small)
    guesses, projection = rng.normal(size=(5, small)), rng.normal(size=(small, tags)) / np.sqrt(small)
    wanted = [_posterior(z, projection, 0.2, rounds, {}) for z in guesses]
    np.testing.assert_allclose(_inferred(guesses, projection, 0.2, rounds), wanted, atol=1e-4)


def test_known_tags_are_taken_as_they_are():
    rng = np.random.default_rng(1)
    guesses, projection = rng.normal(size=(3, 4)), rng.normal(size=(4, 6))
    known = [{0: 1.0, 4: 0.0}, {}, {j: float(j == 2) for j in range(6)}]
    wanted = [_posterior(z, projection, 0.3, 4, k) for z, k in zip(guesses, known[:2], strict=False)]
    wanted.append(np.eye(6)[2])
    ids = [j for k in known for j in k]
    truth = [v for k in known for v in k.values()]
    means = _inferred(guesses, projection, 0.3, 4, ids, [0, 2, 2, 8], truth)
    np.testing.assert_allclose(means, wanted, atol=1e-4)


def test_rounds_make_tags_sparse():
    rng = np.random.default_rng(5)
    projection = rng.normal(size=(20, 60)) / np.sqrt(20)
    truth = np.zeros(60)
    truth[[3, 17, 40]] = 1.0
    first, late = (_inferred((projection @ truth)[None], projection, 0.001, rounds)[0] for rounds in (1, 40))
    assert np.abs(late - truth).max() < 0.1 < np.abs(first - truth).max()


def test_the_regression_is_ridge_on_projected_tags():
    X, Y = noisy(n=1500)
    model = BCS(5, alpha=2.0).fit(X, Y)
    rows = normalize(X).toarray()
    peer = Peer(alpha=2.0).fit(rows, (Y.toarray() > 0) @ model.tag_factors_.astype(float))
    np.testing.assert_allclose(model.word_factors_, peer.coef_.T, atol=2e-4)
    np.testing.assert_allclose(model.centre_, peer.intercept_, atol=2e-4)
    wanted = [
        _posterior(z, model.tag_factors_.T.astype(float), model.noise, model.rounds, {}) for z in peer.predict(rows)
    ]
    np.testing.assert_allclose(next(model.score_blocks(X))[1], wanted, atol=2e-3)


def test_unobserved_cells_are_inferred():
    X, Y = obvious(n=600)
    rows = np.arange(600)
    mask = sp.csr_matrix((np.random.default_rng(0).random(Y.shape) < 0.4).astype(float))
    seen = BCS(max_iter=20).fit(X, Y, observed=mask).predict_proba(X)
    blind = BCS().fit(X, Y.multiply(mask)).predict_proba(X)
    assert (seen.argmax(axis=1) == rows % TOPICS).all()
    assert seen[rows, rows % TOPICS].mean() > blind[rows, rows % TOPICS].mean() + 0.1


def test_every_cell_observed_is_the_plain_model():
    X, Y = noisy()
    plain, masked = BCS(6).fit(X, Y), BCS(6).fit(X, Y, observed=np.ones(Y.shape))
    np.testing.assert_allclose(masked.word_factors_, plain.word_factors_, atol=1e-5)


def test_threads_change_no_bit_with_a_mask():
    X, Y = noisy(n=2500)
    mask = np.random.default_rng(0).random(Y.shape) < 0.5
    one, two = (BCS(4, max_iter=2).fit(X, Y, observed=mask, executor=InProcess(t)) for t in (1, 2))
    for name in BCS._arrays:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@settings(max_examples=30)
@given(problem=problems(), rank=st.sampled_from([1, 0.5, 1.0]), masked=st.booleans())
def test_odd_matrices_give_finite_scores(problem, rank, masked):
    X, Y = problem
    model = BCS(rank, noise=1e-3, rounds=8).fit(X, Y, observed=np.eye(*Y.shape) if masked else None)
    assert np.isfinite(next(model.score_blocks(X))[1]).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, "alpha must be positive, got 0"),
        ({"noise": np.nan}, "noise must be positive, got nan"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"rank": "all"}, "rank must be .*, got 'all'"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        BCS(**params).fit(*noisy())


@pytest.mark.data
def test_bibtex_beats_the_figure_of_the_paper(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    model = BCS(0.4).fit(X, Y)
    assert roc_auc(Y_test, lambda: model.score_blocks(X_test)).row >= 0.86
