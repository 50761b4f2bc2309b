"""Linear support vector machines by dual coordinate descent (Hsieh et al., 2008)."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _dot(data, indices, start, stop, weights):
    # four sums side by side, as one waits for itself; compilers left to do so gather weights, which takes longer
    first = second = third = fourth = 0.0
    at = start
    while at + 4 <= stop:
        first += weights[indices[at]] * data[at]
        second += weights[indices[at + 1]] * data[at + 1]
        third += weights[indices[at + 2]] * data[at + 2]
        fourth += weights[indices[at + 3]] * data[at + 3]
        at += 4
    for p in range(at, stop):
        first += weights[indices[p]] * data[p]
    return (first + second) + (third + fourth)


@njit(cache=True, nogil=True)
def _add(data, indices, start, stop, factor, weights):
    for p in range(start, stop):
        weights[indices[p]] += factor * data[p]


@njit(cache=True, nogil=True)
def _shuffle(order, count, state):
    """The first `count` entries in a new order; returns the next state of the generator (xorshift64)."""
    for i in range(count):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = i + np.int64((state >> np.uint64(33)) % np.uint64(count - i))
        order[i], order[j] = order[j], order[i]
    return state


@njit(cache=True, nogil=True, error_model="numpy")
def dual_descent(data, indices, indptr, squares, rows, signs, upper, ridge, alpha, weights, tol, max_iter, state):
    """Solves min ½αᵀ(Q + ridge)α - Σα, 0 ≤ α ≤ upper, over the rows given; alpha and weights = Σ α·sign·x move on.

    upper and ridge are pairs for signs -1 and +1: (∞, 1/2C) is the squared hinge, (C, 0) the hinge. Rows whose α
    will stay at a bound are left out of later passes, and looked at once more before the end. Returns the number
    of passes and the largest difference of projected gradients in the last, which is at most tol on success.
    """
    weights[:] = 0.0
    for m in range(rows.size):
        if alpha[m] > 0.0:
            _add(data, indices, indptr[rows[m]], indptr[rows[m] + 1], alpha[m] * signs[m], weights)
    order = np.arange(rows.size)
    active = rows.size
    highest_before, lowest_before = np.inf, -np.inf
    gap = np.inf
    for done in range(1, max_iter + 1):
        state = _shuffle(order, active, state)
        highest, lowest = -np.inf, np.inf
        at = 0
        while at < active:
            m = order[at]
            start, stop, side = indptr[rows[m]], indptr[rows[m] + 1], int(signs[m] > 0)
            gradient = signs[m] * _dot(data, indices, start, stop, weights) - 1.0 + ridge[side] * alpha[m]
            at_lower, at_upper = alpha[m] == 0.0, alpha[m] == upper[side]
            if (at_lower and gradient > highest_before) or (at_upper and gradient < lowest_before):
                active -= 1
                order[at], order[active] = order[active], order[at]
                continue
            projected = gradient
            if at_lower:
                projected = min(gradient, 0.0)
            elif at_upper:
                projected = max(gradient, 0.0)
            highest, lowest = max(highest, projected), min(lowest, projected)
            if abs(projected) > 1e-12:
                moved = min(max(alpha[m] - gradient / (squares[rows[m]] + ridge[side]), 0.0), upper[side])
                _add(data, indices, start, stop, (moved - alpha[m]) * signs[m], weights)
                alpha[m] = moved
            at += 1
        gap = highest - lowest
        if gap > tol:
            highest_before = highest if highest > 0.0 else np.inf
            lowest_before = lowest if lowest < 0.0 else -np.inf
        elif active == rows.size:
            return done, gap
        else:
            active = rows.size
            highest_before, lowest_before = np.inf, -np.inf
    return max_iter, gap
