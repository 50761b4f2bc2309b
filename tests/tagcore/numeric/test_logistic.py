"""The logistic curve and its inverse, against scipy's."""

import numpy as np
import pytest
import scipy.special

from tagcore.numeric.logistic import expit, logit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_curve_is_scipys(dtype):
    z = np.concatenate([np.linspace(-700, 700, 20_001), np.linspace(-3, 3, 20_001)]).astype(dtype)
    curve = expit(z)
    assert curve.dtype == dtype
    np.testing.assert_allclose(curve, scipy.special.expit(z), rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)


def test_the_curve_never_falls_and_ends_at_0_and_1_without_a_warning():
    z = np.concatenate(
        [[-np.inf, -1e300], np.sort(np.random.default_rng(0).normal(size=100_000)) * 40, [1e300, np.inf]]
    )
    with np.errstate(all="raise", under="ignore"):
        curve = expit(z)
    assert (np.diff(curve) >= 0).all()
    assert (curve[0], curve[1], curve[-2], curve[-1]) == (0, 0, 1, 1)
    assert np.isnan(expit(np.float64(np.nan)))


def test_the_inverse_is_scipys_and_inverts():
    for p in (*np.geomspace(1e-300, 0.5, 301), *(1 - np.geomspace(1e-15, 0.5, 301))):
        assert logit(p) == pytest.approx(scipy.special.logit(p), rel=1e-13, abs=1e-15)
        assert expit(np.float64(logit(p))) == pytest.approx(p, rel=1e-12)
    with np.errstate(all="raise"):
        assert (logit(0.0), logit(1.0)) == (-np.inf, np.inf)
