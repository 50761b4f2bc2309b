"""The multinomial probit: the class of a row is the largest of its latent values after noise N(0, 1) on each.

P(class i) = E_u[Π_{j≠i} Φ(u + f_i - f_j)], u ~ N(0, 1), by Gauss-Hermite quadrature.
"""

import math

import numpy as np
from numba import njit
from scipy.special import logsumexp, roots_hermitenorm

from tagcore.numeric.read_only import freeze

_NODES, _WEIGHTS = roots_hermitenorm(32)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
_ROOT_HALF, _LOG_ROOT_2PI = math.sqrt(0.5), 0.5 * math.log(2.0 * math.pi)
_FAR = -30.0  # below which Φ is too small a number for what is done with it, and its series is exact
_SMALL = 1e-100  # below which a product becomes its logarithm, lest it vanish


def winning(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log P(class y_n) of every row of f (n × C), and its slopes by f (n × C)."""
    log_proba, slopes = np.empty(len(f)), np.zeros(f.shape)
    _fill_winning(freeze(f), freeze(y), log_proba, slopes)
    return log_proba, slopes


def class_probabilities(means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """P(class) of rows whose latent values are N(mean of the class, variance of the row), rows adding up to 1."""
    f = means / np.sqrt(1.0 + variances)[:, None]
    every = np.column_stack([winning(f, np.full(len(f), c))[0] for c in range(f.shape[1])])
    return np.exp(every - logsumexp(every, axis=1, keepdims=True))


@njit(cache=True, nogil=True)
def _fill_winning(f, y, log_proba, slopes):
    """Fills what `winning` gives; slopes are 0 before."""
    n, n_classes = f.shape
    steepness = np.zeros((_NODES.size, n_classes), np.float64)  # of log Φ, by node
    log_each = np.empty(_NODES.size, np.float64)
    for i in range(n):
        own = y[i]
        for q in range(_NODES.size):
            logged, product = _LOG_WEIGHTS[q], 1.0
            for c in range(n_classes):
                if c == own:
                    continue
                ahead = _NODES[q] + (f[i, own] - f[i, c])
                if ahead > _FAR:
                    cdf = 0.5 * math.erfc(-_ROOT_HALF * ahead)
                    steepness[q, c] = math.exp(-0.5 * ahead * ahead - _LOG_ROOT_2PI) / cdf
                    if product < _SMALL:
                        logged, product = logged + math.log(product), 1.0
                    product *= cdf
                else:
                    tail = _tail(ahead)
                    steepness[q, c] = -ahead / tail
                    logged += math.log(-tail / ahead) - 0.5 * ahead * ahead - _LOG_ROOT_2PI
            log_each[q] = logged + math.log(product)
        highest, total = log_each.max(), 0.0
        for q in range(_NODES.size):
            total += math.exp(log_each[q] - highest)
        log_proba[i] = highest + math.log(total)
        for q in range(_NODES.size):
            share = math.exp(log_each[q] - log_proba[i])
            for c in range(n_classes):
                if c != own:
                    slopes[i, c] -= share * steepness[q, c]
        slopes[i, own] = -slopes[i].sum()


@njit(cache=True, nogil=True)
def _tail(x):
    """Φ(x) |x| / φ(x), far below 0: 1 - 1/x² + 1·3/x⁴ - 1·3·5/x⁶ + …"""
    term, total = 1.0, 1.0
    for odd in range(1, 14, 2):
        term *= -odd / (x * x)
        total += term
    return total
