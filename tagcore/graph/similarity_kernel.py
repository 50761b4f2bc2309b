"""How alike tag profiles are: for every row the others that share a tag with it, found through the tags."""

import math

import numpy as np
from numba import njit

from tagcore.kernels.copying import copy_into

COSINE, FULL_COSINE, PEARSON, OWN_PEARSON, EUCLIDEAN = range(5)
_FLAT = 1e-12  # a profile whose variance is below this share of its mean's square does not vary


@njit(cache=True, nogil=True)
def alike_rows(asked, known, index, itself, measure, least_common, most_rows, k):
    """(number of links of each asked row, their known rows, how alike), rows ascending.

    `asked` and `known` are profiles (starts, tags, weights, own figure of each row: its squared norm for FULL_COSINE,
    its mean weight for OWN_PEARSON); `index` has the known rows of each tag, `itself` the known row that an asked one
    is (-1 for none). Of tags in more than `most_rows` rows none is a candidate by them alone. Links need `least_common`
    tags; of each row the k most alike are kept (all where k is 0), ties to more common tags, then to the lower row.
    What is returned rises with likeness, so for EUCLIDEAN it is the negative squared distance. Sums run over common
    tags in their order, so that of two rows each finds the other exactly as alike.
    """
    starts, tags, weights, figures = asked
    index_starts, index_rows = index
    n = starts.size - 1
    own, has = np.zeros(index_starts.size - 1), np.zeros(index_starts.size - 1, np.bool_)
    met_by, met = np.full(known[0].size - 1, -1, np.int64), np.empty(known[0].size - 1, np.int32)
    sizes = np.zeros(n, np.int64)
    rows, values, total = np.empty(1024, np.int32), np.empty(1024), 0
    best_rows, best_values, best_common = np.empty(k, np.int32), np.empty(k), np.empty(k, np.int64)
    for i in range(n):
        found = 0
        for p in range(starts[i], starts[i + 1]):
            tag = tags[p]
            own[tag], has[tag] = weights[p], True
            if index_starts[tag + 1] - index_starts[tag] > most_rows:
                continue
            for q in range(index_starts[tag], index_starts[tag + 1]):
                j = index_rows[q]
                if met_by[j] != i and j != itself[i]:
                    met_by[j] = i
                    met[found] = j
                    found += 1
        candidates = np.sort(met[:found])
        before, kept = total, 0
        for j in candidates:
            value, common = _alike(own, has, known, j, figures[i], measure)
            if common < least_common:
                continue
            if k:
                kept = _enter(best_rows, best_values, best_common, kept, j, value, common)
                continue
            if total == rows.size:
                rows, values = _longer(rows), _longer(values)
            rows[total], values[total] = j, value
            total += 1
        if kept:
            while total + kept > rows.size:
                rows, values = _longer(rows), _longer(values)
            order = np.argsort(best_rows[:kept])
            for place in order:
                rows[total], values[total] = best_rows[place], best_values[place]
                total += 1
        sizes[i] = total - before
        for p in range(starts[i], starts[i + 1]):
            has[tags[p]] = False
    return sizes, rows[:total], values[:total]


@njit(cache=True, nogil=True)
def _alike(own, has, known, j, figure, measure):
    """(how alike, common tags) of the row whose weights are in `own` and known row j."""
    starts, tags, weights, figures = known
    common, mine, theirs = 0, 0.0, 0.0
    for p in range(starts[j], starts[j + 1]):
        if has[tags[p]]:
            common += 1
            mine += own[tags[p]]
            theirs += weights[p]
    centre, other_centre = 0.0, 0.0
    if measure == PEARSON:
        centre, other_centre = mine / common, theirs / common
    elif measure == OWN_PEARSON:
        centre, other_centre = figure, figures[j]
    xx, yy, xy, distance = 0.0, 0.0, 0.0, 0.0
    for p in range(starts[j], starts[j + 1]):
        if has[tags[p]]:
            x, y = own[tags[p]] - centre, weights[p] - other_centre
            xx += x * x
            yy += y * y
            xy += x * y
            distance += (own[tags[p]] - weights[p]) ** 2
    if measure == EUCLIDEAN:
        return -distance, common
    if measure == FULL_COSINE:
        xx, yy = figure, figures[j]
    flat = xx <= _FLAT * common * centre * centre or yy <= _FLAT * common * other_centre * other_centre
    if flat or xx * yy <= 0.0:
        return 0.0, common
    return min(1.0, max(-1.0, xy / math.sqrt(xx * yy))), common


@njit(cache=True, nogil=True)
def _enter(rows, values, commons, size, row, value, common):
    """Adds a row to the best so far, best first; rows come ascending, so an equal one goes behind."""
    at = size if size < rows.size else size - 1
    if size == rows.size and not _better(value, common, values[at], commons[at]):
        return size
    while at > 0 and _better(value, common, values[at - 1], commons[at - 1]):
        rows[at], values[at], commons[at] = rows[at - 1], values[at - 1], commons[at - 1]
        at -= 1
    rows[at], values[at], commons[at] = row, value, common
    return min(size + 1, rows.size)


@njit(cache=True, nogil=True)
def _better(value, common, other_value, other_common):
    return value > other_value or (value == other_value and common > other_common)


@njit(cache=True, nogil=True)
def _longer(array):
    grown = np.empty(2 * array.size, array.dtype)
    copy_into(grown, array)
    return grown
