"""Losses: slopes and curvatures against differences, values against their formulas, and none that overflows."""

import numpy as np
import pytest

from tagcore.numeric.losses import LOSSES

EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES)
EVERY_TYPE = pytest.mark.parametrize("dtype", [np.float32, np.float64])
FORMULAS = {
    "squared": lambda z, s: 0.5 * (z - (s + 1) / 2) ** 2,
    "logistic": lambda z, s: np.logaddexp(0.0, -s * z),
    "squared_hinge": lambda z, s: np.maximum(0.0, 1.0 - s * z) ** 2,
}


def cells(dtype):
    """Scores away from the corners of the hinge at ±1, each with both truths."""
    z = np.array([-7.3, -2.0, -0.9, -0.3, 0.0, 0.4, 0.8, 1.7, 6.1], dtype)
    return np.tile(z, 2), np.repeat(np.array([0, 1], dtype), z.size)


@EVERY_LOSS
@EVERY_TYPE
def test_values_are_those_of_the_formula(loss, dtype):
    z, y = cells(dtype)
    values = LOSSES[loss].value(z, y)
    assert values.dtype == dtype
    np.testing.assert_allclose(values, FORMULAS[loss](z.astype(float), 2.0 * y - 1), rtol=20 * np.finfo(dtype).eps)


@EVERY_LOSS
def test_slopes_and_curvatures_are_differences(loss):
    z, y = cells(np.float64)
    h = 1e-5
    for derivative, antiderivative in (("slope", "value"), ("curvature", "slope")):
        exact, below = getattr(LOSSES[loss], derivative)(z, y), getattr(LOSSES[loss], antiderivative)
        np.testing.assert_allclose(exact, (below(z + h, y) - below(z - h, y)) / (2 * h), atol=1e-8)


@EVERY_LOSS
@pytest.mark.parametrize("method", ["slope", "curvature"])
def test_float32_agrees_with_float64(loss, method):
    z, y = cells(np.float32)
    single = getattr(LOSSES[loss], method)(z, y)
    assert single.dtype == np.float32
    double = getattr(LOSSES[loss], method)(z.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-7)


@EVERY_TYPE
def test_the_logistic_loss_of_huge_scores_is_finite_and_right(dtype):
    z, y = np.array([-1e4, -1e4, 1e4, 1e4], dtype), np.array([0, 1, 0, 1], dtype)
    loss = LOSSES["logistic"]
    assert np.array_equal(loss.value(z, y), np.array([0, 1e4, 1e4, 0], dtype))
    assert np.array_equal(loss.slope(z, y), np.array([0, -1, 1, 0], dtype))
    assert not loss.curvature(z, y).any()


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_truth_may_be_boolean(loss):
    z, y = cells(np.float64)
    for name in ("value", "slope", "curvature"):
        method = getattr(LOSSES[loss], name)
        assert np.array_equal(method(z, y > 0), method(z, y))
