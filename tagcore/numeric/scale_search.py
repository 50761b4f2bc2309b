"""L-BFGS on logarithms of scales within bounds."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_STILL = 1e-4  # of the value, relative, by which a step that ends the search has changed it
_LEVEL = 1e-3  # of the first slopes: these are level


def descend_logs(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    n_lengths: int,
    start: np.ndarray,
    bounds: list[tuple[float, float]],
    rounds: int,
) -> "OptimizeResult":
    """Descends a function of logarithms of length scales, so many, and amplitudes, given as value and slopes.

    Several length scales, one for every input, are first sought at the amplitudes of the start, for a quarter of the
    rounds: where most inputs say nothing, no amplitude at all is better than any, until it is known which these are.
    """
    start = np.clip(start, *np.transpose(bounds))
    if n_lengths > 1:
        held = [*bounds[:n_lengths], *((log, log) for log in start[n_lengths:])]
        start = _descend(function, start, held, -(-rounds // 4)).x
    return _descend(function, start, bounds, rounds)


def _descend(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    bounds: list[tuple[float, float]],
    rounds: int,
) -> "OptimizeResult":
    """Of bounded variables L-BFGS-B takes the whole gradient for its first step, whatever its length: slopes of
    hundreds throw it into a corner of the bounds, where often nothing is explained and all slopes vanish. Here the
    first step has length 1."""
    first = function(start)
    steepness = max(float(np.linalg.norm(first[1])), 1e-300)

    def gently(logs: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = first if np.array_equal(logs, start) else function(logs)
        return value / steepness, slopes / steepness

    from scipy.optimize import minimize  # here: what is served does not learn

    options = {"maxiter": rounds, "maxls": 10, "ftol": _STILL, "gtol": _LEVEL}
    found = minimize(gently, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    found.fun *= steepness
    return found
