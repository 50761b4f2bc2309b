"""Bags of words that come already counted, as CSR rows."""

import numpy as np
import scipy.sparse as sp


def clean_counts(counts: sp.spmatrix, width: int, first: int = 0, *, signed: bool = False) -> sp.csr_matrix:
    """Gives sorted rows without zeros; ValueError where a count is no number or a column is missing.

    Unless `signed`, a count below 0 is wrong as well. `first` is the number of the first row, for the message.
    """
    if not sp.issparse(counts) or counts.ndim != 2:
        raise ValueError(f"expected a sparse matrix of counts, got {type(counts).__name__}")
    if counts.shape[1] != width:
        raise ValueError(f"expected counts of {width} columns, got {counts.shape[1]}")
    rows = sp.csr_matrix(counts)
    wrong = ~np.isfinite(rows.data)
    if not signed:
        wrong |= rows.data < 0
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        row, value = int(np.searchsorted(rows.indptr, place, side="right")) - 1, rows.data[place]
        expected = "a number ≥ 0"
        if value < 0 and np.isfinite(value):
            expected += " (values that are no counts need use_idf=False, sublinear_tf=False and binary=False)"
        raise ValueError(f"row {first + row}, column {rows.indices[place]}: count {value}, expected {expected}")
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def bag_frequencies(rows: sp.csr_matrix) -> dict[str, np.ndarray]:
    """Counts in clean rows how many have each column, and sums its sizes; columns in no row are left out."""
    width = rows.shape[1]
    df = np.bincount(rows.indices, minlength=width)
    tf = np.bincount(rows.indices, weights=np.abs(rows.data), minlength=width)
    ids = np.flatnonzero(df)
    return {"ids": ids, "df": df[ids], "tf": tf[ids], "n_documents": np.array(rows.shape[0])}
