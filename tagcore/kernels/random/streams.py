"""Random streams keyed by a number: the same draws for document, user or item i, whoever asks and in what order."""

import numpy as np
from numba import njit

from tagcore.kernels.random.splitmix import GOLDEN, mix


@njit(cache=True, nogil=True)
def open_stream(seed, number, state):
    """The stream of one number (SplitMix64 from a hashed start)."""
    state[0] = mix(mix(seed + GOLDEN) ^ (np.uint64(number) * GOLDEN))


@njit(cache=True, nogil=True)
def uniform(state):
    state[0] += GOLDEN
    return float(mix(state[0]) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def normal(state):
    """By Box and Muller; the second of the pair is not kept, so that every draw takes the same two steps."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(state)))
    return radius * np.cos(2.0 * np.pi * uniform(state))


@njit(cache=True, nogil=True)
def build_alias(starts, weights):
    """Walker's alias tables (starts, keep, other), in Vose's form, of distributions weights[starts[r]:starts[r + 1]].

    Every one needs an entry, and weights above 0.
    """
    keep, other = np.ones(weights.size), np.arange(weights.size)
    waiting = np.empty(weights.size, np.int64)
    for r in range(starts.size - 1):
        low, high = starts[r], starts[r + 1]
        scaled = weights[low:high] * ((high - low) / weights[low:high].sum())
        n_small, n_large = 0, 0  # small ones wait at the front, large ones at the back
        for j in range(high - low):
            if scaled[j] < 1.0:
                waiting[n_small] = j
                n_small += 1
            else:
                n_large += 1
                waiting[waiting.size - n_large] = j
        while n_small and n_large:
            small, large = waiting[n_small - 1], waiting[waiting.size - n_large]
            keep[low + small], other[low + small] = scaled[small], low + large
            scaled[large] -= 1.0 - scaled[small]
            n_small -= 1
            if scaled[large] < 1.0:
                n_large -= 1
                waiting[n_small] = large
                n_small += 1
    return starts, keep, other


@njit(cache=True, nogil=True)
def draw_alias(row, tables, state):
    """Position in `weights` of a draw from distribution `row`, in two look-ups however long it is."""
    starts, keep, other = tables
    low = starts[row]
    x = uniform(state) * (starts[row + 1] - low)
    j = low + int(x)
    return j if x - int(x) < keep[j] else other[j]


@njit(cache=True, nogil=True)
def branch(seed, purpose):
    """A seed of its own for every purpose, so that user i and item i share no draw."""
    return mix(seed + mix(np.uint64(purpose) * GOLDEN))
