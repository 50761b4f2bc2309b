"""SplitMix64 (Steele, Lea and Flood, 2014): the one generator behind all keyed draws and hashes."""

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: the step from one state to the next
_FIRST_MULTIPLIER, _SECOND_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def mix(z):
    """The finaliser: every bit of a 64-bit number reaches every bit of the result, and no two numbers share one."""
    z = (z ^ (z >> np.uint64(30))) * _FIRST_MULTIPLIER
    z = (z ^ (z >> np.uint64(27))) * _SECOND_MULTIPLIER
    return z ^ (z >> np.uint64(31))
