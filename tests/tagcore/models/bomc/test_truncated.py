"""Moments of truncated Gaussians against scipy's scaled error function and against quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import erfcx
from scipy.special import log_ndtr as scipy_log_ndtr
from scipy.stats import norm

from tagcore.models.bomc.kernel import _look_up
from tagcore.models.bomc.truncated import gain, log_ndtr, make_table, noisy_moments, shrinkage

T = np.concatenate([np.linspace(-200, 9, 4000), [-30.0, -29.999, -12.0, -12.001, 0.0, 8.999, 9.0]])


def exact_gain(t):
    return np.sqrt(2 / np.pi) / erfcx(-t / np.sqrt(2))


def test_gain_and_shrinkage_equal_the_scaled_error_function():
    V, W = np.array([(gain(t), shrinkage(t)) for t in T]).T
    wanted = exact_gain(T)
    np.testing.assert_allclose(V, wanted, rtol=1e-11, atol=1e-300)
    assert (W >= 0).all()
    assert (W <= 1).all()
    middle = T > -30  # below, V (V + t) itself has lost its digits
    np.testing.assert_allclose(W[middle], (wanted * (wanted + T))[middle], rtol=1e-8, atol=1e-16)


def test_far_tail_follows_the_asymptotic_series():
    for t in (-1e3, -1e8):
        assert gain(t) == pytest.approx(-t, rel=1e-5)
        assert 0 < shrinkage(t) <= 1
    assert 1 - shrinkage(-100.0) == pytest.approx(1e-4 * (1 - 6e-4), rel=1e-6)
    assert gain(9.5) == shrinkage(9.5) == 0.0


def test_the_table_is_as_good():
    V, W = np.empty(T.size), np.empty(T.size)
    _look_up(T, make_table(), V, W)
    np.testing.assert_allclose(V, exact_gain(T), rtol=2e-8, atol=2e-9)
    np.testing.assert_allclose(W, [shrinkage(t) for t in T], rtol=0, atol=1e-7)
    above = np.array([9.5, 40.0, 1e300])
    V, W = np.empty(3), np.empty(3)
    _look_up(above, make_table(), V, W)
    assert not V.any()
    assert not W.any()


def test_log_ndtr_equals_scipy():
    t = np.concatenate([np.linspace(-300, 30, 2000), [-1e6]])
    np.testing.assert_allclose([log_ndtr(x) for x in t], scipy_log_ndtr(t), rtol=1e-9, atol=1e-300)


def moments_by_quadrature(mean, sd, cut, flip):
    edges = [mean - 12 * sd, *sorted({-cut, cut}), mean + 12 * sd]

    def integral(power):
        def weigh(d):
            return d**power * norm.pdf(d, mean, sd) * ((1 - flip) * (d > cut) + flip * (d < -cut))

        return sum(quad(weigh, a, b, epsabs=1e-13, limit=200)[0] for a, b in pairwise(edges) if a < b)

    norm_, first, second = (integral(p) for p in range(3))
    return first / norm_, second / norm_ - (first / norm_) ** 2


@pytest.mark.parametrize("flip", [0.0, 0.01, 0.2, 0.49])
@pytest.mark.parametrize(("mean", "sd", "cut"), [(0.3, 1.0, 1.0), (-2.0, 0.7, 1.0), (4.0, 1.5, 0.5), (0.0, 3.0, 2.0)])
def test_noisy_moments_equal_quadrature(mean, sd, cut, flip):
    V, W = noisy_moments(mean, sd, cut, flip)
    expected, variance = moments_by_quadrature(mean, sd, cut, flip)
    assert mean + sd * V == pytest.approx(expected, abs=1e-8)
    assert sd**2 * (1 - W) == pytest.approx(variance, abs=1e-7)


@given(st.floats(-50, 50), st.floats(1e-6, 100), st.floats(0, 10), st.floats(1e-9, 0.499))
@example(0.015625, 0.01, 5.9375, 0.25)  # both tails are far: the sum of their moments once lost all digits
@example(0.03125, 0.01, 5.5, 0.25)
@example(50.0, 0.01, 10.0, 1e-9)
def test_noisy_moments_are_finite_and_leave_a_variance(mean, sd, cut, flip):
    V, W = noisy_moments(mean, sd, cut, flip)
    assert np.isfinite(V)
    assert np.isfinite(W)
    assert W <= 1


def test_two_far_tails_are_a_mixture_of_what_each_would_leave():
    mean, sd, cut, flip = 0.015625, 0.01, 5.9375, 0.25
    t1, t2 = (mean - cut) / sd, (-mean - cut) / sd
    odds = np.exp(np.log(flip / (1 - flip)) + scipy_log_ndtr(t2) - scipy_log_ndtr(t1))
    p, q = 1 / (1 + odds), odds / (1 + odds)
    V, W = noisy_moments(mean, sd, cut, flip)
    assert pytest.approx(p * -t1 - q * -t2, rel=1e-5) == V
    assert pytest.approx(p / t1**2 + q / t2**2 + p * q * (t1 + t2) ** 2, rel=1e-4) == 1 - W


@pytest.mark.parametrize("sd", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("share", [-1.5, -0.2, 0.0, 0.7])
def test_how_far_the_tails_are_does_not_blur_which_is_likelier(sd, share):
    """the logarithms of both tails are up to 1e14 here, their difference is below 4."""
    cut, flip = 5.9375, 0.25
    mean = share * sd**2 / cut
    t1, t2 = (mean - cut) / sd, (-mean - cut) / sd
    ratio = erfcx(-t2 / np.sqrt(2)) / erfcx(-t1 / np.sqrt(2)) * np.exp(-2 * share)  # Phi(t2) / Phi(t1)
    q = flip * ratio / (1 - flip + flip * ratio)
    V, _ = noisy_moments(mean, sd, cut, flip)
    assert V / -t1 == pytest.approx((1 - q) * exact_gain(t1) / -t1 - q * exact_gain(t2) / -t1, abs=1e-9)


def test_a_flip_that_is_nearly_impossible_changes_nothing():
    t = (0.5 - 1.0) / 1.2
    np.testing.assert_allclose(noisy_moments(0.5, 1.2, 1.0, 1e-15), (gain(t), shrinkage(t)), rtol=1e-12)
