"""Conjugate gradients for many symmetric positive definite systems at once, preconditioned.

Products with the matrix may run over shards. The linear models of `tagcore.baselines.linear`, whose rows are all here,
solve their Newton systems in one compiled kernel instead.
"""

from collections.abc import Callable

import numpy as np

Product = Callable[[np.ndarray], np.ndarray]
Preconditioner = np.ndarray | Product  # a positive diagonal, or what solves with a matrix close to that of the systems
InnerProduct = Callable[[np.ndarray, np.ndarray], np.ndarray]
StoppingRule = Callable[[np.ndarray], bool]


def conjugate_gradients(
    product: Product,
    right: np.ndarray,
    preconditioner: Preconditioner,
    steps: int,
    inner_product: InnerProduct,
    is_solved: StoppingRule,
) -> tuple[np.ndarray, int]:
    """Gives (S with product(S) ≈ right, steps taken), from S = 0.

    `inner_product(a, b)` says what the systems are: one number for each, of a shape that multiplies S (all of S is one
    system, or each column, or each row). Any number of steps lowers ½⟨S, product(S)⟩ - ⟨S, right⟩ of each, and a system
    whose residual is zero stays as it is. It ends after `steps`, or when `is_solved` says so of ⟨r, P⁻¹ r⟩, r a
    residual and P the preconditioner: that is close to the energy of the error, whatever the scale of an unknown, and
    the energy never grows.
    """
    solution, residual = np.zeros_like(right), right.copy()
    direction, size = np.zeros_like(right), np.zeros(())
    for step in range(steps):
        scaled = preconditioner(residual) if callable(preconditioner) else residual / preconditioner
        before, size = size, inner_product(residual, scaled)
        if is_solved(size):
            return solution, step
        direction = scaled + _ratio(size, before).astype(right.dtype) * direction
        image = product(direction)
        length = _ratio(size, inner_product(direction, image)).astype(right.dtype)
        solution += length * direction
        residual -= length * image
    return solution, steps


def inner_products(axis: int | None) -> InnerProduct:
    """Gives inner products, summed in float64, of whole arrays (axis None), of each column (0) or of each row (1)."""

    def inner_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(np.sum(a * b, axis=axis, keepdims=True, dtype=np.float64))

    return inner_product


def residuals_fall_to(share: float) -> StoppingRule:
    """Stops when all residuals together are at most this share of what they were at the start."""
    goals: list[np.ndarray] = []

    def is_solved(sizes: np.ndarray) -> bool:
        if not goals:
            goals.append(share**2 * sizes)
        return bool((sizes <= goals[0]).all())

    return is_solved


def residuals_were_below(size: float) -> StoppingRule:
    """Stops when each residual has been at most `size`, if only for a step: the energy of its error has not risen."""
    solved = np.zeros((), bool)

    def is_solved(sizes: np.ndarray) -> bool:
        nonlocal solved
        solved = solved | (sizes <= size)
        return bool(solved.all())

    return is_solved


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b; 0 where b is 0, as at the first step and in a system that is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
