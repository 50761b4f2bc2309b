"""The held-out rows by which early stopping chooses an iteration of BMLPL."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from tagcore.base import block_rows
from tagcore.metrics.auc import roc_auc
from tagcore.models.bmlpl.scores import Draws, scores
from tagcore.shards import Arrays


def validation_split(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Gives (rows to validate on, rows to learn from), both in order."""
    order = np.random.default_rng(seed).permutation(n)
    size = min(max(1, round(share * n)), n - 1)
    if size < 1:
        raise ValueError(f"early_stopping needs at least 2 rows, got {n}")
    return np.sort(order[:size]), np.sort(order[size:])


def row_auc(X: sp.csr_matrix, Y: sp.csr_matrix) -> Callable[[Arrays], float]:
    """Gives a function of the global arrays: the mean AUC of these rows."""
    tags = np.diff(Y.indptr)
    if not ((tags > 0) & (tags < Y.shape[1])).any():
        raise ValueError(f"early_stopping: none of the {X.shape[0]} rows held out has a tag and lacks one")

    def measure(arrays: Arrays) -> float:
        draws = Draws(np.ascontiguousarray(arrays["V"].T)[None], arrays["W"][None], arrays["r"][None])
        step = block_rows(Y.shape[1])
        cuts = [slice(i, min(i + step, X.shape[0])) for i in range(0, X.shape[0], step)]
        return roc_auc(Y, lambda: ((cut, scores(X[cut], draws, 1.0)) for cut in cuts)).row

    return measure
