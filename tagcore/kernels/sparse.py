"""Products of sparse rows: with dense matrices, with sparse ones, and with themselves.

Rows come as the three arrays of a CSR matrix, data, indices and indptr: one read of them serves all columns.
"""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def multiply_dense(data, indices, indptr, dense, out):
    """out = rows @ dense, each sum in the order of a row's entries."""
    columns = dense.shape[1]
    for i in range(indptr.size - 1):
        total = out[i]
        total[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value, row = data[p], dense[indices[p]]
            for c in range(columns):
                total[c] += value * row[c]


@njit(cache=True, nogil=True)
def add_transposed_product(data, indices, indptr, dense, out):
    """out += rowsᵀ @ dense, each sum in the order of the rows."""
    columns = dense.shape[1]
    for i in range(indptr.size - 1):
        row = dense[i]
        for p in range(indptr[i], indptr[i + 1]):
            value, total = data[p], out[indices[p]]
            for c in range(columns):
                total[c] += value * row[c]


@njit(cache=True, nogil=True, fastmath={"contract"})
def multiply_dense_fused(data, indices, indptr, dense, out):
    """out = rows @ dense, four entries of a row at a time, so that `out` is written a quarter as often.

    The same kernel makes the transposed product from CSC arrays: reading rows of `dense` is faster than scattering to
    rows of `out`. It rounds otherwise than `multiply_dense`, so that neither can stand for the other in a stored model.
    """
    columns = dense.shape[1]
    for i in range(out.shape[0]):
        total = out[i]
        total[:] = 0
        at, end = indptr[i], indptr[i + 1]
        while at + 4 <= end:
            a0, a1, a2, a3 = data[at], data[at + 1], data[at + 2], data[at + 3]
            b0, b1, b2, b3 = dense[indices[at]], dense[indices[at + 1]], dense[indices[at + 2]], dense[indices[at + 3]]
            for c in range(columns):
                total[c] += a0 * b0[c] + a1 * b1[c] + a2 * b2[c] + a3 * b3[c]
            at += 4
        for p in range(at, end):
            value, row = data[p], dense[indices[p]]
            for c in range(columns):
                total[c] += value * row[c]


@njit(cache=True, nogil=True)
def add_sparse_product(data, indices, indptr, other_data, other_indices, other_indptr, out):
    """out += rows @ other, both CSR, `out` dense."""
    for i in range(indptr.size - 1):
        total = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            value, word = data[p], indices[p]
            for q in range(other_indptr[word], other_indptr[word + 1]):
                total[other_indices[q]] += value * other_data[q]


@njit(cache=True, nogil=True)
def lower_gram(data, indices, indptr, word_data, documents, word_starts, out):
    """The lower triangle of XᵀX into `out`, from X as CSR with its words in order and as CSC."""
    for word in range(word_starts.size - 1):
        row = out[word]
        row[: word + 1] = 0.0
        for q in range(word_starts[word], word_starts[word + 1]):
            value, i = word_data[q], documents[q]
            for p in range(indptr[i], indptr[i + 1]):
                if indices[p] > word:
                    break
                row[indices[p]] += value * data[p]


@njit(cache=True, nogil=True)
def are_clean_rows(data, indices, indptr, columns):
    """Tells whether the columns of every row rise within 0..columns - 1, each once, and all values are finite."""
    if indptr[0] != 0 or indptr[-1] != indices.size or data.size != indices.size:
        return False
    for i in range(indptr.size - 1):
        if indptr[i + 1] < indptr[i] or indptr[i + 1] > indices.size:
            return False
        before = -1
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] <= before or not math.isfinite(data[p]):
                return False
            before = indices[p]
        if before >= columns:
            return False
    return True


@njit(cache=True, nogil=True)
def unit_rows(data, indptr):
    """Values of CSR rows divided by the Euclidean length of their row, rounded as scikit-learn's `normalize` does."""
    out = np.empty_like(data)
    for i in range(indptr.size - 1):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * data[p]
        length = np.sqrt(total) if total > 0.0 else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = data[p] / length
    return out


@njit(cache=True, nogil=True)
def first_at_least(values, low, high, wanted):
    """The place of the first of the rising values[low:high] that is at least as large as wanted, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def column_range(data, indices, indptr, start, stop):
    """(data, indices, indptr) of the columns start..stop - 1 of CSR rows whose columns rise, numbered from 0."""
    n = indptr.size - 1
    first = np.empty(n, np.int64)
    starts = np.zeros(n + 1, indptr.dtype)
    for i in range(n):
        first[i] = first_at_least(indices, indptr[i], indptr[i + 1], start)
        starts[i + 1] = starts[i] + first_at_least(indices, first[i], indptr[i + 1], stop) - first[i]
    values = np.empty(starts[n], data.dtype)
    columns = np.empty(starts[n], indices.dtype)
    for i in range(n):
        for p in range(starts[i + 1] - starts[i]):
            values[starts[i] + p] = data[first[i] + p]
            columns[starts[i] + p] = indices[first[i] + p] - start
    return values, columns, starts


@njit(cache=True, nogil=True)
def place_rows(data, indices, indptr, shift, starts, out_data, out_indices):
    """Copies CSR rows to where each starts in the output, its columns moved up by `shift`; moves the starts behind."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            out_data[starts[i]] = data[p]
            out_indices[starts[i]] = indices[p] + shift
            starts[i] += 1
