"""Labels as sparse matrices: those that a ranking names, and those whose score is above a threshold."""

import numpy as np
import scipy.sparse as sp

from tagcore.scoring.blocks import ScoreBlocks, checked_blocks


def top_k_labels(top: np.ndarray, n_labels: int) -> sp.csr_matrix:
    """Gives every row the labels that the ranking `top` (n, k) names, as CSR (n, n_labels)."""
    ids = np.sort(np.asarray(top), axis=1)
    n, k = ids.shape
    wrong = ((ids < 0) | (ids >= n_labels)).any(axis=1) | (np.diff(ids, axis=1) == 0).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row} of the ranking is {top[row]}, expected ids from 0 to {n_labels - 1}, each once")
    return _csr_of_labels(ids.ravel(), np.arange(n + 1) * k, n_labels)


def threshold_labels(score_blocks: ScoreBlocks, thresholds: np.ndarray) -> sp.csr_matrix:
    """Gives every row the labels whose score is above their threshold; thresholds may be infinite, not NaN."""
    thresholds = np.asarray(thresholds, np.float64)
    if thresholds.ndim != 1 or np.isnan(thresholds).any():
        raise ValueError("thresholds must be one number per label, none of them NaN")
    counts, labels = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    for _, scores in checked_blocks(score_blocks, len(thresholds)):
        above = scores > thresholds
        counts.append(np.count_nonzero(above, axis=1))
        labels.append(np.nonzero(above)[1])
    return _csr_of_labels(np.concatenate(labels), np.cumsum(np.concatenate(counts)), len(thresholds))


def _csr_of_labels(labels: np.ndarray, indptr: np.ndarray, n_labels: int) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(labels), np.int8), labels, indptr), shape=(len(indptr) - 1, n_labels))
