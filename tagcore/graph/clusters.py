"""Spectral recursive embedding: a graph of documents, tags and words, cut in two again and again (PMM, section 4)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tagcore.graph.bipartite import BipartiteGraph
from tagcore.graph.cuts import best_cut, edge_differences
from tagcore.graph.lanczos import second_pair
from tagcore.progress import Progress, no_progress

CHOICES = ("largest", "ncut")
_FEWEST = 5  # documents on either side of a cut
_LEAST_SHARE = 0.1  # of the documents of a cluster on either side


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


@dataclass(eq=False)
class _Cluster:
    rows: np.ndarray  # of the graph
    columns: np.ndarray
    alive: bool = True
    cut: "_Halves | None" = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class _Halves:
    row_side: np.ndarray  # True for the half that becomes a cluster of its own
    column_side: np.ndarray
    ncut: float
    sigma: float


def cut_into_clusters(
    graph: BipartiteGraph,
    n_clusters: int,
    *,
    choose: str = "largest",
    seed: int = 0,
    progress: Progress = no_progress,
) -> Clusters:
    """Cuts the graph until it has so many clusters or none can be cut.

    `choose` says which is cut next: the `largest` by documents, or that of least `ncut`, which crumbles text.
    """
    if choose not in CHOICES:
        raise ValueError(f"choose must be one of {CHOICES}, got {choose!r}")
    if n_clusters < 1:
        raise ValueError(f"n_clusters must be at least 1, got {n_clusters}")
    clusters = [_Cluster(np.arange(graph.documents.size), np.arange(graph.columns.size))]
    splits: list[SplitRecord] = []
    while len(clusters) < n_clusters:
        number = _next(clusters, graph.weights, choose, seed)
        if number is None:
            break
        splits.append(_cut(clusters, number))
        progress(len(clusters), n_clusters, {"ncut": splits[-1].ncut})
    row_labels, column_labels = np.empty(graph.documents.size, np.int64), np.empty(graph.columns.size, np.int64)
    for number, cluster in enumerate(clusters):
        row_labels[cluster.rows], column_labels[cluster.columns] = number, number
    column_labels = repaired_columns(graph.weights, row_labels, column_labels, len(clusters))
    return Clusters(
        graph.to_documents(row_labels, -1),
        graph.to_tags(column_labels, -1),
        graph.to_words(column_labels, -1),
        splits,
        len(clusters),
    )


def repaired_columns(
    weights: sp.csr_matrix, row_labels: np.ndarray, column_labels: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Moves columns without weight in their own cluster to the cluster that holds most of it, ties to the lower one."""
    edges = weights.tocoo()
    inside = edges.data * (row_labels[edges.row] == column_labels[edges.col])
    lost = np.flatnonzero(np.bincount(edges.col, inside, weights.shape[1]) <= 0)
    if not lost.size:
        return column_labels
    members = sp.csr_matrix(
        (np.ones(row_labels.size), (row_labels, np.arange(row_labels.size))), shape=(n_clusters, row_labels.size)
    )
    repaired = column_labels.copy()
    repaired[lost] = np.asarray((members @ weights[:, lost].tocsc()).todense()).argmax(axis=0)
    return repaired


def _next(clusters: list[_Cluster], weights: sp.csr_matrix, choose: str, seed: int) -> int | None:
    """Gives the cluster to cut, which then knows how; those that cannot be cut are marked."""
    while alive := [i for i, cluster in enumerate(clusters) if cluster.alive]:
        if choose == "largest":
            number = max(alive, key=lambda i: (clusters[i].rows.size, -i))
            _prepare(clusters[number], weights, seed)
            if clusters[number].alive:
                return number
            continue
        for i in alive:
            _prepare(clusters[i], weights, seed)
        able = [i for i in alive if clusters[i].alive]
        return min(able, key=lambda i: (clusters[i].cut.ncut, i)) if able else None  # type: ignore[union-attr]
    return None


def _prepare(cluster: _Cluster, weights: sp.csr_matrix, seed: int) -> None:
    if cluster.cut is None:
        cluster.cut = halve(weights[cluster.rows][:, cluster.columns], seed)
        cluster.alive = cluster.cut is not None


def _cut(clusters: list[_Cluster], number: int) -> SplitRecord:
    cluster = clusters[number]
    halves = cluster.cut
    assert halves is not None
    child = _Cluster(cluster.rows[halves.row_side], cluster.columns[halves.column_side])
    clusters[number] = _Cluster(cluster.rows[~halves.row_side], cluster.columns[~halves.column_side])
    clusters.append(child)
    sizes = clusters[number].rows.size, child.rows.size
    return SplitRecord(number, len(clusters) - 1, sizes, halves.ncut, halves.sigma)


def halve(weights: sp.csr_matrix, seed: int = 0) -> _Halves | None:
    """Gives the best cut of a graph in two; None where no cut leaves enough documents on both sides.

    Nodes that have lost all their edges go with the larger side.
    """
    weights = weights.tocsr()
    n = weights.shape[0]
    least = max(_FEWEST, int(_LEAST_SHARE * n))
    if n < 2 * least:
        return None
    d, e = np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()
    rows, columns = np.flatnonzero(d > 0), np.flatnonzero(e > 0)
    connected = weights[rows][:, columns]
    pieces = _pieces(connected)
    if pieces is None:
        halves = _spectral_halves(connected, least, seed)
    else:
        halves = _halves_of_pieces(connected, pieces, least) or _giant_halves(connected, pieces, least, seed)
    return None if halves is None else _with_isolated(halves, rows, columns, weights.shape)


def _pieces(weights: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray] | None:
    """Gives the connected component of every row and column; None where there is one."""
    m = weights.shape[0]
    square = sp.bmat([[None, weights], [weights.T, None]], format="csr")
    n_pieces, labels = connected_components(square, directed=False)
    return None if n_pieces == 1 else (labels[:m], labels[m:])


def _halves_of_pieces(weights: sp.csr_matrix, pieces: tuple[np.ndarray, np.ndarray], least: int) -> _Halves | None:
    """Gives whole components to the lighter side, largest first; None where a side then has too few documents."""
    of_rows, of_columns = pieces
    sizes = np.bincount(of_rows)
    heavy, counts = np.zeros(sizes.size, bool), [0, 0]
    for piece in np.lexsort((np.arange(sizes.size), -sizes)):
        side = int(counts[1] < counts[0])
        heavy[piece] = bool(side)
        counts[side] += int(sizes[piece])
    return _Halves(heavy[of_rows], heavy[of_columns], 0.0, 1.0) if min(counts) >= least else None


def _giant_halves(
    weights: sp.csr_matrix, pieces: tuple[np.ndarray, np.ndarray], least: int, seed: int
) -> _Halves | None:
    """Cuts the largest component; the others go with the larger side."""
    of_rows, of_columns = pieces
    giant = int(np.bincount(of_rows).argmax())
    rows, columns = np.flatnonzero(of_rows == giant), np.flatnonzero(of_columns == giant)
    halves = _spectral_halves(weights[rows][:, columns], least, seed)
    return None if halves is None else _with_isolated(halves, rows, columns, weights.shape)


def _with_isolated(halves: _Halves, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> _Halves:
    larger = bool(2 * np.count_nonzero(halves.row_side) > halves.row_side.size)
    row_side, column_side = np.full(shape[0], larger), np.full(shape[1], larger)
    row_side[rows], column_side[columns] = halves.row_side, halves.column_side
    return _Halves(row_side, column_side, halves.ncut, halves.sigma)


def _spectral_halves(weights: sp.csr_matrix, least: int, seed: int) -> _Halves | None:
    """Orders rows and columns by the second singular vectors and takes the place of least Ncut."""
    d, e = np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()
    if min(weights.shape) < 2:
        return None
    volume = d.sum()
    scaled = sp.diags(d**-0.5) @ weights @ sp.diags(e**-0.5)
    sigma, u, v = second_pair(sp.csr_matrix(scaled), np.sqrt(d / volume), np.sqrt(e / volume), seed=seed)
    x, y = u * d**-0.5, v * e**-0.5
    if x[np.abs(x).argmax()] < 0:
        x, y = -x, -y
    values = np.concatenate([x, y])
    order = np.argsort(values, kind="stable")
    places = np.empty(order.size, np.int64)
    places[order] = np.arange(order.size)
    differences = edge_differences(weights, places[: x.size], places[x.size :])
    cut = best_cut(differences, np.concatenate([d, e])[order], order < x.size, least)
    if cut is None:
        return None
    side = places >= cut.size
    return _Halves(side[: x.size], side[x.size :], cut.ncut, sigma)


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
