"""Directions of L-BFGS on a quadratic, whose curvature is known."""

import numpy as np
import pytest

from tagcore.numeric.quasi_newton import uphill_direction

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(6, 6))
CURVATURE = ROOT @ ROOT.T + 0.1 * np.eye(6)
MOVES = RNG.normal(size=(3, 6))
FALLS = MOVES @ CURVATURE


def halved(residual):
    return 0.5 * residual


def test_without_steps_it_is_the_preconditioned_gradient():
    none = np.zeros((0, 6))
    assert np.array_equal(uphill_direction(np.ones(6), none, none, halved), np.full(6, 0.5))


def test_what_the_last_step_met_is_known():
    """the secant condition: the gradient that fell in the last step leads back along it."""
    np.testing.assert_allclose(uphill_direction(FALLS[-1], MOVES, FALLS, halved), MOVES[-1], atol=1e-12)


def test_it_is_the_inverse_that_bfgs_updates_one_by_one():
    move, fall = MOVES[-1], FALLS[-1]
    B = np.eye(6) * (move @ fall) / (fall @ fall)  # whatever the scale of the preconditioner
    for move, fall in zip(MOVES, FALLS, strict=True):
        left = np.eye(6) - np.outer(move, fall) / (move @ fall)
        B = left @ B @ left.T + np.outer(move, move) / (move @ fall)
    gradient = RNG.normal(size=6)
    np.testing.assert_allclose(uphill_direction(gradient, MOVES, FALLS, halved), B @ gradient, atol=1e-10)


@pytest.mark.parametrize("shape", [(6,), (3, 2)])
def test_unknowns_may_have_any_shape(shape):
    gradient = RNG.normal(size=6)
    found = uphill_direction(gradient.reshape(shape), MOVES.reshape(3, *shape), FALLS.reshape(3, *shape), halved)
    np.testing.assert_allclose(found.ravel(), uphill_direction(gradient, MOVES, FALLS, halved), atol=1e-12)
