"""Directions of limited-memory BFGS: curvature as the last steps met it, on top of a preconditioner."""

from collections.abc import Callable

import numpy as np


def uphill_direction(
    gradient: np.ndarray, moves: np.ndarray, falls: np.ndarray, precondition: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Gives where to go from a point with this gradient of what is to be maximised.

    `moves` are the last steps, the latest at the end, and `falls` by how much the gradient fell in each; `precondition`
    multiplies by a matrix near the inverse of the curvature, up to scale.
    """
    if len(moves) == 0:
        return precondition(gradient)
    curvatures = [float(np.vdot(move, fall)) for move, fall in zip(moves, falls, strict=True)]
    left, shares = gradient.copy(), np.zeros(len(moves))
    for i in reversed(range(len(moves))):
        shares[i] = np.vdot(moves[i], left) / curvatures[i]
        left -= shares[i] * falls[i]
    direction = precondition(left)
    direction *= curvatures[-1] / float(np.vdot(falls[-1], precondition(falls[-1])))
    for i in range(len(moves)):
        direction += (shares[i] - np.vdot(falls[i], direction) / curvatures[i]) * moves[i]
    return direction
