"""Conjugate gradients against direct solutions, and the two rules by which they end."""

import numpy as np
import pytest

from tagcore.numeric.conjugate_gradients import (
    conjugate_gradients,
    inner_products,
    residuals_fall_to,
    residuals_were_below,
)


def systems(axis, count=3, size=6):
    """(product, right-hand sides, diagonals, solutions) of a few systems in columns, or in rows; the second is zero."""
    rng = np.random.default_rng(axis)
    roots = rng.normal(size=(count, size, size + 2))
    left = np.einsum("sij,skj->sik", roots, roots) + np.eye(size)
    right = rng.normal(size=(size, count))
    right[:, 1] = 0.0
    solutions = np.stack([np.linalg.solve(left[s], right[:, s]) for s in range(count)], axis=1)
    diagonals = np.stack([np.diag(left[s]) for s in range(count)], axis=1)
    turn = np.transpose if axis == 1 else np.asarray

    def product(direction):
        return turn(np.einsum("sij,js->is", left, turn(direction)))

    return product, turn(right), turn(diagonals), turn(solutions)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_all_systems_are_solved(axis):
    product, right, diagonal, expected = systems(axis)
    right_before = right.copy()
    solution, steps = conjugate_gradients(product, right, diagonal, 50, inner_products(axis), residuals_fall_to(1e-12))
    np.testing.assert_allclose(solution, expected, atol=1e-9)
    assert steps <= (18 if axis is None else 6) + 2  # as many as there are unknowns, but for rounding
    assert np.array_equal(right, right_before)


def test_a_system_of_its_own_does_not_depend_on_its_neighbours():
    product, right, diagonal, _ = systems(0)
    whole, _ = conjugate_gradients(product, right, diagonal, 3, inner_products(0), residuals_were_below(0.0))
    mixed, _ = conjugate_gradients(product, right, diagonal, 3, inner_products(None), residuals_were_below(0.0))
    other = right.copy()
    other[:, 2] *= 5.0
    again, _ = conjugate_gradients(product, other, diagonal, 3, inner_products(0), residuals_were_below(0.0))
    assert np.array_equal(again[:, 0], whole[:, 0])
    assert not np.array_equal(mixed[:, 0], whole[:, 0])


def test_every_step_lowers_the_energy_of_every_system():
    product, right, diagonal, expected = systems(0)
    energies = []
    for steps in range(7):
        solution, taken = conjugate_gradients(
            product, right, diagonal, steps, inner_products(0), residuals_were_below(0.0)
        )
        assert taken == steps
        error = solution - expected
        energies.append(np.sum(error * product(error), axis=0))
    assert (np.diff(energies, axis=0)[:, [0, 2]] < 0).all()
    assert not np.any(np.array(energies)[:, 1])  # nothing to solve: not touched


def test_a_diagonal_system_takes_one_step_whatever_its_scale():
    diagonal = np.geomspace(1e-3, 1e6, 10)[:, None]
    right = np.random.default_rng(0).normal(size=(10, 2))
    rule = residuals_fall_to(1e-9)
    solution, steps = conjugate_gradients(lambda P: diagonal * P, right, diagonal, 9, inner_products(0), rule)
    assert steps == 1
    np.testing.assert_allclose(solution, right / diagonal)


def test_nothing_to_solve_takes_no_step():
    product, right, diagonal, _ = systems(0)
    for rule in (residuals_fall_to(1e-4), residuals_were_below(0.0)):
        solution, steps = conjugate_gradients(product, 0 * right, diagonal, 9, inner_products(0), rule)
        assert steps == 0
        assert not solution.any()


def test_residuals_must_fall_together_or_each_at_some_time():
    sizes = np.array([[4.0, 4.0], [0.03, 1.0], [0.3, 0.03], [0.04, 0.04]])
    together, each = residuals_fall_to(0.1), residuals_were_below(0.04)
    assert [together(row) for row in sizes] == [False, False, False, True]
    assert [each(row) for row in sizes] == [False, False, True, True]
