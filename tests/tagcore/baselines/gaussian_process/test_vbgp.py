"""The variational probit classifier against integrals, its fixed point, and differences."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, logsumexp, roots_hermitenorm
from scipy.stats import multivariate_normal, norm

from tagcore.baselines import VBGP
from tagcore.baselines.gaussian_process.bound import Bound
from tagcore.baselines.gaussian_process.left_out import log_proba_left_out
from tagcore.baselines.gaussian_process.model import covariance_matrix
from tagcore.baselines.gaussian_process.probit import class_probabilities, winning
from tagcore.baselines.gaussian_process.search import Scales, best_scales
from tagcore.synthetic.rings import rings
from tests.tagcore.baselines.gaussian_process.test_laplace import problem

SCALES = Scales(np.array([1.1]), 1.4)


def integral(f, i):
    """P(class i) by adaptive quadrature."""

    def integrand(u):
        return norm.pdf(u) * np.prod([norm.cdf(u + f[i] - f[j]) for j in range(len(f)) if j != i])

    return quad(integrand, -12, 12)[0]


def test_probabilities_of_classes_are_the_integrals():
    f = np.random.default_rng(0).normal(scale=1.5, size=(6, 4))
    for n in range(3):
        for c in range(4):
            assert winning(f[n : n + 1], np.array([c]))[0][0] == pytest.approx(np.log(integral(f[n], c)), abs=1e-6)
    np.testing.assert_allclose(class_probabilities(f, np.zeros(6)).sum(axis=1), 1.0, atol=1e-12)
    means, variances = f[:, :2], np.array([0.0, 0.5, 1.0, 4.0, 9.0, 100.0])
    wanted = norm.cdf((means[:, 0] - means[:, 1]) / np.sqrt(2 * (1 + variances)))
    np.testing.assert_allclose(class_probabilities(means, variances)[:, 0], wanted, atol=1e-9)


def test_slopes_of_a_class_probability_are_its_differences():
    f = np.random.default_rng(1).normal(size=(5, 4))
    y = np.array([0, 1, 2, 3, 1])
    _, slopes = winning(f, y)
    for c in range(4):
        step = 1e-5 * np.eye(4)[c]
        differences = (winning(f + step, y)[0] - winning(f - step, y)[0]) / 2e-5
        np.testing.assert_allclose(slopes[:, c], differences, atol=1e-8)


@pytest.mark.parametrize("gap", [0.0, 5.0, 12.0, 25.0, 36.0, 60.0])
def test_far_away_values_are_those_of_logarithms(gap):
    """49 classes ahead of the true one by the gap, or more: their product is no number, its logarithm is."""
    rng = np.random.default_rng(3)
    f = np.column_stack([np.full(20, -gap), rng.normal(size=(20, 49))])
    nodes, weights = roots_hermitenorm(32)
    ahead = nodes[:, None, None] + f[:, :1] - f[:, 1:]
    log_each = np.log(weights / weights.sum())[:, None] + log_ndtr(ahead).sum(axis=2)
    wanted = logsumexp(log_each, axis=0)
    log_proba, slopes = winning(f, np.zeros(20, int))
    np.testing.assert_allclose(log_proba, wanted, rtol=1e-12)
    steepness = np.exp(norm.logpdf(ahead) - log_ndtr(ahead))
    by_others = -(np.exp(log_each - wanted)[:, :, None] * steepness).sum(axis=0)
    np.testing.assert_allclose(slopes[:, 1:], by_others, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-9 * abs(slopes).max())


def test_far_away_values_stay_finite():
    log_proba, slopes = winning(np.array([[0.0, 500.0], [500.0, 0.0], [-1e4, 1e4]]), np.zeros(3, int))
    assert np.isfinite(log_proba).all()
    assert np.isfinite(slopes).all()
    assert log_proba[1] == pytest.approx(0.0)


def test_the_maximum_is_the_fixed_point_of_the_paper():
    X, y = problem(18)
    K = covariance_matrix("se", SCALES, X)
    weights, _ = Bound("se", X, y, np.zeros((18, 3)), tol=1e-8).maximum(SCALES)
    f = K @ weights
    noisy = f + winning(f, y)[1]
    np.testing.assert_allclose(K @ np.linalg.solve(K + np.eye(18), noisy), f, atol=1e-5)


@pytest.mark.parametrize("ard", [False, True])
def test_slopes_of_the_bound_are_its_differences(ard):
    X, y = problem(18)
    scales = Scales(np.array([1.3, 0.8])[: 1 + ard], 1.7)

    def value(logs):
        return Bound("se", X, y, np.zeros((18, 3)), tol=1e-8).maximum(Scales.of_logs(logs)).height

    _, slopes = Bound("se", X, y, np.zeros((18, 3)), tol=1e-8)(scales)
    for d, step in enumerate(1e-4 * np.eye(scales.logs.size)):
        assert slopes[d] == pytest.approx((value(scales.logs + step) - value(scales.logs - step)) / 2e-4, rel=1e-3)


def test_the_bound_is_what_it_says_of_the_two_distributions():
    """E log p(f, noisy, y) - E log q(f) - E log q(noisy), over draws of q."""
    X, y = problem(2, 2)
    K = covariance_matrix("se", SCALES, X)
    weights, height = Bound("se", X, y, np.zeros((2, 2)), tol=1e-8).maximum(SCALES)
    means = K @ weights
    spread = K @ np.linalg.inv(K + np.eye(2))
    rng = np.random.default_rng(0)
    f = rng.multivariate_normal(np.zeros(2), spread, (50_000, 2)).transpose(0, 2, 1) + means
    noisy = means + rng.normal(size=(400_000, 2, 2))
    noisy = noisy[(np.argmax(noisy, axis=2) == y).all(axis=1)][:50_000]
    elbo = norm.logpdf(noisy - f).sum(axis=(1, 2)) - norm.logpdf(noisy - means).sum(axis=(1, 2))
    elbo += winning(means, y)[0].sum()
    for c in range(2):
        elbo += multivariate_normal(np.zeros(2), K).logpdf(f[:, :, c])
        elbo -= multivariate_normal(means[:, c], spread).logpdf(f[:, :, c])
    assert height == pytest.approx(elbo.mean(), abs=5 * elbo.std() / np.sqrt(50_000))


def test_active_rows_are_those_that_the_model_finds_hard():
    """of two far-away groups and a border, the border is wanted."""
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.normal([-6, 0], 0.3, (40, 2)), rng.normal([6, 0], 0.3, (40, 2)), rng.uniform(-1, 1, (40, 2))]
    )
    y = (X[:, 0] > 0).astype(int)
    fitted = VBGP(active=12, length_scale=2.0, search_steps=0).fit(X, y)
    kept = fitted._kept()[0]
    assert kept.shape == (12, 2)
    assert (abs(kept[:, 0]) < 1).sum() >= 9
    assert fitted.score(X, y) > 0.95


def test_the_full_model_learns_from_all_rows():
    X, y = problem(30)
    fitted = VBGP(active=1.0, search_rows=30).fit(X, y)
    assert fitted.row_starts_.size - 1 == 30
    assert fitted.score(X, y) > 0.8


def test_a_length_scale_for_every_input_finds_the_two_that_matter():
    """the first step of the search once threw it into a corner of the bounds, where nothing is explained."""
    X, y = rings(700, seed=2)
    model = VBGP(active=50, ard=True, search_rows=150).fit(X[:200], y[:200])
    assert model.length_scales_[:2].max() < 3.0 < 10.0 < model.length_scales_[2:].min()
    assert model.score(X[200:], y[200:]) > 0.95


def test_a_left_out_row_is_foretold_by_the_regression_on_the_others():
    X, y = problem(18)
    K = covariance_matrix("se", SCALES, X)
    bound = Bound("se", X, y, np.zeros((18, 3)), tol=1e-8)
    means = K @ bound.maximum(SCALES).weights
    noisy = means + winning(means, y)[1]
    wanted = 0.0
    for n in range(18):
        others = np.flatnonzero(np.arange(18) != n)
        inner = np.linalg.inv(K[np.ix_(others, others)] + np.eye(17))
        mean, variance = K[n, others] @ inner @ noisy[others], K[n, n] - K[n, others] @ inner @ K[others, n]
        wanted += np.log(class_probabilities(mean[None], np.array([variance]))[0, y[n]])
    assert log_proba_left_out(bound, SCALES, 500) == pytest.approx(wanted, abs=1e-4)


def test_scales_are_those_that_foretell_not_those_of_the_highest_bound():
    """many classes side by side: the bound once found length scales that tell hardly any of them apart."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 12)
    X = np.stack([y % 3, y // 3], axis=1) + rng.normal(scale=0.15, size=(108, 2))
    learnt = np.arange(108) % 2 == 0
    bound = Bound("se", X[learnt], y[learnt], np.zeros((54, 9)))
    highest = best_scales(bound, Scales(np.array([0.7]), 3.0), 15, -np.inf)
    model = VBGP(active=1.0).fit(X[learnt], y[learnt])
    found = Scales(model.length_scales_, model.amplitude_)
    assert log_proba_left_out(bound, found) > log_proba_left_out(bound, highest) + 20.0
    assert model.score(X[~learnt], y[~learnt]) > 0.95
