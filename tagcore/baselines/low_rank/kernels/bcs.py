"""Sparse tags from a compressed guess: variational inference for each document (Kapoor, Viswanathan and Jain, 2012)."""

import numpy as np
from numba import njit

from tagcore.baselines.low_rank.kernels.dots import dot
from tagcore.kernels.copying import copy_into

_SHAPE, _RATE = np.float32(1e-6), np.float32(1e-6)  # of the gamma prior of every precision: as good as none


@njit(cache=True, nogil=True, error_model="numpy")
def _factor(scaled, projection, noise, lower):
    """The Cholesky factor of Φ·diag(variances)·Φᵀ + noise."""
    for k in range(scaled.shape[0]):
        for m in range(k + 1):
            value = dot(scaled[k], projection[m]) - dot(lower[k, :m], lower[m, :m])
            if m < k:
                lower[k, m] = value / lower[m, m]
            else:
                lower[k, k] = np.sqrt(max(value, np.float32(0.0)) + noise)


@njit(cache=True, nogil=True, error_model="numpy")
def _substitute(lower, rows, right):
    """rows and right become lower⁻¹·rows and lower⁻¹·right."""
    for k in range(lower.shape[0]):
        row = rows[k]
        for m in range(k):
            factor, other = lower[k, m], rows[m]
            for j in range(row.size):
                row[j] -= factor * other[j]
            right[k] -= factor * right[m]
        inverse = np.float32(1.0) / lower[k, k]
        for j in range(row.size):
            row[j] *= inverse
        right[k] *= inverse


@njit(cache=True, nogil=True, error_model="numpy")
def infer_tags(guesses, projection, noise, rounds, ids, starts, truth, means):
    """means[i] = E[y], for each row z of `guesses`: z ~ N(Φ·y, noise), y_j ~ N(0, 1/a_j), a_j ~ Gamma.

    Tags ids[starts[i] : starts[i + 1]] of a row are known, with the truth beside. A round is y given a (by the matrix
    inversion lemma in the small dimension), then a given y. All float32.
    """
    small, tags = projection.shape
    noise, half = np.float32(noise), np.float32(0.5)
    scaled, lower = np.empty((small, tags), np.float32), np.empty((small, small), np.float32)
    rest, right = np.empty(small, np.float32), np.empty(small, np.float32)
    variances, spread = np.empty(tags, np.float32), np.empty(tags, np.float32)  # 1 / E[a]; var[y]
    for i in range(guesses.shape[0]):
        variances[:] = 1.0
        copy_into(rest, guesses[i])
        for p in range(starts[i], starts[i + 1]):
            variances[ids[p]] = 0.0
            for k in range(small):
                rest[k] -= truth[p] * projection[k, ids[p]]
        mean = means[i]
        for _ in range(rounds):
            for k in range(small):
                for j in range(tags):
                    scaled[k, j] = projection[k, j] * variances[j]
            _factor(scaled, projection, noise, lower)
            copy_into(right, rest)
            _substitute(lower, scaled, right)
            mean[:] = 0.0
            copy_into(spread, variances)
            for k in range(small):
                for j in range(tags):
                    mean[j] += scaled[k, j] * right[k]
                    spread[j] -= scaled[k, j] * scaled[k, j]
            for j in range(tags):
                if variances[j] > 0.0:
                    second = mean[j] * mean[j] + max(spread[j], np.float32(0.0))
                    variances[j] = (_RATE + half * second) / (_SHAPE + half)
        for p in range(starts[i], starts[i + 1]):
            mean[ids[p]] = truth[p]
