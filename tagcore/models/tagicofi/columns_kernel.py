"""Vectors of what a row has rated, gathered dimension by dimension, so that passes over them run along memory.

Columns are as long as a multiple of eight, with zeros behind the last: so passes are whole vector instructions. Places
that are looked up are numbers without a sign: those with one are asked each time whether they count from the end.
"""

import numpy as np
from numba import njit, uint32, uint64

from tagcore.kernels.copying import copy_into

FREE = {"reassoc", "contract", "nsz"}  # not "nnan" nor "ninf": what diverges must be seen


def zero_rows(count, width):
    """Rows of at least so many zeros: no vector instruction on one of them reaches over the edge of a cache line."""
    width = -(-width // 4) * 4
    memory = np.zeros(count * width + 8)
    first = -memory.ctypes.data % 64 // memory.itemsize
    return memory[first : first + count * width].reshape(count, width)


@njit(cache=True, nogil=True)
def scratch_columns(starts, width):
    """Room for the columns of the longest row: `width` of them and zeros behind, to a multiple of five, then a last one
    for its values."""
    most = 0
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    return np.zeros(((width + 4) // 5 * 5 + 1, (most + 7) // 8 * 8))


@njit(cache=True, nogil=True)
def gather(ids, values, vectors, columns):
    """Fills in the columns of one row, five at a time, which is what stores keep up with; gives its values, as long as
    they are."""
    own, size, width = columns[columns.shape[0] - 1], (ids.size + 7) // 8 * 8, vectors.shape[1]
    d = 0
    while d + 5 <= width:
        v, w, x, y, z = columns[d], columns[d + 1], columns[d + 2], columns[d + 3], columns[d + 4]
        for q in range(uint64(ids.size)):
            vector = vectors[uint32(ids[q])]
            v[q], w[q], x[q], y[q], z[q] = vector[d], vector[d + 1], vector[d + 2], vector[d + 3], vector[d + 4]
        d += 5
    while d < width:
        for q in range(ids.size):
            columns[d, q] = vectors[ids[q], d]
        d += 1
    copy_into(own, values)
    columns[:, ids.size : size] = 0.0
    return own[:size]


@njit(cache=True, nogil=True, fastmath=FREE)
def subtract_products(columns, own, rest):
    """rest -= own · columns; gives Σ columns²."""
    square = 0.0
    for d in range(own.size):
        column, weight = columns[d], own[d]
        for q in range(rest.size):
            rest[q] -= weight * column[q]
            square += column[q] * column[q]
    return square


@njit(cache=True, nogil=True, fastmath=FREE)
def dot(left, right):
    total = 0.0
    for q in range(left.size):
        total += left[q] * right[q]
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def add_and_dot(rest, weight, column, following):
    """rest += weight · column; gives its product with the column that follows, in the same pass."""
    total = 0.0
    for q in range(rest.size):
        moved = rest[q] + weight * column[q]
        rest[q] = moved
        total += moved * following[q]
    return total


@njit(cache=True, nogil=True, fastmath=FREE)
def five_dots(left, columns, first):
    """The products of one vector with columns first .. first + 4, in one pass."""
    v, w, x, y, z = columns[first], columns[first + 1], columns[first + 2], columns[first + 3], columns[first + 4]
    a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
    for q in range(left.size):
        a += left[q] * v[q]
        b += left[q] * w[q]
        c += left[q] * x[q]
        d += left[q] * y[q]
        e += left[q] * z[q]
    return a, b, c, d, e
