"""Prototypes by information gain, as the informative vector machine takes them: one active set for all classes.

One-against-rest probit sites are added by assumed density filtering; every step takes the row whose site would lower
the entropy of all classes most.
"""

import numpy as np
from scipy.special import log_ndtr

from tagcore.numeric.covariance import Covariance
from tagcore.numeric.dots import Matrix

MOST_BYTES = 2**30  # of the factors of all classes: C · M · N numbers
_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)


def pool_size(n_rows: int, n_classes: int, count: int) -> int:
    """Gives how many rows are candidates: all, or as many as fit the bound on memory, but at least M of them."""
    if 8 * n_classes * count * n_rows <= MOST_BYTES:
        return n_rows
    return max(count, min(n_rows, max(10 * count, 5000), MOST_BYTES // (8 * n_classes * count)))


def most_informative(X: Matrix, y: np.ndarray, n_classes: int, k: Covariance, count: int) -> np.ndarray:
    """Gives numbers of `count` rows, in the order in which they were taken; ties go to the first row."""
    n = X.shape[0]
    signs = np.where(np.arange(n_classes)[:, None] == y, 1.0, -1.0)  # (C, n)
    means, variances = np.zeros((n_classes, n)), np.tile(k.diagonal(X), (n_classes, 1))
    factors = np.zeros((n_classes, count, n))
    taken, free = np.empty(count, np.int64), np.ones(n, bool)
    for j in range(count):
        slopes, precisions = probit_sites(signs, means, variances)
        gains = -0.5 * np.log1p(-np.minimum(precisions * variances, 1.0 - 1e-12)).sum(axis=0)
        i = taken[j] = int(np.argmax(np.where(free, gains, -np.inf)))
        free[i] = False
        row = k.between(X, X[i : i + 1])[:, 0]
        covariances = row - np.einsum("cj,cjn->cn", factors[:, :j, i], factors[:, :j])
        means += slopes[:, i : i + 1] * covariances
        factors[:, j] = np.sqrt(precisions[:, i : i + 1]) * covariances
        variances = np.maximum(variances - factors[:, j] ** 2, 1e-12)
    return taken


def probit_sites(signs: np.ndarray, means: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gives (α, ν): by how much a site at each point would move its mean (times variance) and lower its variance."""
    scale = np.sqrt(1.0 + variances)
    z = signs * means / scale
    ratio = np.exp(-0.5 * z**2 - _LOG_ROOT_2PI - log_ndtr(z))
    slopes = signs * ratio / scale
    precisions = np.maximum(slopes * (slopes + means / (1.0 + variances)), 0.0)
    return slopes, precisions
