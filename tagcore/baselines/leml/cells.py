"""The cells of Y that the loss of LEML runs over: all of them, block by block, or those that were observed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.baselines.low_rank.kernels.dots import cell_scores
from tagcore.shards import Arrays

_BLOCK_CELLS = 2**18  # a few arrays of that many float32 stay in the cache


@dataclass(frozen=True)
class AllCells:
    """Every cell of a run of rows; values are a dense block."""

    rows: slice
    truth: np.ndarray

    def scores(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """left · rightᵀ at the cells."""
        return left[self.rows] @ right.T

    def to_rows(self, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        """values · right."""
        return values @ right

    def to_tags(self, values: np.ndarray, left: np.ndarray) -> np.ndarray:
        """valuesᵀ · left."""
        return values.T @ left[self.rows]

    def sum_by_tag(self, values: np.ndarray) -> np.ndarray:
        return values.sum(axis=0, dtype=np.float64)


@dataclass(frozen=True)
class ObservedCells:
    """The observed cells of all rows of a shard; values are those of a CSR matrix."""

    rows: slice
    truth: np.ndarray
    ids: np.ndarray
    starts: np.ndarray
    tags: int

    def scores(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        out = np.empty(self.ids.size, np.float32)
        cell_scores(left, right, self.ids, self.starts, out)
        return out

    def to_rows(self, values: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self._matrix(values) @ right

    def to_tags(self, values: np.ndarray, left: np.ndarray) -> np.ndarray:
        return self._matrix(values).T @ left

    def sum_by_tag(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.ids, values, minlength=self.tags)

    def _matrix(self, values: np.ndarray) -> sp.csr_matrix:
        return sp.csr_matrix((values, self.ids, self.starts), shape=(self.starts.size - 1, self.tags))


Cells = AllCells | ObservedCells


def cells_of(part: Arrays) -> Iterator[Cells]:
    """Yields the cells of one shard: the observed ones at once, or all cells, a few rows at a time."""
    starts, tags = part["tag_starts"], int(part["n_tags"])
    n = starts.size - 1
    if "cell_ids" in part:
        yield ObservedCells(slice(0, n), part["cell_truth"], part["cell_ids"], part["cell_starts"], tags)
        return
    step = max(1, _BLOCK_CELLS // tags)
    for first in range(0, n, step):
        last = min(first + step, n)
        truth = np.zeros((last - first, tags), np.float32)
        rows = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        truth[rows, part["tag_ids"][starts[first] : starts[last]]] = 1.0
        yield AllCells(slice(first, last), truth)
