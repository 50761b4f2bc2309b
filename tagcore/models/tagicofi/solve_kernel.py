"""Exact minimisers of one side of the factorisation, the other side and the graph's neighbours being fixed.

Row i has the system M_i x = b_i, M_i = B + Σ_q a_q y_q y_qᵀ + r_i I and b_i = Σ_q b_q y_q over its ratings q, y_q the
vectors of the other side. Ratings have a = 1, b = r and B = 0; counts have a = c - 1, b = c and B = Σ_j y_j y_jᵀ, c
being the confidence. Cholesky factors are kept as packed lower triangles.
"""

import math

import numpy as np
from numba import njit

_FREE = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FREE)
def solve_rows(ratings, weights, others, base, ridges, solved):
    """Solves every row into `solved`; gives Σ (b - x·y)² + (a - 1)(x·y)² over all ratings, and Σ xᵀ B x."""
    starts, ids, values = ratings
    n, width = solved.shape
    gram, right = np.empty((width, width)), np.empty(width)
    error, spread = 0.0, 0.0
    for i in range(n):
        _normal_equations(ratings, weights, others, base, ridges[i], i, gram, right)
        _factorise(gram)
        row = solved[i]
        row[:] = right
        _forward(gram, row)
        _backward(gram, row)
        for q in range(starts[i], starts[i + 1]):
            other, score = others[ids[q]], 0.0
            for d in range(width):
                score += row[d] * other[d]
            error += (values[q] - score) ** 2
            if weights.size:
                error += (weights[q] - 1.0) * score * score
        for c in range(width):
            for d in range(width):
                spread += row[c] * base[c, d] * row[d]
    return error, spread


@njit(cache=True, nogil=True, fastmath=_FREE)
def squared_error(ratings, weights, others, base, rows):
    """What `solve_rows` gives, of rows that are known."""
    starts, ids, values = ratings
    n, width = rows.shape
    error, spread = 0.0, 0.0
    for i in range(n):
        for q in range(starts[i], starts[i + 1]):
            other, score = others[ids[q]], 0.0
            for d in range(width):
                score += rows[i, d] * other[d]
            error += (values[q] - score) ** 2
            if weights.size:
                error += (weights[q] - 1.0) * score * score
        for c in range(width):
            for d in range(width):
                spread += rows[i, c] * base[c, d] * rows[i, d]
    return error, spread


@njit(cache=True, nogil=True, fastmath=_FREE)
def factor_rows(ratings, weights, others, base, ridges, factors, rights):
    """The packed Cholesky factors of all systems, and their right sides."""
    n, width = rights.shape
    gram = np.empty((width, width))
    for i in range(n):
        _normal_equations(ratings, weights, others, base, ridges[i], i, gram, rights[i])
        _factorise(gram)
        at = 0
        for c in range(width):
            for d in range(c + 1):
                factors[i, at] = gram[c, d]
                at += 1


@njit(cache=True, nogil=True, fastmath=_FREE)
def multiply_rows(factors, links, first, beta, rows, image, preconditioned):
    """image = M x - β S x of rows first .. first + n - 1 of x, and M⁻¹ image beside it."""
    link_starts, link_ids, link_values = links
    n, width = image.shape
    gram, neighbours = np.zeros((width, width)), np.empty(width)
    for i in range(n):
        own = rows[first + i]
        at = 0
        for c in range(width):
            for d in range(c + 1):
                gram[c, d] = factors[i, at]
                at += 1
        neighbours[:] = 0.0
        for p in range(link_starts[i], link_starts[i + 1]):
            strength, other = beta * link_values[p], rows[link_ids[p]]
            for d in range(width):
                neighbours[d] += strength * other[d]
        half = preconditioned[i]
        for d in range(width):
            half[d] = 0.0
        for c in range(width):
            for d in range(c + 1):
                half[d] += gram[c, d] * own[c]
        for c in range(width):
            total = 0.0
            for d in range(c + 1):
                total += gram[c, d] * half[d]
            image[i, c] = total - neighbours[c]
        _forward(gram, neighbours)
        _backward(gram, neighbours)
        for d in range(width):
            preconditioned[i, d] = own[d] - neighbours[d]


@njit(cache=True, nogil=True, fastmath=_FREE)
def solve_factored(factors, rights, solved):
    """solved = M⁻¹ rights, row by row."""
    n, width = rights.shape
    gram = np.zeros((width, width))
    for i in range(n):
        at = 0
        for c in range(width):
            for d in range(c + 1):
                gram[c, d] = factors[i, at]
                at += 1
        solved[i] = rights[i]
        _forward(gram, solved[i])
        _backward(gram, solved[i])


@njit(cache=True, nogil=True, fastmath=_FREE)
def _normal_equations(ratings, weights, others, base, ridge, i, gram, right):
    """The lower triangle of M and the right side of row i."""
    starts, ids, values = ratings
    width = right.size
    for c in range(width):
        right[c] = 0.0
        for d in range(c + 1):
            gram[c, d] = base[c, d]
        gram[c, c] += ridge
    for q in range(starts[i], starts[i + 1]):
        other, value = others[ids[q]], values[q]
        weight = weights[q] if weights.size else 1.0
        for c in range(width):
            right[c] += value * other[c]
            x = weight * other[c]
            for d in range(c + 1):
                gram[c, d] += x * other[d]


@njit(cache=True, nogil=True, fastmath=_FREE)
def _factorise(gram):
    """The lower Cholesky factor in place; a direction without any weight gets none."""
    for c in range(gram.shape[0]):
        for d in range(c + 1):
            total = gram[c, d]
            for e in range(d):
                total -= gram[c, e] * gram[d, e]
            if c == d:
                gram[c, c] = math.sqrt(total) if total > 0.0 else 0.0
            else:
                gram[c, d] = total / gram[d, d] if gram[d, d] > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=_FREE)
def _forward(factor, x):
    for c in range(x.size):
        total = x[c]
        for d in range(c):
            total -= factor[c, d] * x[d]
        x[c] = total / factor[c, c] if factor[c, c] > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=_FREE)
def _backward(factor, x):
    for c in range(x.size - 1, -1, -1):
        total = x[c]
        for d in range(c + 1, x.size):
            total -= factor[d, c] * x[d]
        x[c] = total / factor[c, c] if factor[c, c] > 0.0 else 0.0
