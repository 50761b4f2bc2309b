"""Conjugate gradients for many systems at once."""

from collections.abc import Callable

import numpy as np


def conjugate_gradients(
    operator: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    diagonal: np.ndarray,
    steps: int,
    axis: int | None,
    tol: float = 1e-4,
) -> np.ndarray:
    """S with operator(S) ≈ right, from zero, preconditioned by the positive `diagonal`.

    S is one system (axis None), or one in each column (0) or row (1). Any number of steps lowers ½⟨S, operator(S)⟩ -
    ⟨S, right⟩ of each. It ends early when every residual, in the norm of the preconditioner, is `tol` of what it was.
    """
    solution, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    length = first = _dot(residual, scaled, axis)
    for _ in range(steps):
        if (length <= tol**2 * first).all():
            break
        image = operator(direction)
        along = _ratio(length, _dot(direction, image, axis)).astype(right.dtype)
        solution += along * direction
        residual -= along * image
        np.divide(residual, diagonal, out=scaled)
        before, length = length, _dot(residual, scaled, axis)
        direction *= _ratio(length, before).astype(right.dtype)
        direction += scaled
    return solution


def _dot(a: np.ndarray, b: np.ndarray, axis: int | None) -> np.ndarray:
    return np.asarray(np.sum(a * b, axis=axis, keepdims=True, dtype=np.float64))


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b; 0 where b is: that system is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
