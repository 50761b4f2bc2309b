"""Draws planted users with their ratings and tags: everything of user i from a stream keyed by (seed, i).

The first two coordinates carry the means: a user has (1, own bias, taste ...), an item (its mean, 1, taste ...), and
the inner product alone is the rating before noise.
"""

import numpy as np
from numba import njit

from tagcore.kernels.random.streams import branch, draw_alias, normal, open_stream, uniform

ITEMS, GROUPS, USERS = 1, 2, 3  # purposes of streams
MEANS = 2  # coordinates before those of taste
MEAN, ITEM_SPREAD, USER_SPREAD, TASTE_SPREAD = 3.5, 0.4, 0.4, 0.7  # in stars
SIZE_SPREAD = 0.8  # of the logarithm of how much a user rates and tags
LOWEST, HIGHEST = 0.5, 5.0
PATIENCE = 20  # draws per wanted rating or tag; there may be fewer than are wanted


@njit(cache=True, nogil=True)
def draw_items(seed, n_items, n_factors):
    """(n_items, MEANS + n_factors)."""
    items = np.empty((n_items, MEANS + n_factors))
    state = np.empty(1, np.uint64)
    for j in range(n_items):
        open_stream(branch(seed, ITEMS), j, state)
        items[j, 0] = MEAN + ITEM_SPREAD * normal(state)
        items[j, 1] = 1.0
        for d in range(n_factors):
            items[j, MEANS + d] = TASTE_SPREAD / np.sqrt(n_factors) * normal(state)
    return items


@njit(cache=True, nogil=True)
def draw_tastes(seed, n_groups, n_factors):
    """The taste that every group has in common (n_groups, n_factors)."""
    tastes = np.empty((n_groups, n_factors))
    state = np.empty(1, np.uint64)
    for g in range(n_groups):
        open_stream(branch(seed, GROUPS), g, state)
        for d in range(n_factors):
            tastes[g, d] = normal(state)
    return tastes


@njit(cache=True, nogil=True)
def draw_users(seed, first, n, tastes, kinship):
    """(vectors, groups) of users first .. first + n - 1; `kinship` is the share of the variance that is the group's."""
    vectors, groups = np.empty((n, MEANS + tastes.shape[1])), np.empty(n, np.int32)
    state = np.empty(1, np.uint64)
    for i in range(n):
        open_stream(branch(seed, USERS), first + i, state)
        groups[i] = _draw_user(tastes, kinship, vectors[i], state)
    return vectors, groups


@njit(cache=True, nogil=True)
def _draw_user(tastes, kinship, vector, state):
    group = int(uniform(state) * tastes.shape[0])
    vector[0] = 1.0
    vector[1] = USER_SPREAD * normal(state)
    for d in range(tastes.shape[1]):
        vector[MEANS + d] = np.sqrt(kinship) * tastes[group, d] + np.sqrt(1.0 - kinship) * normal(state)
    return group


@njit(cache=True, nogil=True)
def draw_ratings(
    seed, first, n, items, tastes, kinship, noise, mean_ratings, mean_taggings, taggers, stray, item_tables, tag_tables
):
    """((user, item, value), (user, item, tag)) of users first .. first + n - 1, users numbered from 0.

    The alias tables of tags have a row per group, its own tags, and a last one of any tag.
    """
    n_items, n_groups = items.shape[0], tastes.shape[0]
    state = np.empty(1, np.uint64)
    vector = np.empty(items.shape[1])
    sizes = np.empty((n, 2), np.int64)
    for i in range(n):
        open_stream(branch(seed, USERS), first + i, state)
        _draw_user(tastes, kinship, vector, state)
        sizes[i] = _sizes(n_items, mean_ratings, mean_taggings, taggers, state)
    n_ratings, n_taggings = sizes[:, 0].sum(), sizes[:, 1].sum()
    users, rated, values = np.empty(n_ratings, np.int32), np.empty(n_ratings, np.int32), np.empty(n_ratings)
    taggings = np.empty((3, n_taggings), np.int32)

    seen = np.full(n_items, -1, np.int64)  # the last user who rated the item
    at, tagged = 0, 0
    for i in range(n):
        open_stream(branch(seed, USERS), first + i, state)
        group = _draw_user(tastes, kinship, vector, state)
        n_rated, n_tagged = _sizes(n_items, mean_ratings, mean_taggings, taggers, state)
        begin = at
        for _ in range(PATIENCE * n_rated):
            item = draw_alias(0, item_tables, state)
            if seen[item] != i:
                seen[item] = i
                users[at], rated[at] = i, item
                values[at] = _stars(_inner(vector, items[item]) + noise * normal(state))
                at += 1
                if at == begin + n_rated:
                    break
        started = tagged
        for _ in range(PATIENCE * n_tagged):
            item = rated[begin + int(uniform(state) * (at - begin))]
            row = n_groups if uniform(state) < stray else group
            tag = _tag(row, n_groups, tag_tables, state)
            if not np.any((taggings[1, started:tagged] == item) & (taggings[2, started:tagged] == tag)):
                taggings[0, tagged], taggings[1, tagged], taggings[2, tagged] = i, item, tag
                tagged += 1
                if tagged == started + n_tagged:
                    break
    return (users[:at], rated[:at], values[:at]), (taggings[0, :tagged], taggings[1, :tagged], taggings[2, :tagged])


@njit(cache=True, nogil=True)
def _sizes(n_items, mean_ratings, mean_taggings, taggers, state):
    """How many ratings and taggings a user gives: log-normal, the same factor for both; some never tag."""
    factor = np.exp(SIZE_SPREAD * normal(state) - 0.5 * SIZE_SPREAD**2)
    n_ratings = max(1, min(n_items, int(mean_ratings * factor + 0.5)))
    if uniform(state) >= taggers:
        return n_ratings, 0
    return n_ratings, max(1, int(mean_taggings * factor + 0.5))


@njit(cache=True, nogil=True)
def _tag(row, n_groups, tables, state):
    """Tags g, g + n_groups, ... are those of group g; the last row is any tag."""
    place = draw_alias(row, tables, state)
    return place - tables[0][row] if row == n_groups else row + n_groups * (place - tables[0][row])


@njit(cache=True, nogil=True)
def _inner(a, b):
    """Added in order, not as BLAS pleases: the same stars on every machine."""
    total = 0.0
    for d in range(a.size):
        total += a[d] * b[d]
    return total


@njit(cache=True, nogil=True)
def _stars(value):
    """Rounded to half stars."""
    return min(HIGHEST, max(LOWEST, np.floor(2.0 * value + 0.5) / 2.0))
