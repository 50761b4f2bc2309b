"""Scores of users and items. A score is added up in the order of dimensions: it is the same alone and among all.

Someone without a rating and without a neighbour gets the fallback of the item, an item of that kind that of the user.
"""

import numpy as np
from numba import njit


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
            row[:] = item_fallbacks
            continue
        start = means[0] + biases[u]
        for i in range(row.size):
            row[i] = start + item_biases[i]
        for d in range(vectors.shape[1]):
            weight, column = vectors[u, d], columns[d]
            for i in range(row.size):
                row[i] += weight * column[i]
        for i in range(row.size):
            if not item_live[i]:
                row[i] = fallbacks[u]
    return scores
