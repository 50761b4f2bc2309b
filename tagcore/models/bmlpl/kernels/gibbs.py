"""The conditional draws of BMLPL's Gibbs sampler over the rows of one shard, each row on a stream of its own."""

import math

import numpy as np
from numba import njit

from tagcore.kernels.random.streams import normal, open_stream
from tagcore.models.bmlpl.kernels.draws import categorical, gamma, log_gamma, positive_poisson, tables
from tagcore.models.bmlpl.kernels.polya_gamma import polya_gamma


@njit(cache=True, nogil=True)
def draw_counts(labels, starts, U, V, key, first, m, counts):
    """Adds latent counts of the positives to m (rows × topics) and counts (labels × topics).

    A count is a Poisson of mean λ = Σ u v given that it is not 0, and every unit of it picks a topic by u v / λ.
    Returns Σ log(exp(λ) - 1) over the positives.
    """
    state, running = np.empty(1, np.uint64), np.empty(V.shape[1])
    log_odds = 0.0
    for i in range(U.shape[0]):
        open_stream(key, first + i, state)
        for j in range(starts[i], starts[i + 1]):
            label, rate = labels[j], 0.0
            for k in range(running.size):
                rate += float(U[i, k]) * float(V[label, k])
                running[k] = rate
            log_odds += math.log(max(-math.expm1(-rate), 1e-300)) + rate
            for _ in range(positive_poisson(rate, state)):
                k = categorical(running, state)
                m[i, k] += 1
                counts[label, k] += 1
    return log_odds


@njit(cache=True, nogil=True)
def count_tables(m, r, key, first):
    """Σ over rows of CRT(m, r), a sum for every topic."""
    state, out = np.empty(1, np.uint64), np.zeros(m.shape[1])
    for i in range(m.shape[0]):
        open_stream(key, first + i, state)
        for k in range(m.shape[1]):
            if m[i, k] > 0:
                out[k] += tables(int(m[i, k]), float(r[k]), state)
    return out


@njit(cache=True, nogil=True)
def draw_weights(m, psi, r, key, noise_key, first, omega, slope):
    """omega ~ PG(m + r, psi) and slope = kappa + sqrt(omega) e1 - omega psi with kappa = (m - r) / 2, e1 normal."""
    state, noise = np.empty(1, np.uint64), np.empty(1, np.uint64)
    for i in range(m.shape[0]):
        open_stream(key, first + i, state)
        open_stream(noise_key, first + i, noise)
        for k in range(m.shape[1]):
            count, shape, tilt = float(m[i, k]), float(r[k]), float(psi[i, k])
            w = polya_gamma(count + shape, tilt, state)
            omega[i, k] = w
            slope[i, k] = 0.5 * (count - shape) + math.sqrt(w) * normal(noise) - w * tilt


@njit(cache=True, nogil=True)
def draw_embeddings(m, p, r, key, first, smallest, U):
    """U ~ Gamma(m + r, scale p), never below `smallest`: a row whose embedding is all 0 could explain no label."""
    state = np.empty(1, np.uint64)
    for i in range(m.shape[0]):
        open_stream(key, first + i, state)
        for k in range(m.shape[1]):
            u = gamma(float(m[i, k]) + float(r[k]), state) * float(p[i, k])
            U[i, k] = max(u, smallest)


@njit(cache=True, nogil=True)
def draw_log_gammas(shapes, key):
    """The logarithms of independent gammas, a stream for every row of `shapes`."""
    state, out = np.empty(1, np.uint64), np.empty(shapes.shape)
    for i in range(shapes.shape[0]):
        open_stream(key, i, state)
        for k in range(shapes.shape[1]):
            out[i, k] = log_gamma(shapes[i, k], state)
    return out


@njit(cache=True, nogil=True)
def draw_normals(rows, columns, key):
    """Standard normals, a stream for every row."""
    state, out = np.empty(1, np.uint64), np.empty((rows, columns))
    for i in range(rows):
        open_stream(key, i, state)
        for k in range(columns):
            out[i, k] = normal(state)
    return out
