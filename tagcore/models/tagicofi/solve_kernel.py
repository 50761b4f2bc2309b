"""Exact minimisers of one side of the factorisation, the other side and the graph's neighbours being fixed.

Row i has the system M_i x = b_i, M_i = B + Σ_q a_q y_q y_qᵀ + r_i I and b_i = Σ_q b_q y_q over its ratings q, y_q the
vectors of the other side. Ratings have a = 1, b = r and B = 0; counts have a = c - 1, b = c and B = Σ_j y_j y_jᵀ, c
being the confidence. Cholesky factors are kept as packed lower triangles. A row with fewer ratings than dimensions is
solved in its ratings: x = Σ_q z_q y_q where (Y Yᵀ + r I) z = b, and r z is what x leaves of b.
"""

import math

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into
from tagcore.models.tagicofi.columns_kernel import FREE, dot, five_dots, gather, scratch_columns, subtract_products


@njit(cache=True, nogil=True, fastmath=FREE)
def solve_rows(ratings, weights, others, base, ridges, solved):
    """Solves every row into `solved`; gives Σ (b - x·y)² + (a - 1)(x·y)² over all ratings, and Σ xᵀ B x."""
    starts, ids, values = ratings
    n, width = solved.shape
    columns, gram, inverses = scratch_columns(starts, width), np.empty((width, width + 4)), np.empty(width)
    error, spread = 0.0, 0.0
    for i in range(n):
        row, mine = solved[i], slice(starts[i], starts[i + 1])
        if starts[i + 1] - starts[i] < width and ridges[i] > 0.0 and not weights.size:
            error += _solve_few(ids[mine], values[mine], others, ridges[i], gram, inverses, row)
            continue
        rest = _normal_equations(ratings, weights, others, base, ridges[i], i, columns, gram, row)
        _factorise(gram, inverses)
        _forward(gram, inverses, row)
        _backward(gram, inverses, row)
        subtract_products(columns, row, rest)
        error += dot(rest, rest)
        if weights.size:
            for q in range(starts[i], starts[i + 1]):
                score = values[q] - rest[q - starts[i]]
                error += (weights[q] - 1.0) * score * score
        for c in range(width):
            for d in range(width):
                spread += row[c] * base[c, d] * row[d]
    return error, spread


@njit(cache=True, nogil=True, fastmath=FREE)
def _solve_few(ids, values, others, ridge, gram, inverses, row):
    """Solves a row with few ratings; gives its squared error."""
    z, inverses = values.copy(), inverses[: ids.size]
    for p in range(ids.size):
        for q in range(p + 1):
            gram[p, q] = dot(others[ids[p]], others[ids[q]])
        gram[p, p] += ridge
    _factorise(gram, inverses)
    _forward(gram, inverses, z)
    _backward(gram, inverses, z)
    row[:] = 0.0
    for q in range(ids.size):
        other = others[ids[q]]
        for d in range(row.size):
            row[d] += z[q] * other[d]
    return ridge * ridge * dot(z, z)


@njit(cache=True, nogil=True, fastmath=FREE)
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


@njit(cache=True, nogil=True, fastmath=FREE)
def factor_rows(ratings, weights, others, base, ridges, factors, rights):
    """The packed Cholesky factors of all systems, and their right sides."""
    n, width = rights.shape
    columns, gram, inverses = scratch_columns(ratings[0], width), np.empty((width, width + 4)), np.empty(width)
    for i in range(n):
        _normal_equations(ratings, weights, others, base, ridges[i], i, columns, gram, rights[i])
        _factorise(gram, inverses)
        at = 0
        for c in range(width):
            for d in range(c + 1):
                factors[i, at] = gram[c, d]
                at += 1


@njit(cache=True, nogil=True, fastmath=FREE)
def multiply_rows(factors, links, first, beta, rows, image, preconditioned):
    """image = M x - β S x of rows first .. first + n - 1 of x, and M⁻¹ image beside it."""
    link_starts, link_ids, link_values = links
    n, width = image.shape
    gram, inverses, neighbours = np.zeros((width, width)), np.empty(width), np.empty(width)
    for i in range(n):
        own = rows[first + i]
        _unpack(factors[i], gram, inverses)
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
        _forward(gram, inverses, neighbours)
        _backward(gram, inverses, neighbours)
        for d in range(width):
            preconditioned[i, d] = own[d] - neighbours[d]


@njit(cache=True, nogil=True, fastmath=FREE)
def solve_factored(factors, rights, solved):
    """solved = M⁻¹ rights, row by row."""
    n, width = rights.shape
    gram, inverses = np.zeros((width, width)), np.empty(width)
    for i in range(n):
        _unpack(factors[i], gram, inverses)
        copy_into(solved[i], rights[i])
        _forward(gram, inverses, solved[i])
        _backward(gram, inverses, solved[i])


@njit(cache=True, nogil=True, fastmath=FREE)
def _normal_equations(ratings, weights, others, base, ridge, i, columns, gram, right):
    """The lower triangle of M, in the first columns of `gram`, and the right side of row i; `columns`
    get its y. Gives its values."""
    starts, ids, values = ratings
    mine, width = slice(starts[i], starts[i + 1]), right.size
    own = gather(ids[mine], values[mine], others, columns)
    for c in range(width):
        weighed = columns[c, : own.size]
        if weights.size:
            weighed = weighed.copy()
            weighed[: starts[i + 1] - starts[i]] *= weights[mine]
        for d in range(0, c + 1, 5):
            gram[c, d], gram[c, d + 1], gram[c, d + 2], gram[c, d + 3], gram[c, d + 4] = five_dots(weighed, columns, d)
        for d in range(c + 1):
            gram[c, d] += base[c, d]
        gram[c, c] += ridge
        right[c] = dot(own, columns[c])
    return own


@njit(cache=True, nogil=True, fastmath=FREE)
def _factorise(gram, inverses):
    """The lower Cholesky factor in place, and what its diagonal is divided by; a direction without any weight gets
    none."""
    for c in range(inverses.size):
        for d in range(c):
            total = gram[c, d]
            for e in range(d):
                total -= gram[c, e] * gram[d, e]
            gram[c, d] = total * inverses[d]
        total = gram[c, c]
        for e in range(c):
            total -= gram[c, e] * gram[c, e]
        gram[c, c] = math.sqrt(total) if total > 0.0 else 0.0
        inverses[c] = 1.0 / gram[c, c] if total > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=FREE)
def _unpack(factor, gram, inverses):
    """The lower triangle that a packed factor is, and what divides by its diagonal."""
    at = 0
    for c in range(inverses.size):
        for d in range(c + 1):
            gram[c, d] = factor[at]
            at += 1
        inverses[c] = 1.0 / gram[c, c] if gram[c, c] > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=FREE)
def _forward(factor, inverses, x):
    for c in range(x.size):
        total = x[c]
        for d in range(c):
            total -= factor[c, d] * x[d]
        x[c] = total * inverses[c]


@njit(cache=True, nogil=True, fastmath=FREE)
def _backward(factor, inverses, x):
    for c in range(x.size - 1, -1, -1):
        x[c] *= inverses[c]
        for d in range(c):
            x[d] -= factor[c, d] * x[c]
