"""Rows of unit length, as most models want them."""

from copy import copy

import scipy.sparse as sp

from tagcore.kernels.sparse import unit_rows


def normalise_rows(X: sp.csr_matrix, wanted: bool) -> sp.csr_matrix:
    """Brings rows to unit Euclidean length, those of zeros left; gives X itself where that is not wanted.

    The bits are those of scikit-learn's `normalize`, whose checks take a hundred times as long for one row.
    """
    if not wanted:
        return X
    # read-only views: numba compiles anew for writable arrays
    data, indptr = X.data.view(), X.indptr.view()
    data.flags.writeable = indptr.flags.writeable = False
    rows = copy(X)  # flat: a constructor would check what is known to be good, for longer than a row is scored
    rows.data = unit_rows(data, indptr)
    # copies, as `normalize` gives: what reads these rows sees writable arrays wherever X came from
    rows.indices, rows.indptr = X.indices.copy(), X.indptr.copy()
    return rows
