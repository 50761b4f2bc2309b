"""Exact alternation: all users at their minimum given the items, then all items given the users.

Users who are linked form one linear system, solved by conjugate gradients with the exact inverse of every user's own
block as preconditioner; any number of steps lowers the objective, whatever β is. Without links blocks are the solution.
"""

import numpy as np

from tagcore.models.tagicofi.blocks import dense_base
from tagcore.models.tagicofi.sides import Side, roughness
from tagcore.models.tagicofi.solve_kernel import factor_rows, multiply_rows, solve_factored, solve_rows, squared_error
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import Measures


class Alternation:
    """A learner over shards of users and of items. The objective that a round tells is that of what it ended with."""

    def __init__(
        self,
        users: Side,
        items: Side,
        item_shards: Shards,
        start: Arrays,
        *,
        constant: float,  # of the objective, which no vector changes
        dense: bool,  # what is not rated counts as well, as a value of 0
        cg_steps: int,
        cg_tol: float,
        tol: float,
    ) -> None:
        self.users, self.items, self.item_shards = users, items, item_shards
        self.start, self.constant, self.dense, self.tol = start, constant, dense, tol
        self.cg = cg_steps, cg_tol

    def init(self, shards: Shards) -> Arrays:
        return self.start

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        V = arrays["items"]
        U, _ = best_rows(self.users, shards, arrays["users"], V, dense_base(V, self.dense), *self.cg)
        base = dense_base(U, self.dense)
        V, error = best_rows(self.items, self.item_shards, V, U, base, *self.cg)
        if error is None:
            error = float(self.item_shards.sum(_error_step, rows=V, others=U, base=base)["error"])
        penalty = self.users.ridge * float((U * U).sum()) + self.items.ridge * float((V * V).sum())
        for side, side_shards, rows in ((self.users, shards, U), (self.items, self.item_shards, V)):
            penalty += side.pull * roughness(side_shards, rows) if side.is_linked else 0.0
        return {"users": U, "items": V}, {"objective": 0.5 * (error + self.constant + penalty)}

    def done(self, history: list[Measures]) -> bool:
        if len(history) < 2:
            return False
        before, last = history[-2]["objective"], history[-1]["objective"]
        return (before - last) / max(1.0, last) < self.tol


def best_rows(
    side: Side, shards: Shards, rows: np.ndarray, others: np.ndarray, base: np.ndarray, cg_steps: int, cg_tol: float
) -> tuple[np.ndarray, float | None]:
    """(rows that are best for these others, weighed squared error where it is known), from `rows` where it takes
    steps."""
    shared = {"others": others, "base": base, "ridge": side.ridge}
    if not side.is_linked:
        parts = shards.collect(_solve_step, **shared)
        return np.concatenate([part["rows"] for part in parts]), sum(float(part["error"]) for part in parts)
    shards.update(_factor_step, pull=side.pull, **shared)
    rows = _conjugate_gradients(side, shards, rows, cg_steps, cg_tol)
    shards.update(_forget_step)  # factors are large, and checkpoints need none of them
    return rows, None


def _conjugate_gradients(side: Side, shards: Shards, rows: np.ndarray, steps: int, tol: float) -> np.ndarray:
    """Lowers the objective from `rows` until the residual has fallen to `tol` of its first size.

    Sums are numpy's, over whole arrays in one order, and the images of rows come from shards one by one: no bit depends
    on who made which.
    """
    residual, scaled = _joined(shards.collect(_residual_step, rows=rows, pull=side.pull))
    size = first = float((residual * scaled).sum())
    direction = scaled
    for _ in range(steps):
        if size <= tol * tol * first or size <= 0.0:
            break
        image, image_scaled = _joined(shards.collect(_product_step, rows=direction, pull=side.pull))
        steepness = float((direction * image).sum())
        if steepness <= 0.0:
            break
        length = size / steepness
        rows, residual = rows + length * direction, residual - length * image
        scaled = scaled - length * image_scaled
        before, size = size, float((residual * scaled).sum())
        direction = scaled + size / before * direction
    return rows


def _joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    first, second = zip(*parts, strict=True)
    return np.concatenate(first), np.concatenate(second)


def _solve_step(shard: Shard, state: Arrays, others: np.ndarray, base: np.ndarray, ridge: float) -> Arrays:
    """Step: the best vectors of a shard's rows, which have no links."""
    data = shard.data
    ridges = freeze(np.full(data["degrees"].size, ridge))
    rows = np.empty((ridges.size, others.shape[1]))
    error, spread = solve_rows(data["ratings"], data["weights"], others, base, ridges, rows)
    return {"rows": rows, "error": np.array(error + spread)}


def _factor_step(
    shard: Shard, state: Arrays, others: np.ndarray, base: np.ndarray, ridge: float, pull: float
) -> tuple[Arrays, Arrays]:
    """Step: keeps the factors of a shard's systems beside it."""
    data, width = shard.data, others.shape[1]
    ridges = freeze(ridge + pull * data["degrees"])
    factors, rights = np.empty((ridges.size, width * (width + 1) // 2)), np.empty((ridges.size, width))
    factor_rows(data["ratings"], data["weights"], others, base, ridges, factors, rights)
    return {"factors": factors, "rights": rights}, {"rows": np.array(ridges.size)}


def _forget_step(shard: Shard, state: Arrays) -> tuple[Arrays, Arrays]:
    return {}, {"rows": np.array(0)}


def _residual_step(shard: Shard, state: Arrays, rows: np.ndarray, pull: float) -> tuple[np.ndarray, np.ndarray]:
    """Step: b - A x of a shard's rows, and what the preconditioner makes of it."""
    image, scaled = _product_step(shard, state, rows, pull)
    solved = np.empty_like(image)
    solve_factored(state["factors"], state["rights"], solved)
    return state["rights"] - image, solved - scaled


def _product_step(shard: Shard, state: Arrays, rows: np.ndarray, pull: float) -> tuple[np.ndarray, np.ndarray]:
    image, scaled = (np.empty_like(state["rights"]) for _ in range(2))
    multiply_rows(state["factors"], shard.data["links"], shard.first, pull, rows, image, scaled)
    return image, scaled


def _error_step(shard: Shard, state: Arrays, rows: np.ndarray, others: np.ndarray, base: np.ndarray) -> Arrays:
    data = shard.data
    own = rows[shard.first : shard.first + data["degrees"].size]
    return {"error": np.array(sum(squared_error(data["ratings"], data["weights"], others, base, own)))}
