"""Prototype selection: prototypes descend a loss that asks the rows near each for its class.

P(m|x) = softmax_m(-‖x - z_m‖² / 2h²), ls(x) = Σ P(m|x) over prototypes of other classes; the loss is the mean of ls.
A row pulls prototypes of its class towards itself and pushes others away, by how undecided it is; rows with
ls(1 - ls) below the window do not pull at all. A round is an epoch of synchronous mini-batches: each takes rows of
every shard, so that the result depends on the shards alone. While they move, prototypes are the columns of an array
(D × M): rows of words touch some of its rows, which lie together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.dots import Matrix, dot_block, squared_distances, squared_lengths
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import EarlyStop, Measures, train

_BATCH_ROWS = 1000
_MOST_BATCHES = 100  # of an epoch: each goes through all prototypes, however few rows it has
_STILL = 1e-4
_PATIENCE = 3
_NEAREST = 32  # rows of a shard that a prototype may snap to

Rows = tuple[Matrix, np.ndarray]


@dataclass(frozen=True)
class DescentSettings:
    """Settings of the descent: epochs, first step, share of the spacing that is the width, and the window."""

    epochs: int = 10
    rate: float = 0.3
    width: float = 0.5
    window: float = 0.01
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Descent:
    """Learner of prototypes, from `start` (D × M), each of a class that it keeps."""

    settings: DescentSettings
    start: np.ndarray
    classes: np.ndarray
    n_rows: int
    spacing: float  # h

    def init(self, shards: Shards) -> Arrays:
        """Gives the start."""
        return {"Z": self.start}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        """Makes an epoch; the loss is that of every row when its turn came."""
        s, Z = self.settings, np.array(arrays["Z"])
        batches = min(-(-self.n_rows // _BATCH_ROWS), _MOST_BATCHES)
        loss = 0.0
        for batch in range(batches):
            turn = {"epoch": number, "batch": batch, "batches": batches, "seed": s.seed}
            pulls = shards.collect(
                pull_step,
                Z=Z,
                squares=np.einsum("dm,dm->m", Z, Z),
                classes=self.classes,
                spacing=self.spacing,
                window=s.window,
                turn=turn,
            )
            rows = sum(p["rows"] for p in pulls)
            if rows == 0:
                continue
            loss += sum(float(p["loss"]) for p in pulls)
            rate = s.rate * (1.0 - (number + batch / batches) / s.epochs) * Z.shape[1] / rows
            Z *= 1.0 - rate * sum(p["mass"] for p in pulls)
            for p in pulls:
                Z[p["columns"]] += rate * p["pull"]
        return {"Z": Z}, {"loss": loss / self.n_rows}

    def done(self, history: list[Measures]) -> bool:
        """Tells whether the loss has all but stopped."""
        losses = [measures["loss"] for measures in history[-2:]]
        return len(losses) == 2 and abs(losses[1] - losses[0]) < _STILL * losses[1]


def descend(
    shards: Shards, start: np.ndarray, classes: np.ndarray, n_rows: int, settings: DescentSettings
) -> np.ndarray:
    """Gives prototypes (M × D) after the descent, or the start where it lies on every row already."""
    squares = shards.sum(spacing_step, Z=start)["squares"]
    spacing = settings.width * float(np.sqrt(squares / n_rows))
    if spacing == 0.0:
        return start
    learner = Descent(settings, np.ascontiguousarray(start.T), classes, n_rows, spacing)
    stop = EarlyStop("loss", _PATIENCE, greater_is_better=False)
    moved = train(learner, shards, max_rounds=settings.epochs, early_stop=stop).arrays["Z"]
    return np.ascontiguousarray(np.asarray(moved).T)


def losses_and_pulls(
    distances: np.ndarray, y: np.ndarray, classes: np.ndarray, spacing: float
) -> tuple[np.ndarray, np.ndarray]:
    """Gives ls of every row, and P(m|x) · a_m: how strongly each prototype is pulled (or, below zero, pushed)."""
    P = np.exp((distances - distances.min(axis=1, keepdims=True)) * (-0.5 / spacing**2))
    P /= P.sum(axis=1, keepdims=True)
    other = classes != y[:, None]
    losses = np.einsum("nm,nm->n", P, other)
    return losses, P * (losses[:, None] - other)


def pull_step(
    shard: Shard[Rows],
    state: Arrays,
    Z: np.ndarray,
    squares: np.ndarray,
    classes: np.ndarray,
    spacing: float,
    window: float,
    turn: dict[str, int],
) -> dict[str, Any]:
    """Step: how the rows of one mini-batch pull at Z (D × M); columns that none of them has are left out. `squares` are
    ‖z‖²."""
    X, y = shard.data
    key = [turn["seed"], turn["epoch"], shard.first]
    order = np.random.default_rng(key).permutation(y.size)
    edges = np.linspace(0, y.size, turn["batches"] + 1).astype(int)
    batch = np.sort(order[edges[turn["batch"]] : edges[turn["batch"] + 1]])
    X, y = X[batch], y[batch]
    columns = np.arange(X.shape[1])
    if sp.issparse(X):
        columns, compact = np.unique(X.indices, return_inverse=True)
        X = sp.csr_matrix((X.data, compact.astype(np.int32), X.indptr), shape=(y.size, columns.size))
    distances = dot_block(X, Z[columns].T) * -2.0
    distances += squared_lengths(X)[:, None] + squares
    losses, pulls = losses_and_pulls(distances, y, classes, spacing)
    inside = losses * (1.0 - losses) >= window
    return {
        "columns": columns,
        "pull": X[inside].T @ pulls[inside],
        "mass": pulls[inside].sum(axis=0),
        "loss": losses.sum(),
        "rows": y.size,
    }


def spacing_step(shard: Shard[Rows], state: Arrays, Z: np.ndarray) -> Arrays:
    """Step: squared distances of rows to the nearest prototype."""
    return {"squares": squared_distances(shard.data[0], Z).min(axis=1).sum()}


def snap(shards: Shards, Z: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Gives the number of the nearest row of its class for each prototype, no row twice; one that finds none goes."""
    candidates = shards.collect(nearest_step, Z=Z, classes=classes)
    taken: set[int] = set()
    for m in range(len(Z)):
        near = np.concatenate([c[0][m] for c in candidates])
        rows = np.concatenate([c[1][m] for c in candidates])
        for at in np.argsort(near, kind="stable"):
            if near[at] < np.inf and int(rows[at]) not in taken:
                taken.add(int(rows[at]))
                break
    return np.array(sorted(taken), np.int64)


def nearest_step(
    shard: Shard[Rows], state: Arrays, Z: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Step: (squared distances, global numbers) of the rows of a prototype's class that are nearest to it."""
    X, y = shard.data
    count = min(_NEAREST, y.size)
    near, rows = np.full((len(Z), count), np.inf), np.zeros((len(Z), count), np.int64)
    for c in np.unique(classes):
        members, wanted = np.flatnonzero(y == c), np.flatnonzero(classes == c)
        if members.size == 0:
            continue
        distances = squared_distances(X[members], Z[wanted])
        order = np.argsort(distances, axis=0, kind="stable")[:count]
        near[wanted, : len(order)] = np.take_along_axis(distances, order, axis=0).T
        rows[wanted, : len(order)] = shard.first + members[order].T
    return near, rows
