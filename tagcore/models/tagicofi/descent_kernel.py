"""One round of the published gradient descent over some users.

Published is "for every dimension, all users"; here it is "for every user, all dimensions", which is the same: within a
round the graph term reads only what the round began with, and what else couples dimensions is the user's own residual.
After its turn a user's residual is that of its new vector and the old items, which is what the items' step wants.
"""

import numpy as np
from numba import njit, uint32, uint64

from tagcore.kernels.copying import copy_into
from tagcore.models.tagicofi.columns_kernel import (
    FREE,
    add_and_dot,
    dot,
    gather,
    scratch_columns,
    subtract_products,
)


@njit(cache=True, nogil=True, fastmath=FREE)
def descend(ratings, links, degrees, first, users, items, alpha, beta, step, sequential, moved, asked):
    """Moves users first .. first + n - 1 one step down, into `moved`; gives what was before it:
    (squared error, roughness, Σ |U_i|²).

    `ratings` and `links` are CSR (starts, ids, values) of these users. To the first D columns of `asked` is added
    Σ e_ij U_i of the items, to the next one Σ |U_i|². A step of 0 is the longest that is safe for each user.
    `sequential` updates the residual after every dimension, otherwise all dimensions step from the same.
    """
    starts, ids, values = ratings
    link_starts, link_ids, link_values = links
    n, width = moved.shape
    columns = scratch_columns(starts, width)
    rough, slope, wide = np.empty(width), np.empty(width), np.zeros(asked.shape[1])
    error, roughness, squares = 0.0, 0.0, 0.0
    for i in range(n):
        rated = slice(starts[i], starts[i + 1])
        own, new = users[first + i], moved[i]
        near = slice(link_starts[i], link_starts[i + 1])
        _differences(link_ids[near], link_values[near], users, degrees[i], own, rough)
        for d in range(width):
            roughness += rough[d] * own[d]
            squares += own[d] * own[d]
        mine = gather(ids[rated], values[rated], items, columns)
        length = subtract_products(columns, own, mine)
        error += dot(mine, mine)
        length += alpha + 2.0 * beta * degrees[i]
        delta = step if step > 0.0 else (1.0 / length if length > 0.0 else 0.0)
        along = dot(mine, columns[0])
        for d in range(width):
            following = columns[min(d + 1, width - 1)]
            slope[d] = delta * (alpha * own[d] + beta * rough[d] - along)
            along = add_and_dot(mine, slope[d], columns[d], following) if sequential else dot(mine, following)
        for d in range(width):
            new[d] = own[d] - slope[d]
            if not sequential:
                add_and_dot(mine, slope[d], columns[d], columns[d])
        copy_into(wide, new)
        _scatter(ids[rated], mine, wide, width, asked)
    return error, roughness, squares


@njit(cache=True, nogil=True, fastmath=FREE)
def _differences(link_ids, strengths, users, degree, own, rough):
    """rough = degree · own - Σ strength · neighbour, five sums at a time, which stay in registers."""
    d = 0
    while d + 5 <= own.size:
        a, b, c, e, f = 0.0, 0.0, 0.0, 0.0, 0.0
        for p in range(link_ids.size):
            s, other = strengths[p], users[link_ids[p]]
            a += s * other[d]
            b += s * other[d + 1]
            c += s * other[d + 2]
            e += s * other[d + 3]
            f += s * other[d + 4]
        rough[d], rough[d + 1], rough[d + 2], rough[d + 3], rough[d + 4] = a, b, c, e, f
        d += 5
    while d < own.size:
        a = 0.0
        for p in range(link_ids.size):
            a += strengths[p] * users[link_ids[p], d]
        rough[d] = a
        d += 1
    for d in range(own.size):
        rough[d] = degree * own[d] - rough[d]


@njit(cache=True, nogil=True, fastmath=FREE)
def _scatter(ids, residual, new, width, asked):
    """Adds e · new to the rows of the items, and |new|² behind it; `new` ends with zeros, as long as a row."""
    square = 0.0
    for d in range(width):
        square += new[d] * new[d]
    behind = uint64(width)
    for q in range(uint64(ids.size)):
        r, row = residual[q], asked[uint32(ids[q])]
        for d in range(uint64(new.size)):
            row[d] += r * new[d]
        row[behind] += square


@njit(cache=True, nogil=True, fastmath=FREE)
def step_items(items, asked, rough, degrees, alpha, gamma, step, moved):
    """Moves items one step down, into `moved`; gives (Σ |V_j|², roughness) before it.

    `asked` is what `descend` made, `rough` (M × D, or nothing where γ is 0) what the graph of items asks.
    """
    squares, roughness = 0.0, 0.0
    width = items.shape[1]
    for j in range(items.shape[0]):
        curvature = alpha + asked[j, width] + 2.0 * gamma * degrees[j]
        length = step if step > 0.0 else (1.0 / curvature if curvature > 0.0 else 0.0)
        for d in range(width):
            own = items[j, d]
            slope = alpha * own - asked[j, d]
            squares += own * own
            if rough.size:
                slope += gamma * rough[j, d]
                roughness += rough[j, d] * own
            moved[j, d] = own - length * slope
    return squares, roughness
