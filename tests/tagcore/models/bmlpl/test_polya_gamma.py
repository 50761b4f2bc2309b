"""Pólya-Gamma draws against their Laplace transform, their moments, a distribution function and the gamma series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import stats

from tagcore.kernels.random.streams import open_stream
from tagcore.models.bmlpl.kernels.polya_gamma import pg_mean, pg_variance, polya_gamma

SHAPES = [0.01, 0.3, 1.0, 1.7, 3.0, 8.5, 60.0, 171.0]
TILTS = [0.0, 1e-4, 0.5, -3.0, 30.0, -700.0]


@njit
def many(b, c, n, seed):
    state, out = np.empty(1, np.uint64), np.empty(n)
    for i in range(n):
        open_stream(seed, i, state)
        out[i] = polya_gamma(b, c, state)
    return out


def draws(b, c, n=None, seed=5):
    n = n or (20_000 if b > 10 else 100_000)
    return many(float(b), float(c), n, np.uint64(seed))


def log_cosh(z):
    return z + np.log1p(np.exp(-2 * z)) - np.log(2)


def transform(b, c, s):
    """E exp(-s omega) = (cosh(c/2) / cosh(sqrt(c²/4 + s/2)))^b."""
    return np.exp(b * (log_cosh(abs(c) / 2) - log_cosh(np.sqrt(c * c / 4 + s / 2))))


@pytest.mark.parametrize("c", TILTS)
@pytest.mark.parametrize("b", SHAPES)
def test_laplace_transform(b, c):
    omega = draws(b, c)
    for s in np.array([0.1, 1.0, 10.0]) / pg_mean(b, abs(c)):
        values = np.exp(-s * omega)
        error = values.mean() - transform(b, c, s)
        assert abs(error) < 4 * values.std() / np.sqrt(omega.size) + 1e-9


@pytest.mark.parametrize("c", TILTS)
@pytest.mark.parametrize("b", SHAPES)
def test_mean_and_variance(b, c):
    omega, mean, variance = draws(b, c), pg_mean(b, abs(c)), pg_variance(b, abs(c))
    assert abs(omega.mean() - mean) < 4 * np.sqrt(variance / omega.size)
    square = (omega - mean) ** 2
    assert abs(square.mean() - variance) < 4 * square.std() / np.sqrt(omega.size)


@pytest.mark.parametrize("c", [1e-6, 1e-4, 0.0999999, 0.1, 0.5, 3.0, 30.0, 700.0])
def test_moments_are_derivatives_of_the_transform(c):
    """Cumulants of PG(1, c) by its series: the weights of its gammas, with the far tail as an integral."""
    j = np.arange(1, 200_001) - 0.5
    weights = 0.5 / (np.pi**2 * j**2 + c * c / 4)
    tail = np.arctan2(c / (2 * np.pi), 200_000) / (np.pi * c)
    assert pg_mean(1.0, c) == pytest.approx(weights.sum() + tail, rel=1e-9)
    assert pg_variance(1.0, c) == pytest.approx((weights**2).sum(), rel=1e-9)


def test_moments_at_the_limits():
    assert pg_mean(3.0, 0.0) == 3 / 4
    assert pg_variance(3.0, 0.0) == pytest.approx(3 / 24, rel=1e-15)
    assert pg_mean(1.0, 700.0) == pytest.approx(1 / 1400, rel=1e-12)
    assert pg_variance(1.0, 700.0) == pytest.approx(1 / (2 * 700.0**3), rel=1e-12)


def test_distribution_of_pg_1_0():
    """4 PG(1, 0) is the time at which Brownian motion leaves [-1, 1]: its tail is a series of exponentials."""
    odd = 2 * np.arange(200) + 1

    def distribution(x):
        terms = (-1.0) ** np.arange(200) / odd * np.exp(-(odd**2) * np.pi**2 * np.asarray(x)[:, None] / 2)
        return 1 - 4 / np.pi * terms.sum(1)

    assert stats.kstest(draws(1, 0), distribution).pvalue > 0.01


@pytest.mark.parametrize(("b", "c"), [(0.2, 0.0), (0.7, 2.0), (2.6, 0.3), (5.0, 12.0), (20.0, 1.0)])
def test_same_law_as_the_gamma_series(b, c):
    j = np.arange(1, 301) - 0.5
    weights = 0.5 / (np.pi**2 * j**2 + c * c / 4)
    gammas = np.random.default_rng(3).gamma(b, size=(8_000, 300))
    series = gammas @ weights + b * (pg_mean(1.0, c) - weights.sum())
    if b < 1:  # near 0 the constant in place of the far tail shows; what is above does not know of it
        floor = 20 * b * (pg_mean(1.0, c) - weights.sum())
        series, drawn = (np.maximum(x, floor) for x in (series, draws(b, c, 8_000)))
    else:
        drawn = draws(b, c, 8_000)
    assert stats.ks_2samp(series, drawn).pvalue > 0.01


def test_a_wrong_tilt_is_noticed():
    omega = draws(1.0, 0.8)
    values = np.exp(-4 * omega)
    assert abs(values.mean() - transform(1.0, 0.5, 4.0)) > 4 * values.std() / np.sqrt(omega.size)


@given(st.floats(1e-6, 1e4), st.floats(-1e4, 1e4))
def test_draws_are_positive_and_repeat(b, c):
    first = draws(b, c, 20)
    assert np.isfinite(first).all()
    assert (first > 0).all()
    np.testing.assert_array_equal(first, draws(b, c, 20))
