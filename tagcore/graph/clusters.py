"""Spectral recursive embedding: a graph of documents, tags and words, cut in two again and again (PMM, section 4).

The documents lie in shards. A cluster of many edges is cut by passes over all of them; one of few is put together where
it is cut, several at a time. How a cluster is cut depends on nothing but itself, so that neither order nor place count.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.graph.halving import Factors, Halves, edges_of, halve, halve_on_shards
from tagcore.graph.low_rank import ThinFactors
from tagcore.graph.policies import scales
from tagcore.graph.shard_kernel import weights_inside
from tagcore.shards import Arrays, Shard, Shards

CHOICES = ("largest", "ncut")
LOCAL_EDGES = 10_000_000  # a cluster of no more is cut by one process: 120 MB
_AHEAD = 8  # clusters that are cut side by side, though the last of them may not be needed
_UNKNOWN, _KNOWN, _WHOLE = 0, 1, 2  # how a cluster is cut; whole: it cannot be


@dataclass(frozen=True)
class SplitRecord:
    """How a cluster was cut: it keeps its number on one side, `child` is the other."""

    parent: int
    child: int
    documents: tuple[int, int]
    ncut: float
    sigma: float  # the second singular value; 1 where the cluster was in pieces


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of every document, tag and word of the data, -1 where the graph does not reach it."""

    documents: np.ndarray
    tags: np.ndarray
    words: np.ndarray
    splits: list[SplitRecord]
    n_clusters: int  # reached: fewer than wanted where nothing is left to cut


class CutLearner:
    """Learner of the cuts, one a round, on shards of documents: CSR blocks of the edges [Y | B].

    `scale` is the factor of every column, 0 for one that is not in the graph (see `column_scale`). `choose` says which
    cluster is cut next: the `largest` by documents, or that of least `ncut`, which crumbles text. With thin `factors`
    of the graph every cluster is cut from these, by one process (see `low_rank`).
    """

    def __init__(
        self,
        scale: np.ndarray,
        n_clusters: int,
        *,
        choose: str = "largest",
        seed: int = 0,
        local_edges: int = LOCAL_EDGES,
        factors: ThinFactors | None = None,
    ) -> None:
        if choose not in CHOICES:
            raise ValueError(f"choose must be one of {CHOICES}, got {choose!r}")
        if n_clusters < 1:
            raise ValueError(f"n_clusters must be at least 1, got {n_clusters}")
        self.scale, self.n_clusters, self.choose, self.seed = scale, n_clusters, choose, seed
        self.local_edges, self.factors = local_edges, factors

    def init(self, shards: Shards) -> Arrays:
        counts = shards.collect(edge_counts, scale=self.scale)
        edges = np.concatenate([found["rows"] for found in counts])
        reached = np.sum([found["columns"] for found in counts], axis=0) > 0
        return {
            "rows": np.where(edges > 0, 0, -1).astype(np.int32),  # the cluster of every document
            "columns": np.where(reached, 0, -1).astype(np.int32),
            "edges": edges,
            "row_sides": np.zeros(edges.size, bool),  # of the next cut of its cluster, where that is known
            "column_sides": np.zeros(reached.size, bool),
            "cuts": np.zeros((self.n_clusters, 3)),  # of every cluster: whether it is known, Ncut, σ₂
            "splits": np.zeros((self.n_clusters - 1, 6)),  # parent, child, documents of each, Ncut, σ₂
            "reached": np.array(1),
        }

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, dict[str, float]]:
        arrays = {name: values.copy() for name, values in arrays.items()}
        parent, count = self._next(shards, arrays), int(arrays["reached"])
        if parent is None:
            return arrays, {"clusters": float(count), "stuck": 1.0}
        for nodes, sides in (("rows", "row_sides"), ("columns", "column_sides")):
            arrays[nodes][(arrays[nodes] == parent) & arrays[sides]] = count
        sizes = (arrays["rows"] == parent).sum(), (arrays["rows"] == count).sum()
        arrays["splits"][count - 1] = (parent, count, *sizes, *arrays["cuts"][parent, 1:])
        arrays["cuts"][[parent, count]] = 0.0
        arrays["reached"] = np.array(count + 1)
        return arrays, {"clusters": count + 1.0, "stuck": 0.0, "ncut": float(arrays["splits"][count - 1, 4])}

    def done(self, history: list[dict[str, float]]) -> bool:
        return bool(history[-1]["stuck"])

    def _next(self, shards: Shards, arrays: Arrays) -> int | None:
        """Gives the cluster to cut, which then is known how to; None where none can be."""
        count, labels = int(arrays["reached"]), arrays["rows"]
        sizes = np.bincount(labels[labels >= 0], minlength=count)
        while True:
            known, ncut = arrays["cuts"][:count, 0], arrays["cuts"][:count, 1]
            alive = np.flatnonzero(known != _WHOLE)
            if not alive.size:
                return None
            alive = alive[np.lexsort((alive, -sizes[alive] if self.choose == "largest" else ncut[alive]))]
            unknown = alive[known[alive] == _UNKNOWN]
            if not unknown.size or (self.choose == "largest" and known[alive[0]] == _KNOWN):
                return int(alive[0])
            self._find_cuts(shards, arrays, unknown[: min(_AHEAD, self.n_clusters - count)])

    def _find_cuts(self, shards: Shards, arrays: Arrays, wanted: np.ndarray) -> None:
        """Finds how to cut the first cluster, and where it is a small one also others that are small."""
        labels = arrays["rows"]
        edges = np.bincount(labels[labels >= 0], arrays["edges"][labels >= 0])
        if self.factors is None and edges[wanted[0]] > self.local_edges:
            members = labels == wanted[0], arrays["columns"] == wanted[0]
            _note(arrays, wanted[0], halve_on_shards(shards, *members, self.scale, self.seed))
            return
        small = wanted if self.factors else wanted[edges[wanted] <= self.local_edges]
        shared = {"rows": labels, "columns": arrays["columns"], "scale": self.scale}
        clusters = shards.regroup(take_cluster, small.tolist(), _stacked, **shared)
        thin = [self._factors_of(labels == number, arrays["columns"] == number) for number in small]
        found = clusters.collect(halve_step, seed=self.seed, factors=tuple(thin))
        for number, halves in zip(small, found, strict=True):
            _note(arrays, number, Halves(**halves) if halves else None)

    def _factors_of(self, rows: np.ndarray, columns: np.ndarray) -> Factors | None:
        """Gives the thin factors of one cluster."""
        thin = self.factors
        return None if thin is None else (thin.left[rows], thin.sigma, thin.right[columns])


def column_scale(shards: Shards, n_tags: int, policy: str) -> np.ndarray:
    """Gives the factor of every column of [Y | B] under a policy (see `scales`), 0 for one without an edge."""
    sums = shards.sum(edge_sums, n_tags=n_tags)
    tags, words = sums["tags"], sums["words"]
    gamma, beta = scales(float(tags.sum()), float(words.sum()), policy)
    return np.concatenate([np.where(tags > 0, gamma, 0.0), np.where(words > 0, beta, 0.0)])


def put_together(shards: Shards, most: int) -> Shards:
    """Gives one shard of all documents where they have so few edges that one process cuts them all, else the shards."""
    small = int(shards.sum(count_edges)["edges"]) <= most
    return shards.regroup(_all_edges, [0], _stacked) if small else shards


def clusters_of(shards: Shards, arrays: Arrays, scale: np.ndarray, n_tags: int) -> Clusters:
    """Gives the clusters that a `CutLearner` found, columns without weight in their own repaired."""
    count = int(arrays["reached"])
    columns = repaired_columns(shards, arrays["rows"], arrays["columns"], scale, count).astype(np.int64)
    splits = [
        SplitRecord(int(p), int(c), (int(a), int(b)), float(n), float(s)) for p, c, a, b, n, s in arrays["splits"]
    ]
    return Clusters(arrays["rows"].astype(np.int64), columns[:n_tags], columns[n_tags:], splits[: count - 1], count)


def repaired_columns(
    shards: Shards, rows: np.ndarray, columns: np.ndarray, scale: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Moves columns without weight in their own cluster to the cluster that holds most of it, ties to the lower one."""
    inside = shards.sum(inside_step, rows=rows, columns=columns, scale=scale)["inside"]
    lost = np.flatnonzero((inside <= 0) & (columns >= 0))
    if not lost.size:
        return columns
    weights = shards.sum(weights_by_cluster, rows=rows, lost=lost, scale=scale, n_clusters=n_clusters)["weights"]
    repaired = columns.copy()
    repaired[lost] = weights.argmax(axis=0)
    return repaired


def _note(arrays: Arrays, number: int, halves: Halves | None) -> None:
    if halves is None:
        arrays["cuts"][number, 0] = _WHOLE
        return
    arrays["cuts"][number] = _KNOWN, float(halves.ncut), float(halves.sigma)
    arrays["row_sides"][arrays["rows"] == number] = halves.row_side
    arrays["column_sides"][arrays["columns"] == number] = halves.column_side


def edge_sums(shard: Shard, state: Arrays, n_tags: int) -> Arrays:
    """Step: the weight of every tag and of every word."""
    totals = np.bincount(shard.data.indices, shard.data.data, shard.data.shape[1])
    return {"tags": totals[:n_tags], "words": totals[n_tags:]}


def count_edges(shard: Shard, state: Arrays) -> Arrays:
    """Step: the number of edges."""
    return {"edges": np.array(shard.data.nnz)}


def _all_edges(shard: Shard, state: Arrays, key: int) -> sp.csr_matrix:
    return shard.data


def edge_counts(shard: Shard, state: Arrays, scale: np.ndarray) -> Arrays:
    """Step: the edges of every row, and of every column."""
    block, live = shard.data, scale[shard.data.indices] > 0
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    columns = np.bincount(block.indices[live], minlength=scale.size)
    return {"rows": np.bincount(rows[live], minlength=block.shape[0]), "columns": columns}


def take_cluster(
    shard: Shard, state: Arrays, number: int, rows: np.ndarray, columns: np.ndarray, scale: np.ndarray
) -> sp.csr_matrix:
    """Gives the edges of one cluster that lie in this shard."""
    own = np.flatnonzero(rows[shard.first : shard.first + shard.data.shape[0]] == number)
    members = np.flatnonzero(columns == number)
    block = shard.data[own][:, members]
    block.data = block.data * scale[members][block.indices]
    return block


def _stacked(*blocks: sp.csr_matrix) -> sp.csr_matrix:
    return sp.vstack(blocks, format="csr")


def halve_step(shard: Shard, state: Arrays, seed: int, factors: tuple[Factors | None, ...]) -> dict[str, Any]:
    """Step: how the cluster that the shard is cut; nothing where it cannot be."""
    halves = halve(shard.data, seed, factors[shard.number])
    return {} if halves is None else vars(halves)


def inside_step(shard: Shard, state: Arrays, rows: np.ndarray, columns: np.ndarray, scale: np.ndarray) -> Arrays:
    """Step: the weight of every column from documents of its own cluster."""
    own, out = rows[shard.first : shard.first + shard.data.shape[0]], np.zeros(scale.size)
    weights_inside(edges_of(shard.data), own, columns, scale, out)
    return {"inside": out}


def weights_by_cluster(
    shard: Shard, state: Arrays, rows: np.ndarray, lost: np.ndarray, scale: np.ndarray, n_clusters: int
) -> Arrays:
    """Step: the weight of these columns in every cluster."""
    own = rows[shard.first : shard.first + shard.data.shape[0]]
    kept = np.flatnonzero(own >= 0)
    members = sp.csr_matrix((np.ones(kept.size), (own[kept], kept)), shape=(n_clusters, own.size))
    return {"weights": np.asarray((members @ shard.data[:, lost]).todense()) * scale[lost]}


def split_tree(splits: list[SplitRecord]) -> dict[str, Any]:
    """Gives the splits as a tree of plain data: leaves are clusters, inner nodes have the Ncut that parted them."""
    leaves: dict[int, dict[str, Any]] = {0: {"cluster": 0}}
    root = leaves[0]
    for record in splits:
        node = leaves[record.parent]
        node.pop("cluster")
        node |= {"ncut": record.ncut, "sigma": record.sigma, "documents": sum(record.documents)}
        halves = [
            {"cluster": c, "documents": n} for c, n in zip((record.parent, record.child), record.documents, strict=True)
        ]
        node["halves"] = halves
        leaves[record.parent], leaves[record.child] = halves
    return root
