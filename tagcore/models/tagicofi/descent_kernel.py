"""One round of the published gradient descent over some users.

Published is "for every dimension, all users"; here it is "for every user, all dimensions", which is the same: within a
round the graph term reads only what the round began with, and what else couples dimensions is the user's own residual.
After its turn a user's residual is that of its new vector and the old items, which is what the items' step wants.
"""

import numpy as np
from numba import njit

_FREE = {"reassoc", "contract", "nsz"}  # not "nnan" nor "ninf": what diverges must be seen


@njit(cache=True, nogil=True, fastmath=_FREE)
def descend(ratings, links, degrees, first, users, items, alpha, beta, step, sequential, moved, pull, curvature):
    """Moves users first .. first + n - 1 one step down, into `moved`; gives (squared error, roughness) before it.

    `ratings` and `links` are CSR (starts, ids, values) of these users. To `pull` (M × D) is added Σ e_ij U_i of the
    items, A step of 0 is the longest that is safe for each user;
    `curvature` then gets Σ |U_i|² of the items. `sequential` updates the
    residual after every dimension, otherwise all dimensions step from the same.
    """
    starts, ids, values = ratings
    link_starts, link_ids, link_values = links
    n, width = moved.shape
    most = 0
    for i in range(n):
        most = max(most, starts[i + 1] - starts[i])
    columns, residual = np.empty((width, most)), np.empty(most)
    rough, slope = np.empty(width), np.empty(width)
    squares = np.zeros(items.shape[0])
    if step == 0.0:
        for j in range(items.shape[0]):
            for d in range(width):
                squares[j] += items[j, d] * items[j, d]
    error, roughness = 0.0, 0.0
    for i in range(n):
        start, size = starts[i], starts[i + 1] - starts[i]
        own, new = users[first + i], moved[i]
        for d in range(width):
            rough[d] = degrees[i] * own[d]
        for p in range(link_starts[i], link_starts[i + 1]):
            strength, other = link_values[p], users[link_ids[p]]
            for d in range(width):
                rough[d] -= strength * other[d]
        for d in range(width):
            roughness += rough[d] * own[d]
        length = alpha + 2.0 * beta * degrees[i]
        for q in range(size):
            item = items[ids[start + q]]
            for d in range(width):
                columns[d, q] = item[d]
            residual[q] = values[start + q]
            if step == 0.0:
                length += squares[ids[start + q]]
        for d in range(width):
            column, u = columns[d], own[d]
            for q in range(size):
                residual[q] -= u * column[q]
        for q in range(size):
            error += residual[q] * residual[q]
        delta = step if step > 0.0 else (1.0 / length if length > 0.0 else 0.0)
        for d in range(width):
            column, total = columns[d], 0.0
            for q in range(size):
                total += residual[q] * column[q]
            slope[d] = delta * (alpha * own[d] + beta * rough[d] - total)
            if sequential:
                for q in range(size):
                    residual[q] += slope[d] * column[q]
        if not sequential:
            for d in range(width):
                column = columns[d]
                for q in range(size):
                    residual[q] += slope[d] * column[q]
        square = 0.0
        for d in range(width):
            new[d] = own[d] - slope[d]
            square += new[d] * new[d]
        for q in range(size):
            target, e = pull[ids[start + q]], residual[q]
            for d in range(width):
                target[d] += e * new[d]
            if step == 0.0:
                curvature[ids[start + q]] += square
    return error, roughness
