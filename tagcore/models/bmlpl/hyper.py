"""Hyper-parameters of BMLPL: precisions of the weights, shapes of the topics' gamma distributions."""

import numpy as np
from scipy.special import digamma, polygamma

from tagcore.models.bmlpl.rows import ShardRows, logistic
from tagcore.shards import Arrays, Shard

_TAU_SHAPE = _TAU_RATE = _R_SHAPE = _R_RATE = 0.01  # nearly improper gamma priors
_TAU_RANGE = 1e-3, 1e6
_R_RANGE = 1e-3, 1e3
_LARGEST_STEP = 0.7  # of log r


def new_tau(W: np.ndarray, curvature: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Gives tau of type-II maximum likelihood, the diagonal of the curvature in place of the posterior variances."""
    squares = (W.astype(np.float64) ** 2 + 1.0 / (curvature + tau[:, None])).sum(axis=1)
    return np.clip((W.shape[1] + 2 * _TAU_SHAPE) / (squares + 2 * _TAU_RATE), *_TAU_RANGE)


def shape_step(shard: Shard[ShardRows], state: Arrays, W: np.ndarray, r: np.ndarray) -> Arrays:
    """Step: the sums that Newton's method for r needs, at the weights W and the counts of the last E-step."""
    psi = shard.data.project(W)
    softplus = np.maximum(psi, 0) + np.log1p(logistic(psi)[2])
    m = state["m"].astype(np.float64)
    return {
        "softplus": softplus.sum(axis=0, dtype=np.float64),
        "slope": (digamma(m + r) - digamma(r)).sum(axis=0),
        "bend": (polygamma(1, m + r) - polygamma(1, r)).sum(axis=0),
    }


def new_shapes(sums: Arrays, r: np.ndarray) -> np.ndarray:
    """Gives r after one Newton step in log r, held back; where the objective is not concave, after a step uphill."""
    slope = sums["slope"] - sums["softplus"] + (_R_SHAPE - 1) / r - _R_RATE
    bend = sums["bend"] - (_R_SHAPE - 1) / r**2
    first, second = r * slope, r * slope + r**2 * bend
    concave = second < 0
    step = np.where(concave, -first / np.where(concave, second, 1.0), np.sign(first) * _LARGEST_STEP)
    return np.clip(r * np.exp(np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)), *_R_RANGE)
