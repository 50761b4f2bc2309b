"""Items that the same users rated alike, and what their ratings say of another item."""

import math

import numpy as np
from numba import njit

from tagcore.kernels.sparse import first_at_least


@njit(cache=True, nogil=True)
def alike_items(first, last, by_item, by_user, squares, k, shrinkage):
    """(ids, likeness), each (last - first) × k, of the items most like items first .. last - 1, ids ascending.

    `by_item` and `by_user` are CSR (starts, ids, what biases leave of the ratings), `squares` Σ of their squares by
    item. Likeness is the cosine over all raters, times n / (n + shrinkage) for n common ones; only positive ones are
    kept, ties to the lower item. Empty places have item -1.
    """
    item_starts, raters, item_values = by_item
    user_starts, rated, user_values = by_user
    n_items = item_starts.size - 1
    ids, likeness = np.full((last - first, k), np.int32(-1)), np.zeros((last - first, k))
    products, common = np.zeros(n_items), np.zeros(n_items, np.int64)
    met = np.empty(n_items, np.int32)
    for i in range(first, last):
        found = 0
        for p in range(item_starts[i], item_starts[i + 1]):
            user, value = raters[p], item_values[p]
            for q in range(user_starts[user], user_starts[user + 1]):
                j = rated[q]
                if common[j] == 0:
                    met[found] = j
                    found += 1
                common[j] += 1
                products[j] += value * user_values[q]
        for j in met[:found]:
            both = squares[i] * squares[j]
            value = products[j] / math.sqrt(both) * common[j] / (common[j] + shrinkage) if both > 0.0 else 0.0
            products[j] = value if j != i else 0.0
            common[j] = 0
        values = products[met[:found]]
        bar = np.partition(values, found - k)[found - k] if found > k else 0.0
        ties = k
        for value in values:
            ties -= value > bar
        at = 0
        for j in np.sort(met[:found]):
            value = products[j]
            if value > 0.0 and (value > bar or (value == bar and ties > 0)):
                ties -= value == bar
                ids[i - first, at], likeness[i - first, at] = j, value
                at += 1
        for j in met[:found]:
            products[j] = 0.0
    return ids, likeness


@njit(cache=True, nogil=True)
def score_pairs(users, items, starts, rated, residuals, ids, likeness, scores):
    """Adds to `scores` of pairs what the neighbours of the item, among all that the user rated, say of it."""
    for n in range(users.size):
        u, i = users[n], items[n]
        if u < 0 or i < 0:
            continue
        above, below = 0.0, 0.0
        for c in range(ids.shape[1]):
            j = ids[i, c]
            if j < 0:
                break
            at = first_at_least(rated, starts[u], starts[u + 1], j)
            if at < starts[u + 1] and rated[at] == j:
                above += likeness[i, c] * residuals[at]
                below += likeness[i, c]
        if below > 0.0:
            scores[n] += above / below


@njit(cache=True, nogil=True)
def score_all(users, starts, rated, residuals, ids, likeness, scores):
    """As `score_pairs`, of all items of each user."""
    own, has = np.zeros(ids.shape[0]), np.zeros(ids.shape[0], np.bool_)
    for n in range(users.size):
        u = users[n]
        if u < 0:
            continue
        for p in range(starts[u], starts[u + 1]):
            own[rated[p]], has[rated[p]] = residuals[p], True
        for i in range(ids.shape[0]):
            above, below = 0.0, 0.0
            for c in range(ids.shape[1]):
                j = ids[i, c]
                if j < 0:
                    break
                if has[j]:
                    above += likeness[i, c] * own[j]
                    below += likeness[i, c]
            if below > 0.0:
                scores[n, i] += above / below
        for p in range(starts[u], starts[u + 1]):
            has[rated[p]] = False
