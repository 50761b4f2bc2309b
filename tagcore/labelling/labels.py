"""The labels that a ranking names, as a sparse matrix."""

import numpy as np
import scipy.sparse as sp


def top_k_labels(top: np.ndarray, n_labels: int) -> sp.csr_matrix:
    """Gives every row the labels that the ranking `top` (n, k) names, as CSR (n, n_labels)."""
    ids = np.sort(np.asarray(top), axis=1)
    n, k = ids.shape
    wrong = ((ids < 0) | (ids >= n_labels)).any(axis=1) | (np.diff(ids, axis=1) == 0).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row} of the ranking is {top[row]}, expected ids from 0 to {n_labels - 1}, each once")
    return sp.csr_matrix((np.ones(n * k, np.int8), ids.ravel(), np.arange(n + 1) * k), shape=(n, n_labels))
