"""The multinomial probit: the class of a row is the largest of its latent values after noise N(0, 1) on each.

P(class i) = E_u[Π_{j≠i} Φ(u + f_i - f_j)], u ~ N(0, 1), by Gauss-Hermite quadrature.
"""

import numpy as np
from scipy.special import log_ndtr, logsumexp, roots_hermitenorm

_NODES, _WEIGHTS = roots_hermitenorm(32)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)
_CELLS = 2_000_000  # quadrature nodes × classes × rows that are held together


def winning(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log P(class y_n) of every row of f (n × C), and its slopes by f (n × C)."""
    n, n_classes = f.shape
    log_proba, slopes = np.empty(n), np.empty((n, n_classes))
    step = max(1, _CELLS // (n_classes * _NODES.size))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        log_proba[rows], slopes[rows] = _block(f[rows], y[rows])
    return log_proba, slopes


def class_probabilities(means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """P(class) of rows whose latent values are N(mean of the class, variance of the row), rows adding up to 1."""
    f = means / np.sqrt(1.0 + variances)[:, None]
    every = np.column_stack([winning(f, np.full(len(f), c))[0] for c in range(f.shape[1])])
    return np.exp(every - logsumexp(every, axis=1, keepdims=True))


def _block(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = np.arange(y.size)
    ahead = _NODES[:, None, None] + (f[n, y][:, None] - f)  # u + f_i - f_j, nodes × rows × classes
    log_cdf = log_ndtr(ahead)
    log_cdf[:, n, y] = 0.0
    log_each = _LOG_WEIGHTS[:, None] + log_cdf.sum(axis=2)
    log_proba = logsumexp(log_each, axis=0)
    ratio = np.exp(-0.5 * ahead**2 - _LOG_ROOT_2PI - log_cdf)
    ratio[:, n, y] = 0.0
    slopes = -np.einsum("qn,qnc->nc", np.exp(log_each - log_proba), ratio)
    slopes[n, y] = -slopes.sum(axis=1)
    return log_proba, slopes
