"""CSR rows of what is known to be good: scipy's constructors check it for longer than a row is scored."""

from functools import lru_cache

import numpy as np
import scipy.sparse as sp


def flat_copy(X: sp.csr_matrix) -> sp.csr_matrix:
    """Gives a matrix that shares the arrays of X until one is set: `copy.copy`, in a third of its time."""
    rows = object.__new__(type(X))
    rows.__dict__.update(X.__dict__)
    return rows


def rows_of_arrays(
    n_rows: int, n_columns: int, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> sp.csr_matrix:
    """Gives the rows of these arrays, whose indices and starts are of one type, the one that scipy would take."""
    rows = flat_copy(_empty_row(n_columns)) if n_rows == 1 else sp.csr_matrix((n_rows, n_columns))
    rows.data, rows.indices, rows.indptr = data, indices, indptr
    return rows


@lru_cache(maxsize=64)
def _empty_row(n_columns: int) -> sp.csr_matrix:
    return sp.csr_matrix((1, n_columns))
