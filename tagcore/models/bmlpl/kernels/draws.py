"""Draws from the laws that Gibbs samplers need, on the keyed streams: gamma, Poisson, Chinese restaurant tables."""

import math

import numpy as np
from numba import njit

from tagcore.kernels.random.streams import normal, uniform

_MULTIPLY_BELOW = 10.0  # Poisson means whose draw multiplies uniforms, one per event


@njit(cache=True, nogil=True)
def exponential(state):
    return -math.log1p(-uniform(state))


@njit(cache=True, nogil=True)
def gamma(shape, state):
    """Gamma(shape, scale 1). A shape far below 1 may give an exact 0: see log_gamma."""
    if shape == 1.0:
        return exponential(state)
    if shape < 1.0:
        return math.exp(log_gamma(shape, state))
    return _marsaglia_tsang(shape, state)


@njit(cache=True, nogil=True)
def log_gamma(shape, state):
    """The logarithm of a Gamma(shape, scale 1) draw, finite however small the shape: G(a) = G(a + 1) U^(1/a)."""
    if shape < 1.0:
        return math.log(_marsaglia_tsang(shape + 1.0, state)) + math.log(1.0 - uniform(state)) / shape
    return math.log(_marsaglia_tsang(shape, state))


@njit(cache=True, nogil=True)
def _marsaglia_tsang(shape, state):
    """Marsaglia and Tsang (2000): the cube of a normal, squeezed. For shapes of 1 and above."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(state)
        square = x * x
        if u < 1.0 - 0.0331 * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v


@njit(cache=True, nogil=True)
def poisson(mean, state):
    if mean < _MULTIPLY_BELOW:
        floor = math.exp(-mean)
        product, count = 1.0 - uniform(state), 0
        while product > floor:
            product *= 1.0 - uniform(state)
            count += 1
        return count
    return _transformed_rejection(mean, state)


@njit(cache=True, nogil=True)
def _transformed_rejection(mean, state):
    """Hörmann's PTRS (1993): one pair of uniforms does for most draws. For means of 10 and above."""
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2.0)
    log_mean = math.log(mean)
    while True:
        u, v = uniform(state) - 0.5, 1.0 - uniform(state)
        us = 0.5 - abs(u)
        if us <= 0.0:
            continue
        count = math.floor((2.0 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= sure:
            return int(count)
        if count < 0.0 or (us < 0.013 and v > us):
            continue
        log_accept = math.log(v * inverse_alpha / (a / (us * us) + b))
        if log_accept <= count * log_mean - mean - math.lgamma(count + 1.0):
            return int(count)


@njit(cache=True, nogil=True)
def positive_poisson(mean, state):
    """Poisson given that it is not 0: the time of the first event of [0, 1], then the events after it."""
    u = uniform(state)
    first = u if mean < 1e-12 else -math.log1p(u * math.expm1(-mean)) / mean
    return 1 + poisson(mean * (1.0 - first), state)


@njit(cache=True, nogil=True)
def tables(customers, concentration, state):
    """Tables taken in a Chinese restaurant (the CRT law): customer j opens one with chance r / (r + j)."""
    taken = 1 if customers > 0 else 0
    for j in range(1, customers):
        taken += uniform(state) * (concentration + j) < concentration
    return taken


@njit(cache=True, nogil=True)
def categorical(running, state):
    """An index by running sums of weights; evenly where every weight has vanished."""
    total = running[-1]
    if total <= 0.0:
        return int(uniform(state) * running.size)
    return min(np.searchsorted(running, uniform(state) * total, side="right"), running.size - 1)
