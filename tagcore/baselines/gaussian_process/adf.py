"""Assumed-density filtering of a binary probit Gaussian process, one informative row after the other (Lawrence, Seeger
and Herbrich, 2003: the informative vector machine).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)
_LEAST_PRECISION = 1e-10


class Sites(NamedTuple):
    """The active rows, and what each says of its latent value: N(mean, 1 / precision)."""

    rows: np.ndarray
    means: np.ndarray
    precisions: np.ndarray
    log_evidence: float


def filter_rows(column: Callable[[int], np.ndarray], diagonal: np.ndarray, signs: np.ndarray, size: int) -> Sites:
    """Includes `size` rows, each the one that tells most; `column(i)` is the covariance of all rows with row i.

    `signs` are 1 for rows of the class and -1 for all others. What a row tells is the entropy that its latent value
    loses, ties to the first row.
    """
    n = signs.size
    mean, variance = np.zeros(n), diagonal.astype(np.float64)
    factor = np.empty((size, n))
    free = np.ones(n, bool)
    rows, means, precisions = np.empty(size, np.int64), np.empty(size), np.empty(size)
    log_evidence = 0.0
    for j in range(size):
        spread = np.sqrt(1.0 + variance)
        z = signs * mean / spread
        log_cdf = log_ndtr(z)
        slope = signs * np.exp(-0.5 * z**2 - _LOG_ROOT_2PI - log_cdf) / spread
        curve = np.maximum(slope * (slope + mean / spread**2), _LEAST_PRECISION)
        told = -np.log1p(-np.minimum(curve * variance, 1.0 - 1e-12))
        i = int(np.argmax(np.where(free, told, -np.inf)))
        covariance = column(i) - factor[:j, i] @ factor[:j]
        precision = curve[i] / max(1.0 - curve[i] * variance[i], 1e-12)
        rows[j], means[j], precisions[j] = i, mean[i] + slope[i] / curve[i], precision
        log_evidence += float(log_cdf[i])
        mean = mean + slope[i] * covariance
        factor[j] = np.sqrt(curve[i]) * covariance
        variance = np.maximum(variance - factor[j] ** 2, 0.0)
        free[i] = False
    return Sites(rows, means, precisions, log_evidence)
