"""Length scales and amplitude at which the training data are most likely."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from tagcore.numeric.covariance import COVARIANCES, Covariance
from tagcore.numeric.dots import Matrix, squared_distances, squared_lengths
from tagcore.numeric.scale_search import descend_logs

LOG_LENGTH, LOG_AMPLITUDE = (-3.0, 5.0), (-2.0, 5.0)  # bounds
_ROOM = 1.0  # between a bound and where the search begins
_RESTARTS = 4
_ARD_STEPS = 4  # times as many where every column has a length scale
_MEASURED = 200  # rows whose distances say how far apart rows are


class Scales(NamedTuple):
    """Length scales, one or one for every column, and the amplitude of a covariance function."""

    lengths: np.ndarray
    amplitude: float

    def covariance(self, name: str) -> Covariance:
        """The covariance function of that name with these scales."""
        return COVARIANCES[name](self.lengths if self.lengths.size > 1 else float(self.lengths[0]), self.amplitude)

    @property
    def logs(self) -> np.ndarray:
        return np.log([*self.lengths, self.amplitude])

    @classmethod
    def of_logs(cls, logs: np.ndarray) -> "Scales":
        return cls(np.exp(logs[:-1]), float(np.exp(logs[-1])))


Evidence = Callable[[Scales], tuple[float, np.ndarray]]  # its logarithm, and the slopes of that by the logs of scales


def usual_length(X: Matrix) -> float:
    """Half the median distance between rows; 1 where all are the same, but for rounding."""
    step = max(1, X.shape[0] // _MEASURED)
    rows = X[::step][:_MEASURED]
    distances = np.sqrt(squared_distances(rows, rows)[np.triu_indices(rows.shape[0], 1)])
    median = float(np.median(distances)) if distances.size else 0.0
    return 0.5 * median if median > 1e-8 * np.sqrt(squared_lengths(rows).max()) else 1.0


def unit_of_rows(X: Matrix) -> float:
    """By what rows are divided so that the bounds hold their usual length: 1 where it lies well within, as that of
    standardised rows does. Any other is a power of two, by which nothing is rounded."""
    usual = usual_length(X)
    if LOG_LENGTH[0] + _ROOM <= np.log(usual) <= LOG_LENGTH[1] - _ROOM:
        return 1.0
    return float(2.0 ** np.floor(np.log2(usual)))


def nothing(n_rows: int, n_classes: int) -> float:
    """The log evidence that hardly beats that of a model which finds all classes likely alike."""
    return n_rows * (1e-3 - float(np.log(n_classes)))


def best_scales(evidence: Evidence, start: Scales, max_iter: int, nothing: float) -> Scales:
    """Climbs the evidence by L-BFGS; from twice the length scales where it ends no higher than `nothing`, which is what
    a model that explains nothing reaches: slopes vanish there."""
    best, highest = start, -np.inf
    steps = max_iter * (_ARD_STEPS if start.lengths.size > 1 else 1)
    for restart in range(_RESTARTS + 1):
        first = start._replace(lengths=start.lengths * 2.0**restart)
        found, value = _climb(evidence, first, steps)
        if value > highest:
            best, highest = found, value
        if highest > nothing:
            break
    return best


def _climb(evidence: Evidence, start: Scales, max_iter: int) -> tuple[Scales, float]:
    def downhill(logs: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, slopes = evidence(Scales.of_logs(logs))
        except LinAlgError:
            return 1e300, np.zeros_like(logs)  # no such covariance: the line search comes back from here
        return -value, -slopes

    bounds = [LOG_LENGTH] * start.lengths.size + [LOG_AMPLITUDE]
    found = descend_logs(downhill, start.lengths.size, start.logs, bounds, max_iter)
    return Scales.of_logs(found.x), -float(found.fun)
