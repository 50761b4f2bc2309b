"""Scales under which every row's class is best foretold from the other rows, for the variational probit classifier.

Its bound takes C/2 log |I + K| off what the means explain, far too much where classes are many: the scales that it
prefers explain little. Left-out rows are a matter of one inverse: given ỹ, the means are those of a regression with
noise 1, so that a row's mean without it is ỹ_n - [(K + I)⁻¹ ỹ]_n / [(K + I)⁻¹]_nn, its variance 1 / [(K + I)⁻¹]_nn - 1.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from tagcore.baselines.gaussian_process.bound import Bound
from tagcore.baselines.gaussian_process.model import covariance_matrix
from tagcore.baselines.gaussian_process.probit import winning
from tagcore.baselines.gaussian_process.search import LOG_AMPLITUDE, LOG_LENGTH, Scales

_MEANS_STEPS = 100  # towards the maximum of the bound
_LOG_AMPLITUDE = LOG_AMPLITUDE[0], 3.0  # 20 times the noise: more tells classes hardly better apart, at many more steps
_FIRST_STEPS = np.diag([0.7, 1.0])  # of the logarithms of length scales and amplitude


def log_proba_left_out(bound: Bound, scales: Scales, max_iter: int = _MEANS_STEPS) -> float:
    """Σ_n log P(y_n | all rows but n) of the bound's rows, with ỹ as it is with all of them."""
    weights, y = bound.maximum(scales, max_iter).weights, bound.y
    K = covariance_matrix(bound.name, scales, bound.X)
    means = K @ weights
    noisy = means + winning(means, y)[1]
    K.flat[:: y.size + 1] += 1.0
    inverse = cho_solve(cho_factor(K, lower=True), np.eye(y.size))
    own = np.diag(inverse)[:, None]
    without = noisy - (inverse @ noisy) / own
    return float(winning(without * np.sqrt(own), y)[0].sum())  # 1 + variance is 1 / own


def refine_scales(bound: Bound, start: Scales, max_trials: int) -> Scales:
    """Moves all length scales together, and the amplitude, to where left-out rows are foretold best (Nelder-Mead)."""

    def moved(logs: np.ndarray) -> Scales:
        lengths = np.exp(np.clip(np.log(start.lengths) + logs[0], *LOG_LENGTH))
        return Scales(lengths, float(np.exp(np.clip(logs[1], *_LOG_AMPLITUDE))))

    def surprise(logs: np.ndarray) -> float:
        try:
            return -log_proba_left_out(bound, moved(logs))
        except LinAlgError:
            return 1e300  # no such covariance

    first = np.array([0.0, np.log(start.amplitude)])
    simplex = np.stack([first, *(first + _FIRST_STEPS)])
    options = {"initial_simplex": simplex, "maxfev": max_trials, "xatol": 0.1, "fatol": 1e-2}
    return moved(minimize(surprise, first, method="Nelder-Mead", options=options).x)
