"""The mode against logistic regression and the full Laplace approximation; shards, stores and streams agree."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from tagcore.models.sgps import mode as mode_of
from tagcore.models.sgps.mode import ModeSearch, find_mode, gradient_step, has_converged, shared_gram_step
from tagcore.models.sgps.posterior import Posterior
from tagcore.models.sgps.softmax import probabilities
from tagcore.shards import InProcess
from tagcore.training import Checkpoints, train
from tests.tagcore.models.sgps.problems import evidence_of, features_of, full_laplace, three_classes

A = np.full(3, 2.0)


def mode(X, y, Z, amplitudes=A, tol=1e-11, **settings):
    """(features, U) of a problem."""
    features = features_of(X, y, Z, **settings)
    start = np.zeros((features.basis.size, amplitudes.size))
    return features, find_mode(features, amplitudes, start, tol=tol).arrays["U"]


def latents(features, U, X, amplitudes=A):
    return (features.basis.features(X) @ U) * amplitudes


@pytest.mark.parametrize("covariance", ["se", "nn"])
def test_with_all_rows_as_prototypes_it_is_the_full_laplace_approximation(covariance):
    X, y = three_classes(40)
    X_new = three_classes(7, seed=1)[0]
    features, found = evidence_of(X, y, X, A, "exact", covariance=covariance)
    means, covariances, evidence = full_laplace(X, y, X_new, 3, covariance, 1.3, 2.0)
    posterior = Posterior(features.basis, A, features.basis.unwhiten(found.latents) * A, found.curvature)
    np.testing.assert_allclose(posterior.means(X_new), means, atol=1e-4)
    np.testing.assert_allclose(posterior._covariances(X_new), covariances, atol=1e-4)
    assert found.value == pytest.approx(evidence, abs=1e-3)


def test_the_mode_is_logistic_regression_on_the_features():
    X, y = three_classes(80)
    features, U = mode(X, y, X[:10])
    inputs = features.basis.features(X) * 2.0
    oracle = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(inputs, y)
    np.testing.assert_allclose(probabilities(latents(features, U, X)), oracle.predict_proba(inputs), atol=1e-4)


def test_a_preconditioner_of_some_rows_leads_to_the_same_mode(monkeypatch):
    """where rows stand four times, every fourth tells all."""
    X, y = (np.repeat(rows, 4, axis=0) for rows in three_classes(80))
    features, U = mode(X, y, X[:40:4])
    grams = []
    for every in (1, 4):
        features.shards.update(gradient_step, amplitudes=A)
        grams.append(features.shards.sum(shared_gram_step, every=every)["gram"])
    np.testing.assert_allclose(grams[1], grams[0], rtol=1e-4)
    monkeypatch.setattr(mode_of, "_GRAM_ROWS", 3)
    np.testing.assert_allclose(mode(X, y, X[:40:4])[1], U, atol=1e-8)


def objective(F, U, y):
    return np.log(probabilities(F))[np.arange(y.size), y].sum() - 0.5 * (U**2).sum()


def test_no_step_away_from_the_mode_goes_up():
    X, y = three_classes(50)
    features, U = mode(X, y, X[:8], amplitudes=np.array([1.0, 2.0, 3.0]))
    a = np.array([1.0, 2.0, 3.0])
    best = objective(latents(features, U, X, a), U, y)
    rng = np.random.default_rng(0)
    for _ in range(20):
        V = U + 1e-2 * rng.normal(size=U.shape)
        assert objective(latents(features, V, X, a), V, y) < best


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("n_shards", [1, 10])
@pytest.mark.parametrize("kept", ["store", "stream"])
def test_shards_stores_streams_and_csr_rows_change_the_last_digits_alone(form, n_shards, kept):
    X, y = three_classes(50)
    features, wanted = mode(X, y, X[:8])
    others, found = mode(form(X), y, form(X[:8]), n_shards=n_shards, mode=kept)
    np.testing.assert_allclose(latents(others, found, form(X)), latents(features, wanted, X), atol=1e-8)


def test_rounded_features_have_the_mode_of_what_they_are():
    X, y = three_classes(50)
    features, U = mode(X, y, X[:8], n_shards=3, mode="float32")
    inputs = features.basis.features(X).astype(np.float32).astype(np.float64)
    F = (inputs @ U) * A
    R = np.eye(3)[y] - probabilities(F)
    np.testing.assert_allclose((inputs * 2.0).T @ R, U, atol=1e-10)
    wanted = mode(X, y, X[:8])
    np.testing.assert_allclose(latents(features, U, X), latents(*wanted, X), atol=1e-5)


def test_threads_change_no_bit():
    X, y = three_classes(50)
    one, two = (mode(X, y, X[:8], n_shards=5, executor=InProcess(threads))[1] for threads in (1, 2))
    assert np.array_equal(one, two)


def test_classes_rows_and_prototypes_may_stand_in_any_order():
    X, y = three_classes(50)
    features, U = mode(X, y, X[:8])
    F = latents(features, U, X)
    names = np.array([2, 0, 1])
    other, V = mode(X, names[y], X[:8])
    np.testing.assert_allclose(latents(other, V, X)[:, names], F, atol=1e-9)
    order = np.random.default_rng(0).permutation(50)
    other, V = mode(X[order], y[order], X[:8][::-1])
    np.testing.assert_allclose(latents(other, V, X), F, atol=1e-8)


def test_newton_goes_on_where_it_was_killed(tmp_path):
    X, y = three_classes(50)
    features = features_of(X, y, X[:8], n_shards=2)
    search = ModeSearch(features, A, np.zeros((8, 3)), tol=1e-9)
    whole = train(search, features.shards, max_rounds=50)
    assert len(whole.history) > 4
    checkpoints = Checkpoints(tmp_path, "mode", every_seconds=0.0)
    train(search, features.shards, max_rounds=3, checkpoints=checkpoints)
    again = features_of(X, y, X[:8], n_shards=2)
    resumed = train(
        ModeSearch(again, A, np.zeros((8, 3)), tol=1e-9), again.shards, max_rounds=50, checkpoints=checkpoints
    )
    assert resumed.resumed_from == 3
    assert np.array_equal(resumed.arrays["U"], whole.arrays["U"])


def test_a_mode_is_found_where_it_is_near_or_rounding_lets_no_step_go_up():
    assert has_converged([{"distance": 9.0, "step": 1.0}, {"distance": 0.9e-3, "step": 1.0}], 1e-3)
    assert not has_converged([{"distance": 1.1e-3, "step": 1.0}], 1e-3)
    assert has_converged([{"distance": 1.1e-3, "step": 0.0}], 1e-3)
    assert not has_converged([{"distance": 1.1, "step": 0.0}], 1e-3)
    assert not has_converged([], 1e-3)
