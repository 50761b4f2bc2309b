"""Moments of a Gaussian cut off from below, and of a cut whose side may have been recorded wrongly.

With t = (mean - cut) / sd: E[d | d > cut] = mean + sd V(t) and Var[d | d > cut] = sd² (1 - W(t)).
"""

import math

import numpy as np
from numba import njit

LOW, HIGH = -12.0, 9.0  # beyond HIGH the cut changes nothing that a double could show
STEPS = 32  # nodes per unit of t
_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)


@njit(cache=True, nogil=True)
def gain(t):
    """V = phi(t) / Phi(t), the push of the mean."""
    if t < -30.0:
        q = 1.0 / (t * t)
        return -(1.0 - 2.0 * q + 10.0 * q * q - 74.0 * q * q * q) / t - t
    if t > HIGH:
        return 0.0
    return math.exp(-0.5 * t * t) / _ROOT_2_PI / (0.5 * math.erfc(-t / _ROOT_2))


@njit(cache=True, nogil=True)
def shrinkage(t):
    """W = V (V + t), the share of the variance that the cut removes."""
    if t < -30.0:
        q = 1.0 / (t * t)
        return 1.0 - q * (1.0 - 6.0 * q + 50.0 * q * q)
    v = gain(t)
    return min(1.0, max(0.0, v * (v + t)))


@njit(cache=True, nogil=True)
def make_table():
    """V and -V' = W at every node; 0 at the last, where larger t end up too."""
    count = int((HIGH - LOW) * STEPS) + 1
    table = np.empty((count, 2))
    for i in range(count - 1):
        t = LOW + i / STEPS
        table[i, 0], table[i, 1] = gain(t), shrinkage(t)
    table[-1] = 0.0
    return table


@njit(cache=True, nogil=True)
def log_ndtr(t):
    """log Phi(t)."""
    if t < -30.0:
        q = 1.0 / (t * t)
        return -0.5 * t * t - math.log(-t * _ROOT_2_PI) + math.log1p(-q * (1.0 - q * (3.0 - 15.0 * q)))
    if t > 0.0:
        return math.log1p(-0.5 * math.erfc(t / _ROOT_2))
    return math.log(0.5 * math.erfc(-t / _ROOT_2))


@njit(cache=True, nogil=True)
def noisy_moments(mean, sd, cut, flip):
    """(V, W) of the factor (1 - flip) I(d > cut) + flip I(d < -cut): W < 0 where the two sides pull apart.

    What is left is a mixture of two tails, p of it above the cut: its variance is the mean of theirs and p (1 - p)
    times the squared distance of their means. So W is at most 1 by construction; V² + a t1 + b t2, the same by
    algebra, loses all digits in far tails.
    """
    t1, t2 = (mean - cut) / sd, (-mean - cut) / sd
    if flip == 0.0:
        return gain(t1), shrinkage(t1)
    odds = math.log(flip) - math.log1p(-flip)  # that it is the lower tail, as logarithm
    if t1 < 0.0 and t2 < 0.0:  # Phi = phi / V, and the difference of two large squares is a product
        odds += math.log(gain(t1) / gain(t2)) - 2.0 * (mean / sd) * (cut / sd)
    else:
        odds += log_ndtr(t2) - log_ndtr(t1)
    below = math.exp(-abs(odds)) / (1.0 + math.exp(-abs(odds)))
    p, q = (below, 1.0 - below) if odds > 0.0 else (1.0 - below, below)
    upper, lower = gain(t1), gain(t2)
    apart = upper + lower
    return p * upper - q * lower, min(1.0, p * shrinkage(t1) + q * shrinkage(t2) - (p * apart) * (q * apart))
