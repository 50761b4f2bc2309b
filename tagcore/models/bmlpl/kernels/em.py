"""Arithmetic of BMLPL over the rows of one shard. Inner loops run over topics, contiguous in memory."""

import numpy as np
from numba import njit

SMALLEST_RATE = 1e-30  # λ below this would overflow 1 / (1 - exp(-λ))


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def expect_counts(labels, starts, U, V, m, counts):
    """Adds the expected latent counts of the positives to m (rows × topics, zeros) and counts (labels × topics).

    E[count] = λ / (1 - exp(-λ)), split over topics by u v / λ. Returns Σ log(exp(λ) - 1) over the positives.
    """
    n_topics = V.shape[1]
    total = 0.0
    for i in range(U.shape[0]):
        u, mine = U[i], m[i]
        for j in range(starts[i], starts[i + 1]):
            v, of_label = V[labels[j]], counts[labels[j]]
            rate = V.dtype.type(0)
            for k in range(n_topics):
                rate += u[k] * v[k]
            lam = max(float(rate), SMALLEST_RATE)
            positive = -np.expm1(-lam)
            total += np.log(positive) + lam
            scale = V.dtype.type(1.0 / positive)
            for k in range(n_topics):
                of_label[k] += scale * u[k] * v[k]
            for k in range(n_topics):
                mine[k] += scale * v[k]
        for k in range(n_topics):
            mine[k] *= u[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def logistic_parts(psi, e, small, p, half):
    """p = sigmoid(psi) and half = tanh(psi / 2) / (2 psi), both from e = exp(-|psi|).

    Below `small` the quotient loses digits, and four terms of its series have all of them.
    """
    one = psi.dtype.type(1)
    two, quarter = psi.dtype.type(2), psi.dtype.type(0.25)
    c2, c4, c6 = psi.dtype.type(-1 / 12), psi.dtype.type(1 / 120), psi.dtype.type(-17 / 20160)
    psi, e, p, half = psi.ravel(), e.ravel(), p.ravel(), half.ravel()
    for j in range(psi.size):
        size = abs(psi[j])
        over = one / (one + e[j])
        p[j] = over if psi[j] >= 0 else e[j] * over
        square = psi[j] * psi[j]
        series = quarter * (one + square * (c2 + square * (c4 + square * c6)))
        half[j] = series if size < small else (one - e[j]) * over / (two * size)


@njit(cache=True, nogil=True)
def weigh_rows(m, r, half, psi, omega, slope):
    """omega = (m + r) half, the mean of PG(m + r, psi), and slope = kappa - omega psi with kappa = (m - r) / 2."""
    middle = m.dtype.type(0.5)
    for i in range(m.shape[0]):
        for k in range(m.shape[1]):
            weight = (m[i, k] + r[k]) * half[i, k]
            omega[i, k] = weight
            slope[i, k] = (m[i, k] - r[k]) * middle - weight * psi[i, k]


@njit(cache=True, nogil=True)
def sum_logs(logs, psi, base):
    """(Σ logs - max(psi, 0), Σ base), sums over rows in float64."""
    of_logs, of_base = np.zeros(logs.shape[1]), np.zeros(logs.shape[1])
    for i in range(logs.shape[0]):
        for k in range(logs.shape[1]):
            of_logs[k] += logs[i, k] - max(psi[i, k], psi.dtype.type(0))
            of_base[k] += base[i, k]
    return of_logs, of_base


@njit(cache=True, nogil=True)
def column_dots(A, B):
    """Σ over rows of A ∘ B, one sum a column, in float64 whatever the arrays hold."""
    out = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            out[k] += float(A[i, k]) * float(B[i, k])
    return out
