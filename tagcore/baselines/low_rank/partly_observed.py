"""Learning from tags of which only some cells were observed."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagcore.base import Progress, label_matrix
from tagcore.baselines.low_rank.base import _LowRank
from tagcore.kernels.sparse import add_transposed_product, multiply_dense
from tagcore.shards import Arrays, Executor, Shards, row_shards

_SHARD_ROWS, _MOST_SHARDS = 1024, 8


class _PartlyObserved(_LowRank):
    """A model of low rank whose `fit` can be told which cells of y were observed."""

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        observed: Any = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learns from CSR rows X and tags y; `observed` (n × L, CSR or dense, above 0 where a cell was seen) hides
        all other cells of y, whatever they hold.
        """
        self._observed = observed
        try:
            return super().fit(X, y, executor=executor, progress=progress)
        finally:
            del self._observed

    def _row_shards(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> Shards:
        """The rows with their tags, and with their observed cells where not all were."""
        n = X.shape[0]
        observed = None if self._observed is None else self._seen(Y)
        cuts = row_shards(n, min(_MOST_SHARDS, -(-n // _SHARD_ROWS)))
        parts = [_part(X[cut], Y[cut], None if observed is None else observed[cut]) for cut in cuts]
        return Shards(parts, dict, self._executor, [cut.start for cut in cuts])

    def _seen(self, Y: sp.csr_matrix) -> sp.csr_matrix:
        """The observed cells as ones."""
        seen = label_matrix(self._observed, Y.shape[0])
        if seen.shape != Y.shape:
            raise ValueError(f"observed has shape {seen.shape}, expected that of y, {Y.shape}")
        if seen.nnz == 0:
            raise ValueError("observed hides every cell of y: there is nothing to learn from")
        seen.data[:] = 1.0
        return seen


def _part(X: sp.csr_matrix, Y: sp.csr_matrix, observed: sp.csr_matrix | None) -> Arrays:
    part = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    part |= {"n_words": np.array(X.shape[1]), "n_tags": np.array(Y.shape[1])}
    if observed is not None:
        Y = Y.multiply(observed).tocsr()
        truth = (observed + Y).astype(np.float32)  # 1 where only observed, 2 where also true
        part |= {"cell_ids": truth.indices, "cell_starts": truth.indptr, "cell_truth": truth.data - 1}
    return part | {"tag_ids": Y.indices, "tag_starts": Y.indptr}


def truth_of(part: Arrays) -> sp.csr_matrix:
    """The tags of a shard, ones."""
    ids, starts = part["tag_ids"], part["tag_starts"]
    return sp.csr_matrix((np.ones(ids.size, np.float32), ids, starts), shape=(starts.size - 1, int(part["n_tags"])))


def embed(part: Arrays, factors: np.ndarray) -> np.ndarray:
    """The rows of a shard times the factors."""
    out = np.empty((part["indptr"].size - 1, factors.shape[1]), np.float32)
    multiply_dense(part["data"], part["indices"], part["indptr"], factors, out)
    return out


def to_words(part: Arrays, values: np.ndarray) -> np.ndarray:
    """The transposed rows of a shard times the values."""
    out = np.zeros((int(part["n_words"]), values.shape[1]), np.float32)
    add_transposed_product(part["data"], part["indices"], part["indptr"], np.ascontiguousarray(values), out)
    return out
