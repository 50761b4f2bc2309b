"""The two sides of a factorisation, users and items, each in shards of equal work.

A row's own ratings and links lie in its shard; vectors of its neighbours outside (its halo) it reads from those of the
round's start, which all shards are given. So no shard sees another's half-made round.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.graph.similarity import TagGraph
from tagcore.shards import Arrays, Executor, InProcess, Shard, Shards

WORK = 500_000  # ratings and links of a shard, where their number is left open


@dataclass(frozen=True, eq=False)
class Side:
    """What is known of users, or of items: values that the inner products should reach, and links among them."""

    values: sp.csr_matrix  # own rows × rows of the other side; a stored 0 is a value
    weights: np.ndarray | None  # of the squares of inner products; None where all are 1
    graph: TagGraph
    ridge: float  # α
    pull: float  # β of users, γ of items

    @property
    def is_linked(self) -> bool:
        return self.pull > 0.0 and self.graph.links.nnz > 0

    def shards(self, n_shards: int | None, executor: Executor) -> Shards:
        """Cuts the rows into runs of about equal numbers of ratings and links; a single one stays in this thread, whose
        caches hold what the last round left."""
        links = self.graph.links
        work = np.cumsum(np.diff(self.values.indptr) + np.diff(links.indptr) + 1.0)
        count = n_shards or 1 + int(work[-1]) // WORK
        edges = np.searchsorted(work, work[-1] * np.arange(1, count) / count)
        edges = np.unique(np.concatenate(([0], edges, [work.size])))
        parts = [self._part(int(a), int(b)) for a, b in itertools.pairwise(edges)]
        executor = executor if len(parts) > 1 else InProcess()
        return Shards(parts, _unchanged, executor, [int(first) for first in edges[:-1]])

    def _part(self, first: int, last: int) -> dict[str, Any]:
        rated = slice(self.values.indptr[first], self.values.indptr[last])
        return {
            "ratings": csr_rows(self.values, first, last),
            "weights": np.empty(0) if self.weights is None else self.weights[rated],
            "links": csr_rows(self.graph.links, first, last),
            "degrees": self.graph.degrees[first:last],
        }


def roughness(shards: Shards, vectors: np.ndarray) -> float:
    """tr(U L Uᵀ): how much those who are linked differ, a sum over shards."""
    return float(shards.sum(_roughness_step, vectors=vectors)["roughness"])


def _roughness_step(shard: Shard, state: Arrays, vectors: np.ndarray) -> Arrays:
    starts, ids, strengths = shard.data["links"]
    own = vectors[shard.first : shard.first + starts.size - 1]
    links = sp.csr_matrix((strengths, ids, starts), shape=(starts.size - 1, vectors.shape[0]), copy=False)
    rough = (shard.data["degrees"][:, None] * own - links @ vectors) * own
    return {"roughness": rough.sum()}


def csr_rows(
    matrix: sp.csr_matrix, first: int = 0, last: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(starts, ids, values) of a run of rows, as kernels take them."""
    last = matrix.shape[0] if last is None else last
    part = slice(matrix.indptr[first], matrix.indptr[last])
    starts = matrix.indptr[first : last + 1].astype(np.int64) - int(matrix.indptr[first])
    return starts, matrix.indices[part].astype(np.int32), matrix.data[part].astype(np.float64)


def _unchanged(part: Any) -> Any:
    return part
