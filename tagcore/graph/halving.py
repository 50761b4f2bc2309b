"""One cut of a graph: its pieces first, then the place of least Ncut along the second vectors (PMM, section 4.2).

The documents may lie in shards, wherever those are: vectors over columns and one number for each document travel, and
every product Ĉᵀ(Ĉ x) is one sum over the shards.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tagcore.graph.cuts import best_cut
from tagcore.graph.lanczos import leading_pair
from tagcore.graph.low_rank import second_pair
from tagcore.graph.shard_kernel import (
    degrees_within,
    differences_of_edges,
    join_columns,
    pieces_of_rows,
    row_means,
    times_gram,
)
from tagcore.numeric.read_only import freeze, frozen_rows
from tagcore.shards import Arrays, Shard

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
Factors = tuple[np.ndarray, np.ndarray, np.ndarray]  # of a cluster: rows of P, σ, rows of S (see `low_rank`)

_FEWEST = 5  # documents on either side of a cut
_LEAST_SHARE = 0.1  # of the documents of a cluster on either side


@dataclass(frozen=True, eq=False)
class Halves:
    """The two sides of a cut."""

    row_side: np.ndarray  # True for the half that becomes a cluster of its own
    column_side: np.ndarray
    ncut: float
    sigma: float


class _Parts(Protocol):
    """What is needed of `Shards`."""

    def update(self, step: Callable[..., tuple[Arrays, Arrays]], **shared: Any) -> Arrays: ...
    def sum(self, step: Callable[..., Arrays], **shared: Any) -> Arrays: ...
    def collect(self, step: Callable[..., Any], **shared: Any) -> list: ...


class _Whole:
    """A graph in one part: steps run at once."""

    def __init__(self, edges: sp.csr_matrix) -> None:
        self._shard = Shard(0, 0, edges)
        self._state: Arrays = {}

    def update(self, step: Callable[..., tuple[Arrays, Arrays]], **shared: Any) -> Arrays:
        self._state, partial = step(self._shard, self._state, **shared)
        return partial

    def sum(self, step: Callable[..., Arrays], **shared: Any) -> Arrays:
        return step(self._shard, self._state, **shared)

    def collect(self, step: Callable[..., Any], **shared: Any) -> list:
        return [step(self._shard, self._state, **shared)]


def halve(edges: sp.csr_matrix, seed: int = 0, factors: Factors | None = None) -> Halves | None:
    """Gives the best cut of a graph in two; None where no cut leaves enough documents on both sides.

    Nodes that have lost all their edges go with the larger side. With thin factors the order of the nodes comes from
    them, the cut is still the best of the true edges.
    """
    rows, columns = (np.ones(n, bool) for n in edges.shape)
    return halve_on_shards(_Whole(edges), rows, columns, columns.astype(np.float64), seed, factors)


def halve_on_shards(
    shards: _Parts,
    chosen: np.ndarray,
    columns: np.ndarray,
    scale: np.ndarray,
    seed: int,
    factors: Factors | None = None,
) -> Halves | None:
    """Gives the best cut of the cluster of the chosen documents and columns (one bool each), as `halve` does."""
    least = fewest_documents(int(chosen.sum()))
    if chosen.sum() < 2 * least:
        return None
    halves = _Halving(shards, chosen, np.where(columns, scale, 0.0), factors).halves(least, seed)
    shards.update(leave_step)
    if halves is None:
        return None
    return Halves(halves.row_side, halves.column_side[columns], halves.ncut, halves.sigma)


class _Halving:
    """The cluster under the knife: shards know its rows, the driver the degrees of its columns."""

    def __init__(self, shards: _Parts, chosen: np.ndarray, scale: np.ndarray, factors: Factors | None) -> None:
        self.shards, self.chosen, self.factors = shards, chosen, factors
        self._enter(scale)

    def _enter(self, scale: np.ndarray) -> None:
        self.scale = scale
        self.degrees = self.shards.update(enter_step, chosen=self.chosen, scale=scale)["columns"]

    def halves(self, least: int, seed: int) -> Halves | None:
        """Gives the sides of all chosen documents and of all columns."""
        if not self.degrees.any():
            return None
        pieces = self._pieces()
        if pieces.max() > 0:
            sizes = self.shards.sum(piece_sizes, pieces=pieces, scale=self.scale)["sizes"]
            side = sides_of_pieces(sizes, least)
            if side is not None:
                found = self.shards.collect(rows_of_pieces, pieces=pieces, side=side, scale=self.scale)
                rows = np.concatenate(found)
                halves = Halves(rows[rows >= 0] > 0, side[pieces[pieces >= 0]], 0.0, 1.0)
                return self._all_nodes(halves, rows >= 0, pieces >= 0)
            self._enter(np.where(pieces == sizes.argmax(), self.scale, 0.0))
        return self._spectral(least, seed)

    def _pieces(self) -> np.ndarray:
        """Gives the connected component of every column, -1 for one without an edge."""
        n = self.scale.size
        roots = [np.asarray(found) for found in self.shards.collect(joined_columns, scale=self.scale)]
        pairs = np.concatenate(roots), np.tile(np.arange(n), len(roots))
        joined = sp.csr_matrix((np.ones(pairs[0].size, np.int8), pairs), shape=(n, n))
        _, labels = connected_components(joined, directed=False)
        live, pieces = self.degrees > 0, np.full(n, -1, np.int64)
        _, pieces[live] = np.unique(labels[live], return_inverse=True)
        return pieces

    def _second_pair(self, live: np.ndarray, seed: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Gives σ₂, the coordinates of rows and live columns that have edges, and the degrees of all rows."""
        root = np.sqrt(self.degrees[live])

        def whole(v: np.ndarray) -> np.ndarray:
            x = np.zeros(live.size)
            x[live] = v
            return x

        def multiply(v: np.ndarray) -> np.ndarray:
            z = self.shards.sum(gram_step, x=self.scale * whole(v / root))["z"]
            return (self.scale * z)[live] / root

        value, v = leading_pair(multiply, root / np.linalg.norm(root), seed=seed)
        sigma = float(np.sqrt(max(value, np.finfo(float).tiny)))
        coordinates = self.shards.collect(coordinate_step, x=self.scale * whole(v / root))
        rows = np.concatenate([found["degrees"] for found in coordinates])
        x = np.concatenate([found["x"] for found in coordinates])[rows > 0] / sigma
        return sigma, x, v / root, rows

    def _thin_pair(self, factors: Factors, live: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Gives the same from the thin factors of the cluster."""
        left, sigmas, right = factors
        rows = np.concatenate(self.shards.collect(degrees_of_rows))
        if np.count_nonzero(rows) < 2:
            return 0.0, rows[rows > 0], self.degrees[live], rows
        return *second_pair(left[rows > 0], sigmas, right[live], rows[rows > 0], self.degrees[live]), rows

    def _spectral(self, least: int, seed: int) -> Halves | None:
        live = self.degrees > 0
        e = self.degrees[live]
        if e.size < 2:
            return None
        pair = self._second_pair(live, seed) if self.factors is None else self._thin_pair(self.factors, live)
        sigma, x, y, rows = pair
        if x.size < 2:
            return None
        order, places = node_order(x, y)
        row_places, column_places = np.full(self.chosen.size, -1), np.full(live.size, -1)
        row_places[np.flatnonzero(self.chosen)[rows > 0]], column_places[live] = places[: x.size], places[x.size :]
        sums = self.shards.sum(
            difference_step, row_places=row_places, column_places=column_places, scale=self.scale, n=order.size
        )
        degrees = np.concatenate([rows[rows > 0], e])[order]
        cut = best_cut(sums["differences"], degrees, order < x.size, least)
        if cut is None:
            return None
        side = places >= cut.size
        return self._all_nodes(Halves(side[: x.size], side[x.size :], cut.ncut, sigma), rows > 0, live)

    def _all_nodes(self, halves: Halves, rows: np.ndarray, columns: np.ndarray) -> Halves:
        return with_isolated(halves, np.flatnonzero(rows), np.flatnonzero(columns), (rows.size, columns.size))


def fewest_documents(n: int) -> int:
    """Gives how many of n documents must be on either side of a cut."""
    return max(_FEWEST, int(_LEAST_SHARE * n))


def sides_of_pieces(sizes: np.ndarray, least: int) -> np.ndarray | None:
    """Gives whole components to the lighter side, largest first; None where a side then has too few documents."""
    side, counts = np.zeros(sizes.size, bool), [0, 0]
    for piece in np.lexsort((np.arange(sizes.size), -sizes)):
        lighter = int(counts[1] < counts[0])
        side[piece] = bool(lighter)
        counts[lighter] += int(sizes[piece])
    return side if min(counts) >= least else None


def with_isolated(halves: Halves, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Halves:
    """Gives the halves of all nodes from those of these rows and columns: the others go with the larger side."""
    larger = bool(2 * np.count_nonzero(halves.row_side) > halves.row_side.size)
    row_side, column_side = np.full(shape[0], larger), np.full(shape[1], larger)
    row_side[rows], column_side[columns] = halves.row_side, halves.column_side
    return Halves(row_side, column_side, halves.ncut, halves.sigma)


def node_order(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gives the order of rows and columns by their coordinates, and the place of each; the largest x is positive."""
    if x[np.abs(x).argmax()] < 0:
        x, y = -x, -y
    order = np.argsort(np.concatenate([x, y]), kind="stable")
    places = np.empty(order.size, np.int64)
    places[order] = np.arange(order.size)
    return order, places


def edges_of(block: sp.csr_matrix) -> Edges:
    """Gives the edges of a shard as kernels take them."""
    return frozen_rows(block)


def enter_step(shard: Shard, state: Arrays, chosen: np.ndarray, scale: np.ndarray) -> tuple[Arrays, Arrays]:
    """Step: the rows of the cluster and their degrees stay, those of columns are added up."""
    rows = np.flatnonzero(chosen[shard.first : shard.first + shard.data.shape[0]])
    degrees, columns = np.zeros(rows.size), np.zeros(scale.size)
    degrees_within(edges_of(shard.data), *freeze((rows, scale)), degrees, columns)
    return {"rows": rows, "degrees": degrees}, {"columns": columns}


def leave_step(shard: Shard, state: Arrays) -> tuple[Arrays, Arrays]:
    """Step: nothing of the cluster stays."""
    return {}, {}


def gram_step(shard: Shard, state: Arrays, x: np.ndarray) -> Arrays:
    """Step: Cᵀ D⁻¹ C x."""
    z = np.zeros(x.size)
    times_gram(edges_of(shard.data), *freeze((state["rows"], state["degrees"], x)), z)
    return {"z": z}


def coordinate_step(shard: Shard, state: Arrays, x: np.ndarray) -> Arrays:
    """Step: D⁻¹ C x of the rows, with their degrees."""
    found = np.empty(state["rows"].size)
    row_means(edges_of(shard.data), *freeze((state["rows"], state["degrees"], x)), found)
    return {"x": found, "degrees": state["degrees"]}


def degrees_of_rows(shard: Shard, state: Arrays) -> np.ndarray:
    """Step: the degrees of the rows."""
    return state["degrees"]


def joined_columns(shard: Shard, state: Arrays, scale: np.ndarray) -> np.ndarray:
    """Step: for every column the lowest one that the rows of this shard join it with."""
    parents = np.arange(scale.size)
    join_columns(edges_of(shard.data), *freeze((state["rows"], scale)), parents)
    return parents


def _pieces_of_rows(shard: Shard, state: Arrays, pieces: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Gives the component of each row of the cluster, -1 for one without an edge: all its columns are of one."""
    found = np.empty(state["rows"].size, np.int64)
    pieces_of_rows(edges_of(shard.data), state["rows"], scale, pieces, found)
    return found


def piece_sizes(shard: Shard, state: Arrays, pieces: np.ndarray, scale: np.ndarray) -> Arrays:
    """Step: documents of every component."""
    found = _pieces_of_rows(shard, state, pieces, scale)
    return {"sizes": np.bincount(found[found >= 0], minlength=int(pieces.max()) + 1)}


def rows_of_pieces(shard: Shard, state: Arrays, pieces: np.ndarray, side: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Step: the side of each row of the cluster, -1 for one without an edge."""
    found = _pieces_of_rows(shard, state, pieces, scale)
    return np.where(found >= 0, side[found], -1).astype(np.int8)


def difference_step(
    shard: Shard, state: Arrays, row_places: np.ndarray, column_places: np.ndarray, scale: np.ndarray, n: int
) -> Arrays:
    """Step: what each node of the order adds to the weight that is cut after it."""
    live, out = state["degrees"] > 0, np.zeros(n)
    rows = state["rows"][live]
    places = row_places[shard.first + rows], column_places
    differences_of_edges(edges_of(shard.data), *freeze((rows, *places, scale)), out)
    return {"differences": out}
