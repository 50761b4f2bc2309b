"""Passive-aggressive learning (Crammer et al., 2006) of a block of tags: a row is read once for all of them."""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into


@njit(cache=True, nogil=True, error_model="numpy")
def _steps_of_row(scores, tags, first, square, cost, squared, steps):
    """How far each tag moves along the row, with its sign: 0 where the margin is at least 1."""
    columns = scores.size
    if squared:
        scale, most = 1.0 / (square + 0.5 / cost), np.inf  # PA-II
    else:
        scale, most = 1.0 / square, cost  # PA-I
    for c in range(columns):
        steps[c] = -min(most, max(0.0, 1.0 + scores[c]) * scale)
    for tag in tags:
        c = tag - first
        if 0 <= c < columns:
            steps[c] = min(most, max(0.0, 1.0 - scores[c]) * scale)


@njit(cache=True, nogil=True)
def _add_steps(data, indices, start, stop, steps, touched, weights):
    for p in range(start, stop):
        value, row = data[p], weights[indices[p]]
        if 4 * touched.size > steps.size:  # the whole row, as vectors: steps of 0 change nothing
            for c in range(steps.size):
                row[c] += value * steps[c]
        else:
            for c in touched:
                row[c] += value * steps[c]


@njit(cache=True, nogil=True)
def learn_rows(data, indices, indptr, order, tag_ids, tag_starts, first, cost, squared, decay, weights, intercept):
    """Goes through the rows in that order; column c of `weights` (words × tags) is tag first + c.

    The intercept moves by `decay` of a step.
    """
    columns = weights.shape[1]
    scores, steps = np.empty(columns, weights.dtype), np.empty(columns, weights.dtype)
    touched = np.empty(columns, np.int64)
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        square = 0.0
        for p in range(start, stop):
            square += data[p] * data[p]
        if square == 0.0 and not squared:
            continue  # PA-I has no step without a direction
        copy_into(scores, intercept)
        for p in range(start, stop):
            value, row = data[p], weights[indices[p]]
            for c in range(columns):
                scores[c] += value * row[c]
        _steps_of_row(scores, tag_ids[tag_starts[i] : tag_starts[i + 1]], first, square, cost, squared, steps)
        count = 0
        for c in range(columns):
            touched[count] = c
            count += steps[c] != 0.0
        _add_steps(data, indices, start, stop, steps, touched[:count], weights)
        for c in touched[:count]:
            intercept[c] += decay * steps[c]
