"""Rows made ready for BMLPL, in shards."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import Rows, load_part
from tagcore.models.bmlpl.rows import ShardRows
from tagcore.numeric.normalise import normalise_rows
from tagcore.shards import Executor, Shards, row_shards

_SHARD_ROWS = 256  # fewer would be more messages than work


@dataclass(frozen=True)
class RowPreparation:
    """How rows are scaled, typed and given their constant, wherever they are read."""

    dtype: str
    normalise: bool
    constant: bool

    def __call__(self, part: tuple[Any, sp.csr_matrix | None]) -> ShardRows:
        row_part, mask = part
        X, Y = load_part(row_part)
        X = normalise_rows(X, self.normalise).astype(self.dtype, copy=False)
        if self.constant:
            X = sp.hstack([X, np.ones((X.shape[0], 1), X.dtype)], format="csr")
        return ShardRows.from_matrices((X, Y, mask))


def prepared_shards(
    rows: Rows, mask: sp.csr_matrix | None, preparation: RowPreparation, n_shards: int, executor: Executor
) -> Shards:
    """Shards of prepared rows, each with its share of the mask."""
    cuts = row_shards(rows.n_rows, min(n_shards, -(-rows.n_rows // _SHARD_ROWS)))
    parts = [(rows.part(cut), None if mask is None else mask[cut]) for cut in cuts]
    return Shards(parts, preparation, executor, firsts=[cut.start for cut in cuts])
