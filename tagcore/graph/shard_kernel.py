"""Passes over the edges of a shard of documents: no copy of the edges is made, whichever cluster is looked at.

`edges` are (weights, columns, starts) of all rows of the shard; `scale` is the factor of every column, 0 where a column
is not of the cluster, whose edges then are gone.
"""

from numba import njit


@njit(cache=True, nogil=True)
def degrees_within(edges, rows, scale, degrees, columns):
    """Fills the degree of each of the rows, and adds to that of every column; returns how many edges are left."""
    weights, ids, starts = edges
    left = 0
    for i in range(rows.size):
        total = 0.0
        for q in range(starts[rows[i]], starts[rows[i] + 1]):
            weight = weights[q] * scale[ids[q]]
            total += weight
            columns[ids[q]] += weight
            left += weight > 0.0
        degrees[i] = total
    return left


@njit(cache=True, nogil=True)
def times_gram(edges, rows, degrees, x, out):
    """Adds Cᵀ D⁻¹ C x of the rows to `out`: each row is read once from memory for both products."""
    weights, ids, starts = edges
    for i in range(rows.size):
        if degrees[i] <= 0.0:
            continue
        total = 0.0
        for q in range(starts[rows[i]], starts[rows[i] + 1]):
            total += weights[q] * x[ids[q]]
        total /= degrees[i]
        for q in range(starts[rows[i]], starts[rows[i] + 1]):
            out[ids[q]] += weights[q] * total


@njit(cache=True, nogil=True)
def row_means(edges, rows, degrees, x, out):
    """Fills D⁻¹ C x of the rows; 0 for one without an edge."""
    weights, ids, starts = edges
    for i in range(rows.size):
        out[i] = 0.0
        if degrees[i] > 0.0:
            for q in range(starts[rows[i]], starts[rows[i] + 1]):
                out[i] += weights[q] * x[ids[q]]
            out[i] /= degrees[i]


@njit(cache=True, nogil=True)
def _root(parents, node):
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(cache=True, nogil=True)
def join_columns(edges, rows, scale, parents):
    """Joins the columns that a row touches; each column then has the lowest of those it is joined with as parent."""
    _, ids, starts = edges
    for i in range(rows.size):
        first = -1
        for q in range(starts[rows[i]], starts[rows[i] + 1]):
            if scale[ids[q]] <= 0.0:
                continue
            root = _root(parents, ids[q])
            if first < 0:
                first = root
            elif root < first:
                parents[first] = root
                first = root
            else:
                parents[root] = first
    for node in range(parents.size):
        parents[node] = _root(parents, node)


@njit(cache=True, nogil=True)
def pieces_of_rows(edges, rows, scale, pieces, out):
    """Fills the component of each row, that of any of its columns; -1 for one without an edge."""
    _, ids, starts = edges
    for i in range(rows.size):
        out[i] = -1
        for q in range(starts[rows[i]], starts[rows[i] + 1]):
            if scale[ids[q]] > 0.0:
                out[i] = pieces[ids[q]]
                break


@njit(cache=True, nogil=True)
def differences_of_edges(edges, rows, row_places, column_places, scale, out):
    """Adds what each node of an order adds to the weight that is cut after it: + where an edge begins, - where it
    ends."""
    weights, ids, starts = edges
    for i in range(rows.size):
        for q in range(starts[rows[i]], starts[rows[i] + 1]):
            weight = weights[q] * scale[ids[q]]
            if weight > 0.0:
                out[min(row_places[i], column_places[ids[q]])] += weight
                out[max(row_places[i], column_places[ids[q]])] -= weight


@njit(cache=True, nogil=True)
def weights_inside(edges, row_labels, column_labels, scale, out):
    """Adds to each column its weight from rows of its own cluster."""
    weights, ids, starts = edges
    for i in range(row_labels.size):
        for q in range(starts[i], starts[i + 1]):
            if column_labels[ids[q]] == row_labels[i]:
                out[ids[q]] += weights[q] * scale[ids[q]]
