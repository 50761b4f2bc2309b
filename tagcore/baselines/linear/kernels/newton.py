"""Newton systems (P + Xᵀ·V·X)·s = r of a block of tags: one read of the rows serves all columns.

P is a diagonal that all tags share, V a diagonal of each tag. Columns never mix, so that the answer for a tag does
not depend on its neighbours.
"""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into


@njit(cache=True, nogil=True)
def _diagonal(data, indices, indptr, curvature, penalty, out):
    columns = out.shape[1]
    for d in range(penalty.size):
        out[d] = penalty[d]
    for i in range(indptr.size - 1):
        of_row = curvature[i]
        for p in range(indptr[i], indptr[i + 1]):
            square, row = data[p] * data[p], out[indices[p]]
            for c in range(columns):
                row[c] += square * of_row[c]


@njit(cache=True, nogil=True)
def _product(data, indices, indptr, curvature, penalty, v, out):
    """out = (P + Xᵀ·V·X) @ v."""
    columns = v.shape[1]
    for d in range(penalty.size):
        for c in range(columns):
            out[d, c] = penalty[d] * v[d, c]
    margins = np.empty(columns, v.dtype)
    for i in range(indptr.size - 1):
        margins[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value, row = data[p], v[indices[p]]
            for c in range(columns):
                margins[c] += value * row[c]
        of_row = curvature[i]
        for c in range(columns):
            margins[c] *= of_row[c]
        for p in range(indptr[i], indptr[i + 1]):
            value, row = data[p], out[indices[p]]
            for c in range(columns):
                row[c] += value * margins[c]


@njit(cache=True, nogil=True)
def _dots(a, b, out):
    out[:] = 0.0
    for d in range(a.shape[0]):
        for c in range(a.shape[1]):
            out[c] += a[d, c] * b[d, c]


@njit(cache=True, nogil=True)
def _add_columns(a, factors, b):
    """a += b · factors, column by column."""
    for d in range(a.shape[0]):
        for c in range(a.shape[1]):
            a[d, c] += factors[c] * b[d, c]


@njit(cache=True, nogil=True)
def solve_systems(data, indices, indptr, curvature, penalty, r, tol, max_iter, s):
    """Solves each system until the residual r, which is overwritten, is `tol` of what it was; s starts at zero.

    Conjugate gradients, preconditioned by the diagonal.
    """
    # tagcore.numeric.conjugate_gradients does the same in numpy; here product, sums and updates are compiled together,
    # and a tag that is solved stands still while its neighbours go on
    columns = r.shape[1]
    inverse, direction, image = np.empty_like(r), np.empty_like(r), np.empty_like(r)
    _diagonal(data, indices, indptr, curvature, penalty, inverse)
    for d in range(r.shape[0]):
        for c in range(columns):
            inverse[d, c] = 1.0 / inverse[d, c]
            direction[d, c] = inverse[d, c] * r[d, c]
    s[:] = 0.0
    rho, dots, after = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    factors = np.zeros(columns, r.dtype)
    _dots(r, direction, rho)
    _dots(r, r, dots)
    goal = tol * tol * dots
    active = dots > goal
    for done in range(max_iter):
        if not active.any():
            return done
        _product(data, indices, indptr, curvature, penalty, direction, image)
        _dots(direction, image, dots)
        for c in range(columns):
            active[c] &= dots[c] > 0.0
            factors[c] = rho[c] / dots[c] if active[c] else 0.0
        _add_columns(s, factors, direction)
        _add_columns(r, -factors, image)
        _dots(r, r, dots)
        for d in range(r.shape[0]):
            for c in range(columns):
                image[d, c] = inverse[d, c] * r[d, c]
        _dots(r, image, after)
        for c in range(columns):
            active[c] &= dots[c] > goal[c]
            factors[c] = after[c] / rho[c] if active[c] else 0.0
        copy_into(rho, after)
        _add_columns(image, factors, direction)
        copy_into(direction, image)
