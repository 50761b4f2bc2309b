"""Scores of users and items. A score is added up in the order of dimensions: it is the same alone and among all.

Someone without a rating and without a neighbour gets the fallback of the item, an item of that kind that of the user.
"""

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into

_BLOCK = 1024  # items whose scores stay in the nearest cache while all dimensions are added


@njit(cache=True, nogil=True)
def score_pairs(users, items, user_table, item_table, means):
    """One score for each pair; tables are (vectors, biases, fallbacks, live), ids below 0 are unknown.

    `means` are what is added to all products, and the answer where neither is known.
    """
    vectors, biases, fallbacks, live = user_table
    item_vectors, item_biases, item_fallbacks, item_live = item_table
    scores = np.empty(users.size)
    for n in range(users.size):
        u, i = users[n], items[n]
        if u < 0 or not live[u]:
            scores[n] = means[1] if i < 0 else item_fallbacks[i]
        elif i < 0 or not item_live[i]:
            scores[n] = fallbacks[u]
        else:
            score = means[0] + biases[u] + item_biases[i]
            for d in range(vectors.shape[1]):
                score += vectors[u, d] * item_vectors[i, d]
            scores[n] = score
    return scores


@njit(cache=True, nogil=True)
def score_all(users, user_table, columns, item_table, means):
    """All items of each user; `columns` (D × M) are the vectors of items."""
    vectors, biases, fallbacks, live = user_table
    _, item_biases, item_fallbacks, item_live = item_table
    scores = np.empty((users.size, item_biases.size))
    for n in range(users.size):
        u, row = users[n], scores[n]
        if u < 0 or not live[u]:
            copy_into(row, item_fallbacks)
            continue
        _score_run(vectors[u], means[0] + biases[u], columns, item_biases, 0, row)
        for i in range(row.size):
            if not item_live[i]:
                row[i] = fallbacks[u]
    return scores


@njit(cache=True, nogil=True)
def best_of_all(users, user_table, columns, item_table, unrated, means, seen, exclude_seen, k):
    """(items, scores), (n, k), of the best items of each user, ties to the lower item; -inf where there are fewer.

    `unrated` are the items that are not live and `seen` the lists (starts, items) of what users have rated, both
    ascending. Scores are made block by block and looked at while they are near: none is kept but the best.
    """
    vectors, biases, fallbacks, live = user_table
    _, item_biases, item_fallbacks, _ = item_table
    starts, rated = seen
    best, values = np.full((users.size, k), -1), np.full((users.size, k), -np.inf)
    block = np.empty(_BLOCK)
    for n in range(users.size):
        u = users[n]
        known = u >= 0 and live[u]
        dead, at, end = 0, 0, 0
        if exclude_seen and u >= 0:
            at, end = starts[u], starts[u + 1]
        for first in range(0, item_biases.size, _BLOCK):
            part = block[: min(_BLOCK, item_biases.size - first)]
            if known:
                _score_run(vectors[u], means[0] + biases[u], columns, item_biases, first, part)
                while dead < unrated.size and unrated[dead] < first + part.size:
                    part[unrated[dead] - first] = fallbacks[u]
                    dead += 1
            else:
                copy_into(part, item_fallbacks[first : first + part.size])
            while at < end and rated[at] < first + part.size:
                if rated[at] >= first:
                    part[rated[at] - first] = -np.inf
                at += 1
            _keep_best(part, first, best[n], values[n])
    return best, values


@njit(cache=True, nogil=True)
def _score_run(vector, start, columns, item_biases, first, scores):
    """Scores of items first .. first + n - 1, every one added up in the order of dimensions."""
    biases = item_biases[first : first + scores.size]
    for i in range(scores.size):
        scores[i] = start + biases[i]
    d, last = 0, first + scores.size
    while d + 4 <= vector.size:  # four at a time, so that scores are read and written a quarter as often
        w0, w1, w2, w3 = vector[d], vector[d + 1], vector[d + 2], vector[d + 3]
        c0, c1 = columns[d, first:last], columns[d + 1, first:last]
        c2, c3 = columns[d + 2, first:last], columns[d + 3, first:last]
        for i in range(scores.size):
            scores[i] = (((scores[i] + w0 * c0[i]) + w1 * c1[i]) + w2 * c2[i]) + w3 * c3[i]
        d += 4
    while d < vector.size:
        weight, column = vector[d], columns[d, first:last]
        for i in range(scores.size):
            scores[i] += weight * column[i]
        d += 1


@njit(cache=True, nogil=True)
def _keep_best(scores, first, best, values):
    """Enters scores above the worst of the best; a run that has none is passed over by counting alone."""
    bar, above = values[-1], 0
    for i in range(scores.size):
        above += scores[i] > bar
    if above == 0:
        return
    for i in range(scores.size):
        score = scores[i]
        if not score > values[-1]:
            continue
        at = values.size - 1
        while at > 0 and score > values[at - 1]:
            values[at], best[at] = values[at - 1], best[at - 1]
            at -= 1
        values[at], best[at] = score, first + i
