"""One cut of a graph that this process holds: pieces first, then the place of least Ncut along the second vectors."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from tagcore.graph.cuts import best_cut, edge_differences
from tagcore.graph.lanczos import second_pair

_FEWEST = 5  # documents on either side of a cut
_LEAST_SHARE = 0.1  # of the documents of a cluster on either side


@dataclass(frozen=True, eq=False)
class Halves:
    """The two sides of a cut."""

    row_side: np.ndarray  # True for the half that becomes a cluster of its own
    column_side: np.ndarray
    ncut: float
    sigma: float


def halve(weights: sp.csr_matrix, seed: int = 0) -> Halves | None:
    """Gives the best cut of a graph in two; None where no cut leaves enough documents on both sides.

    Nodes that have lost all their edges go with the larger side.
    """
    weights = weights.tocsr()
    least = fewest_documents(weights.shape[0])
    if weights.shape[0] < 2 * least:
        return None
    d, e = np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()
    rows, columns = np.flatnonzero(d > 0), np.flatnonzero(e > 0)
    if not rows.size:
        return None
    connected = weights[rows][:, columns]
    pieces = _pieces(connected)
    if pieces is None:
        halves = _spectral_halves(connected, least, seed)
    else:
        halves = _halves_of_pieces(connected, pieces, least) or _giant_halves(connected, pieces, least, seed)
    return None if halves is None else with_isolated(halves, rows, columns, weights.shape)


def _pieces(weights: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray] | None:
    """Gives the connected component of every row and column; None where there is one."""
    m = weights.shape[0]
    square = sp.bmat([[None, weights], [weights.T, None]], format="csr")
    n_pieces, labels = connected_components(square, directed=False)
    return None if n_pieces == 1 else (labels[:m], labels[m:])


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


def _halves_of_pieces(weights: sp.csr_matrix, pieces: tuple[np.ndarray, np.ndarray], least: int) -> Halves | None:
    of_rows, of_columns = pieces
    side = sides_of_pieces(np.bincount(of_rows), least)
    return None if side is None else Halves(side[of_rows], side[of_columns], 0.0, 1.0)


def _giant_halves(
    weights: sp.csr_matrix, pieces: tuple[np.ndarray, np.ndarray], least: int, seed: int
) -> Halves | None:
    """Cuts the largest component; the others go with the larger side."""
    of_rows, of_columns = pieces
    giant = int(np.bincount(of_rows).argmax())
    rows, columns = np.flatnonzero(of_rows == giant), np.flatnonzero(of_columns == giant)
    halves = _spectral_halves(weights[rows][:, columns], least, seed)
    return None if halves is None else with_isolated(halves, rows, columns, weights.shape)


def with_isolated(halves: Halves, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Halves:
    """Gives the halves of all nodes from those of these rows and columns: the others go with the larger side."""
    larger = bool(2 * np.count_nonzero(halves.row_side) > halves.row_side.size)
    row_side, column_side = np.full(shape[0], larger), np.full(shape[1], larger)
    row_side[rows], column_side[columns] = halves.row_side, halves.column_side
    return Halves(row_side, column_side, halves.ncut, halves.sigma)


def _spectral_halves(weights: sp.csr_matrix, least: int, seed: int) -> Halves | None:
    """Orders rows and columns by the second singular vectors and takes the place of least Ncut."""
    d, e = np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()
    if min(weights.shape) < 2:
        return None
    volume = d.sum()
    scaled = sp.diags(d**-0.5) @ weights @ sp.diags(e**-0.5)
    sigma, u, v = second_pair(sp.csr_matrix(scaled), np.sqrt(d / volume), np.sqrt(e / volume), seed=seed)
    x, y = u * d**-0.5, v * e**-0.5
    order, places = node_order(x, y)
    differences = edge_differences(weights, places[: x.size], places[x.size :])
    cut = best_cut(differences, np.concatenate([d, e])[order], order < x.size, least)
    if cut is None:
        return None
    side = places >= cut.size
    return Halves(side[: x.size], side[x.size :], cut.ncut, sigma)


def node_order(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gives the order of rows and columns by their coordinates, and the place of each; the largest x is positive."""
    if x[np.abs(x).argmax()] < 0:
        x, y = -x, -y
    order = np.argsort(np.concatenate([x, y]), kind="stable")
    places = np.empty(order.size, np.int64)
    places[order] = np.arange(order.size)
    return order, places
