"""Rows of unit length, as most models want them."""

import scipy.sparse as sp
from sklearn.preprocessing import normalize


def normalise_rows(X: sp.csr_matrix, wanted: bool) -> sp.csr_matrix:
    """Brings rows to unit Euclidean length, those of zeros left; gives X itself where that is not wanted."""
    return normalize(X) if wanted else X
