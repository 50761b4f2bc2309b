"""Rows in shards, with tags of which all cells or only some were observed, and products with them."""

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.sparse import add_transposed_product, multiply_dense
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays, Shards, row_shards
from tagcore.training import FitContext

_SHARD_ROWS, _MOST_SHARDS = 1024, 8


def shards_with_cells(X: sp.csr_matrix, Y: sp.csr_matrix, context: FitContext) -> Shards:
    """Cuts the rows into shards, with their tags, and with their observed cells where not all were."""
    cuts = row_shards(X.shape[0], min(_MOST_SHARDS, -(-X.shape[0] // _SHARD_ROWS)))
    cells = context.observed
    parts = [_part(X[cut], Y[cut], None if cells is None else cells[cut]) for cut in cuts]
    return Shards(parts, dict, context.executor, [cut.start for cut in cuts])


def _part(X: sp.csr_matrix, Y: sp.csr_matrix, observed: sp.csr_matrix | None) -> Arrays:
    part = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    part |= {"n_words": np.array(X.shape[1]), "n_tags": np.array(Y.shape[1])}
    if observed is not None:
        Y = Y.multiply(observed).tocsr()
        truth = (observed + Y).astype(np.float32)  # 1 where only observed, 2 where also true
        part |= {"cell_ids": truth.indices, "cell_starts": truth.indptr, "cell_truth": truth.data - 1}
    return part | {"tag_ids": Y.indices, "tag_starts": Y.indptr}


def label_rows(part: Arrays) -> sp.csr_matrix:
    """Gives the label matrix of a shard, of ones."""
    ids, starts = part["tag_ids"], part["tag_starts"]
    return sp.csr_matrix((np.ones(ids.size, np.float32), ids, starts), shape=(starts.size - 1, int(part["n_tags"])))


def project_rows(part: Arrays, factors: np.ndarray) -> np.ndarray:
    """Gives X·factors, X the rows of a shard."""
    out = np.empty((part["indptr"].size - 1, factors.shape[1]), np.float32)
    multiply_dense(part["data"], part["indices"], part["indptr"], freeze(factors), out)
    return out


def sum_by_word(part: Arrays, values: np.ndarray) -> np.ndarray:
    """Gives Xᵀ·values, X the rows of a shard."""
    out = np.zeros((int(part["n_words"]), values.shape[1]), np.float32)
    add_transposed_product(part["data"], part["indices"], part["indptr"], np.ascontiguousarray(values), out)
    return out
