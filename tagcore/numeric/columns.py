"""Columns of CSR rows: some of them, and those of several matrices side by side."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.sparse import column_range, place_rows
from tagcore.numeric.read_only import freeze, frozen_rows
from tagcore.numeric.unchecked_rows import rows_of_arrays


def take_columns(X: sp.csr_matrix, start: int, stop: int) -> sp.csr_matrix:
    """Gives the columns start..stop - 1 of rows whose columns rise.

    >>> take_columns(sp.csr_matrix([[1.0, 0.0, 2.0]]), 1, 3).toarray()
    array([[0., 2.]])
    """
    if (start, stop) == (0, X.shape[1]):
        return X
    if X.shape[0] == 1:  # of one row they stand behind one another
        start_stop = np.array([start, stop], X.indices.dtype)
        first, end = X.indices.searchsorted(start_stop)
        starts = np.array([0, end - first], X.indptr.dtype)
        return rows_of_arrays(1, stop - start, X.data[first:end], X.indices[first:end] - start_stop[0], starts)
    return rows_of_arrays(X.shape[0], stop - start, *freeze(column_range(*frozen_rows(X), start, stop)))


def join_columns(blocks: Sequence[sp.csr_matrix]) -> sp.csr_matrix:
    """Puts the columns of all blocks, which have the same rows, behind one another: scipy's `hstack`, quick for a row.

    >>> join_columns([sp.csr_matrix([[1.0, 0.0]]), sp.csr_matrix([[2.0]])]).toarray()
    array([[1., 0., 2.]])
    """
    if len(blocks) == 1:
        return blocks[0]
    width = sum(block.shape[1] for block in blocks)
    shifts = accumulate((block.shape[1] for block in blocks[:-1]), initial=0)
    dtype = np.int32 if max(sum(block.nnz for block in blocks), width) < 2**31 else np.int64
    if blocks[0].shape[0] == 1:  # of one row they stand behind one another as they are
        data = np.concatenate([block.data for block in blocks])
        shifted = [np.add(block.indices, shift, dtype=dtype) for block, shift in zip(blocks, shifts, strict=True)]
        return rows_of_arrays(1, width, data, np.concatenate(shifted), np.array([0, data.size], dtype))
    lengths = sum(np.diff(block.indptr).astype(np.int64) for block in blocks)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    data, indices = np.empty(indptr[-1], np.result_type(*blocks)), np.empty(indptr[-1], dtype)
    starts = indptr[:-1].copy()
    for block, shift in zip(blocks, shifts, strict=True):
        place_rows(block.data, block.indices, block.indptr, shift, starts, data, indices)
    return rows_of_arrays(blocks[0].shape[0], width, data, indices, indptr.astype(dtype))
