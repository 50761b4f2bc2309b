"""How often words and tags meet, one word at a time, and the information that follows from it.

Counts are whole numbers up to n, so every x·log x is read from a table of n + 1 values. Numbers that index arrays are
unsigned: numba then looks for no negative ones, a third of the time of `add_meetings`.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def document_frequencies(data, indices, n_columns):
    """Rows with a value above 0 in each column, of CSR rows that hold no column twice."""
    df = np.zeros(n_columns, np.int64)
    for p in range(indices.size):
        df[indices[p]] += data[p] > 0
    return df


@njit(cache=True, nogil=True)
def postings(data, indices, indptr, df, order):
    """(starts, rows): the rows with a value above 0, column after column, as they come in the order given."""
    starts = np.zeros(df.size + 1, np.uint64)
    for column in range(df.size):
        starts[column + 1] = starts[column] + np.uint64(df[column])
    ends = starts[:-1].copy()
    rows = np.empty(starts[-1], np.uint32)
    for row in order:
        for p in range(indptr[row], indptr[row + 1]):
            if data[p] > 0:
                rows[ends[indices[p]]] = row
                ends[indices[p]] += np.uint64(1)
    return starts, rows


@njit(cache=True, nogil=True)
def keep_columns(data, indices, indptr, numbers):
    """(starts, ids) of CSR rows: their columns with a value above 0 and a new number, not -1, by that number."""
    starts = np.zeros(indptr.size, np.uint64)
    ids = np.empty(indices.size + 1, np.uint32)  # one more: each is written before it is known to stay
    kept = 0
    for row in range(indptr.size - 1):
        for p in range(indptr[row], indptr[row + 1]):
            number = numbers[indices[p]]
            ids[kept] = number
            kept += (number >= 0) & (data[p] > 0)
        starts[row + 1] = kept
    return starts, ids[:kept].copy()


@njit(cache=True, nogil=True)
def sum_never_met(word_dfs, tag_dfs, tags_with, xlogx):
    """n · Σ_t MI(w; t) for each document frequency of a word, had it met no tag; `tags_with` tags have each of theirs.

    The cells are 0, a, b and n - a - b; of x·log x of these and of the margins most cancels.
    """
    n = xlogx.size - 1
    sums = np.zeros(word_dfs.size)
    for i in range(word_dfs.size):
        a = word_dfs[i]
        for j in range(tag_dfs.size):
            b = tag_dfs[j]
            sums[i] += tags_with[j] * ((xlogx[max(n - a - b, 0)] - xlogx[n - a]) + (xlogx[n] - xlogx[n - b]))
    return sums


@njit(cache=True, nogil=True)
def add_meetings(starts, rows, tag_starts, tag_ids, df, xlogx, gains):
    """Adds to each word's gain what its meetings with tags change: n · MI less n · MI had they never met.

    With a and b documents of word and tag, of which n11 have both, the four cells are n11, a - n11, b - n11 and
    n - a - b + n11. Where a + b > n they cannot but meet: the last cell of the case "never" then counts as empty.
    """
    n = xlogx.size - 1
    together = np.zeros(df.size, np.uint32)
    met = np.empty(df.size + 1, np.uint32)  # one more, as above
    for word in range(starts.size - 1):
        found = np.uint64(0)
        for p in range(starts[word], starts[word + 1]):
            row = np.uint64(rows[p])
            for q in range(tag_starts[row], tag_starts[row + np.uint64(1)]):
                tag = tag_ids[q]
                met[found] = tag
                found += np.uint64(together[tag] == 0)
                together[tag] += np.uint32(1)
        a = np.int64(starts[word + 1] - starts[word])
        change = 0.0
        for i in range(found):
            tag = met[i]
            n11, b = np.int64(together[tag]), df[tag]
            neither = n - a - b
            together[tag] = 0
            # one addition to the sum per tag, for each has to wait for the one before
            change += (
                (xlogx[np.uint64(n11)] + (xlogx[np.uint64(a - n11)] - xlogx[np.uint64(a)]))
                + (xlogx[np.uint64(b - n11)] - xlogx[np.uint64(b)])
                + (xlogx[np.uint64(neither + n11)] - xlogx[np.uint64(max(neither, 0))])
            )
        gains[word] += change
