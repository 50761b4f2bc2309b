"""Pólya-Gamma draws PG(b, c), exact for every real b up to 170.

The transform of PG(b, c) is cosh(c/2)^b / cosh(z)^b with z = sqrt(c²/4 + s/2); that of IG(b/(2c), b²/4), an inverse
Gaussian, is exp(b (c/2 - z)). Their ratio belongs to a compound Poisson law of rate b log(1 + e^-c): the Lévy
measures differ by a theta function below 1. So an inverse Gaussian is a Pólya-Gamma plus something that is 0 with
probability (1 + e^-c)^-b, hence PG(x) <= (1 + e^-c)^b IG(x): rejection from it takes at most 2^b tries, at any c.
"""

import math

from numba import njit

from tagcore.kernels.random.streams import normal, uniform

_NORMAL_ABOVE = 170.0
_PIECE = 8.0  # PG(b, c) is drawn as a sum over pieces of b at most this long
_HOPELESS = 12.0  # no piece of b up to _PIECE is accepted beyond with a chance above 1e-16


@njit(cache=True, nogil=True, error_model="numpy")
def polya_gamma(b, c, state):
    """PG(b, c) for b > 0; above 170 a normal of the same mean and variance."""
    c = abs(c)
    if b > _NORMAL_ABOVE:
        return pg_mean(b, c) + math.sqrt(pg_variance(b, c)) * normal(state)
    if b <= 1.0:
        return _piece(b, c, state)
    # as many pieces as bring the chance of acceptance to 1/e
    pieces = math.ceil(b * max(math.log1p(math.exp(-c)), 1.0 / _PIECE))
    total = 0.0
    for _ in range(pieces):
        total += _piece(b / pieces, c, state)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def pg_mean(b, c):
    if c < 0.1:
        square = c * c
        return b / 4 * (1 - square / 12 * (1 - square / 10 * (1 - 17 / 168 * square)))
    return b * math.tanh(c / 2) / (2 * c)


@njit(cache=True, nogil=True, error_model="numpy")
def pg_variance(b, c):
    """b (sinh c - c) / (4 c³ cosh²(c/2)) for c >= 0, without overflow and without cancellation at 0."""
    if c < 0.1:
        square = c * c
        return b * (1 / 24 - square / 120 + 17 / 13440 * square**2 - 31 / 181440 * square**3)
    e = math.exp(-c)
    return b * (2 * (1 - e) / (1 + e) - 4 * c * e / (1 + e) ** 2) / (4 * c**3)


@njit(cache=True, nogil=True, error_model="numpy")
def _piece(b, c, state):
    while True:
        x = _inverse_gaussian(b, c, state)
        if x < _HOPELESS and _accepts(uniform(state), b, x):
            return x


@njit(cache=True, nogil=True, error_model="numpy")
def _inverse_gaussian(b, c, state):
    """Mean b/(2c), shape b²/4, by Michael, Schucany and Haas, with the small root in a form that allows c = 0."""
    square = normal(state) ** 2 / b
    x = 0.5 * b / (c + square + math.sqrt(square * (square + 2 * c)))
    if uniform(state) * (b + 2 * c * x) <= b:
        return x
    return b * b / (4 * c * c * x)


@njit(cache=True, nogil=True, error_model="numpy")
def _accepts(u, b, x):
    """Whether u < PG(x) / ((1 + e^-c)^b IG(x)) = sum_n (-1)^n C(b+n-1, n) (2n+b)/b exp(-n(n+b)/(2x)).

    The ratio of two terms falls with n, so once the terms fall the partial sums close in from both sides.
    """
    partial, before, binomial, sign = 1.0, 1.0, 1.0, 1.0
    n = 0
    while True:
        n += 1
        sign = -sign
        binomial *= (b + n - 1.0) / n
        term = binomial * (2.0 * n + b) / b * math.exp(-0.5 * n * (n + b) / x)
        partial += sign * term
        if term <= before:
            if sign < 0.0 and u < partial:
                return True
            if (sign > 0.0 and u >= partial) or term < 1e-17:
                return u < partial
        before = term
