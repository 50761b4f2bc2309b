"""The published training: alternating gradient descent, one step of all users and one of all items a round."""

from functools import reduce

import numpy as np

from tagcore.models.tagicofi.columns_kernel import zero_rows
from tagcore.models.tagicofi.descent_kernel import descend, step_items
from tagcore.models.tagicofi.sides import Side
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import Measures

SCHEDULES = ("gauss-seidel", "jacobi")
_POWER_STEPS = 200
_SUMS = ("error", "roughness", "squares")  # over the ratings, links and factors of users that a round began with


class DivergenceError(ValueError):
    """Raised where steps of a fixed length lead away from the minimum."""


class Descent:
    """A learner over shards of users. The objective that a round tells is that of what it began with."""

    def __init__(
        self, users: Side, items: Side, start: Arrays, *, step: float | None, schedule: str, tol: float
    ) -> None:
        self.users, self.items, self.start = users, items, start
        self.step, self.schedule, self.tol = step, schedule, tol

    def init(self, shards: Shards) -> Arrays:
        return self.start

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        U, V = arrays["users"], arrays["items"]
        shared = {"alpha": self.users.ridge, "beta": self.users.pull if self.users.is_linked else 0.0}
        shared |= {"length": self.step or 0.0, "sequential": self.schedule == "gauss-seidel"}
        parts = shards.collect(_descend_step, users=U, items=V, **shared)
        asked = reduce(np.add, [part["asked"] for part in parts])
        error, roughness, squares = (sum(float(part[name]) for part in parts) for name in _SUMS)
        items, graph, moved = self.items, self.items.graph, np.empty_like(V)
        gamma, rough = items.pull if items.is_linked else 0.0, np.empty((0, 0))
        if gamma:
            rough = graph.degrees[:, None] * V - graph.links @ V
        arguments = (*freeze((V, asked, rough, graph.degrees)), items.ridge, gamma, self.step or 0.0, moved)
        item_squares, item_roughness = step_items(*arguments)
        penalty = self.users.ridge * squares + shared["beta"] * roughness
        penalty += items.ridge * item_squares + gamma * item_roughness
        objective, rows = 0.5 * (error + penalty), np.concatenate([part["rows"] for part in parts])
        if not np.isfinite(objective + rows.sum() + moved.sum()):
            raise self._divergence(f"the objective of round {number} is {objective}")
        return {"users": rows, "items": moved}, {"objective": objective}

    def done(self, history: list[Measures]) -> bool:
        first, last = history[0]["objective"], history[-1]["objective"]
        if last > first * (1.0 + 1e-9):
            raise self._divergence(f"the objective rose from {first:.6g} to {last:.6g} in {len(history)} rounds")
        before = history[-11]["objective"] if len(history) > 10 else np.inf
        return self.tol > 0 and (before - last) / max(1.0, last) < 10 * self.tol

    def _divergence(self, seen: str) -> DivergenceError:
        """Says how steep the objective is at the start, and the longest step that leads down from there."""
        U, V = self.start["users"], self.start["items"]
        of_users = _squares(self.users, V).max(initial=0.0)
        of_items = _squares(self.items, U).max(initial=0.0)
        steepest = max(
            self.users.ridge + self.users.pull * _largest_eigenvalue(self.users) + of_users,
            self.items.ridge + self.items.pull * _largest_eigenvalue(self.items) + of_items,
        )
        return DivergenceError(
            f"{seen}: a step of {self.step} is too long for a curvature of up to {steepest:.6g} (λ_max); at most "
            f"{2.0 / steepest:.3g} leads down from the start, step=None finds the step of every user itself"
        )


def _descend_step(
    shard: Shard, state: Arrays, users: np.ndarray, items: np.ndarray, alpha: float, beta: float, length: float,
    sequential: bool,
) -> Arrays:  # fmt: skip
    """Step: the moved vectors of a shard's users, and what its ratings ask of the items."""
    data = shard.data
    rows = np.empty((data["degrees"].size, users.shape[1]))
    asked = zero_rows(items.shape[0], items.shape[1] + 1)
    known = data["ratings"], data["links"], data["degrees"], shard.first, users, items
    sums = descend(*known, alpha, beta, length, sequential, rows, asked)
    return {"rows": rows, "asked": asked, **{name: np.array(value) for name, value in zip(_SUMS, sums, strict=True)}}


def _squares(side: Side, others: np.ndarray) -> np.ndarray:
    """Σ |y|² over what each row has rated: no direction of its curvature is steeper."""
    pattern = side.values.copy()
    pattern.data = np.ones_like(pattern.data)
    return pattern @ (others**2).sum(axis=1)


def _largest_eigenvalue(side: Side) -> float:
    """That of the Laplacian, by power iteration."""
    if not side.is_linked:
        return 0.0
    graph = side.graph
    x = np.random.default_rng(0).normal(size=graph.degrees.size)
    value = 0.0
    for _ in range(_POWER_STEPS):
        x = x / np.sqrt((x * x).sum())
        image = graph.degrees * x - graph.links @ x
        value, x = float((x * image).sum()), image
    return value
