"""Term weights as scikit-learn's TfidfTransformer gives them."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.text import tfidf as kernel
from tagcore.numeric.unchecked_rows import rows_of_arrays
from tagcore.text.tokens import Sequences

NORMS = {None: 0, "l1": 1, "l2": 2}
_MOST_INT32 = np.iinfo(np.int32).max


def inverse_document_frequency(df: np.ndarray, n_documents: int, smooth: bool, dtype: np.dtype) -> np.ndarray:
    """Gives ln(n / df) + 1, with one more document that holds every term if `smooth`."""
    if not smooth and not df.all():
        absent = int(np.flatnonzero(df == 0)[0])
        raise ValueError(f"term {absent} of the vocabulary is in no document: its idf needs smooth_idf=True")
    smoothed_df = df.astype(dtype) + dtype.type(smooth)
    return np.log(dtype.type(n_documents + smooth) / smoothed_df) + dtype.type(1)


class Weighting(NamedTuple):
    """How counts become weights."""

    idf: np.ndarray
    sublinear: bool
    norm: str | None
    binary: bool
    field_weights: np.ndarray

    def of_sequences(self, sequences: Sequences, ends: np.ndarray) -> sp.csr_matrix:
        """Gives the weights of texts, which come as the columns of their terms; `ends` are those of their fields."""
        n_terms = self.idf.size
        values, indices, indptr = kernel.count(*sequences, ends, self.field_weights, n_terms, self.binary)
        weights = kernel.weigh(values, indices, indptr, self.idf, self.sublinear, NORMS[self.norm])
        return _csr(weights, indices, indptr, n_terms)

    def of_counts(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Gives the weights of counted rows, which hold no zeros and are sorted."""
        values = np.ones(counts.nnz) if self.binary else counts.data.astype(np.float64)
        indices, indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int64)
        weights = kernel.weigh(values, indices, indptr, self.idf, self.sublinear, NORMS[self.norm])
        return _csr(weights, indices, indptr, counts.shape[1])


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int) -> sp.csr_matrix:
    n = indptr.size - 1
    if indptr[-1] <= _MOST_INT32 and width <= _MOST_INT32:
        rows = rows_of_arrays(n, width, data, indices, indptr.astype(np.int32))
    else:  # scipy copies both index arrays to the wider type of the two
        rows = sp.csr_matrix((data, indices, indptr), shape=(n, width))
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows
