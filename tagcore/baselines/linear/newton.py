"""Penalised linear models of many tags by Newton's method, each step from a few conjugate gradients.

min over w of ½‖w‖² + cost · Σ loss(x·w, y), the intercept free. Tags are solved side by side, as columns of a block:
one read of the rows serves all of them, and a solved tag makes room for the next. Gradients are exact (float64); the
steps, which only have to go the right way, come from float32 products, twice as fast.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tagcore.baselines.linear.kernels.newton import solve_systems
from tagcore.baselines.linear.tag_blocks import BlockSettings, Solution
from tagcore.kernels.sparse import add_transposed_product, multiply_dense
from tagcore.numeric.logistic import logit
from tagcore.numeric.losses import LOSSES
from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays

LANES = 32  # columns of a block: the fewest that compile to whole vectors. Memory is about 1.5 KB per document
_INNER_STEPS = 200
_SUFFICIENT = 1e-4  # Armijo's share of the promised descent
_NOTHING = 1e-12  # a gradient of this size per document of the tag is rounding, whatever tol asks for
_ROUNDING = 1e-13  # how much an objective may rise by rounding alone
_CONSTANT: dict[str, Callable[[float], float]] = {"logistic": logit, "squared": float}  # best for a share of documents


@dataclass(frozen=True)
class NewtonSettings(BlockSettings):
    """Settings of Newton's method: a model is solved when the gradient is `tol` of that at the best constant score."""

    loss: str
    cost: float
    intercept: bool
    inner_tol: float = 0.3  # of the conjugate gradients behind a step, which need not be exact


def solve_by_newton(
    settings: NewtonSettings, numbers: np.ndarray, carriers: list[np.ndarray], rows: Arrays
) -> Iterator[Solution]:
    """Yields the models of all tags, in the order in which they end; `passes` are Newton steps."""
    block = _Block(settings, rows)
    waiting = list(range(len(carriers)))[::-1]
    tags, steps = np.full(LANES, -1), np.zeros(LANES, np.int64)
    while True:
        fresh = np.flatnonzero(tags < 0)[: len(waiting)]
        if fresh.size:
            tags[fresh], steps[fresh] = [waiting.pop() for _ in fresh], 0
            block.take_in(fresh, [carriers[t] for t in tags[fresh]])
        elif (tags < 0).all():
            return
        block.step()
        steps += 1
        gaps = block.gaps()
        for c in np.flatnonzero((tags >= 0) & ((gaps <= settings.tol) | (steps == settings.max_iter))):
            yield Solution(int(tags[c]), block.w[:, c].copy(), int(steps[c]), float(gaps[c]))
            tags[c] = -1
            block.clear(int(c))


class _Block:
    """Models under way: weights w, scores z = X·w and gradients, one column each. An empty column has no gradient."""

    def __init__(self, settings: NewtonSettings, rows: Arrays) -> None:
        n, width = rows["indptr"].size - 1, int(rows["width"]) + 1
        self.csr = rows["data"], rows["indices"], rows["indptr"]
        self.loss, self.constant = LOSSES[settings.loss], _CONSTANT[settings.loss]
        self.cost, self.intercept = settings.cost, settings.intercept
        self.tol, self.inner_tol = settings.tol, settings.inner_tol
        self.penalty = np.ones((width, 1))
        self.penalty[-1] = not settings.intercept
        self.w, self.gradient = np.zeros((width, LANES)), np.zeros((width, LANES))
        self.z, self.y = np.zeros((n, LANES)), np.zeros((n, LANES), bool)
        self.first = np.ones(LANES)

    def take_in(self, columns: np.ndarray, carriers: list[np.ndarray]) -> None:
        """Gives columns to new tags: each starts from its best constant score, or from 0 without an intercept."""
        for c, documents in zip(columns, carriers, strict=True):
            self.y[:, c] = False
            self.y[documents, c] = True
            self.z[:, c] = self.constant(documents.size / len(self.y))
        self.w[:, columns] = 0.0
        smallest = [_NOTHING / self.tol * self.cost * max(documents.size, 1) for documents in carriers]
        self.gradient[:, columns] = self._gradient(self.w[:, columns], self.z[:, columns], self.y[:, columns])
        self.first[columns] = np.maximum(self._norms()[columns], smallest)
        if self.intercept:
            self.w[-1, columns] = self.z[0, columns]
        else:
            self.z[:, columns] = 0.0
            self.gradient[:, columns] = self._gradient(self.w[:, columns], self.z[:, columns], self.y[:, columns])

    def clear(self, column: int) -> None:
        self.gradient[:, column] = 0.0

    def gaps(self) -> np.ndarray:
        """Gives the share of the gradient that is left in every column."""
        return self._norms() / self.first

    def step(self) -> None:
        """Takes one Newton step in every column that has a gradient."""
        curvature = (self.cost * self.loss.curvature(self.z, self.y)).astype(np.float32)
        s, u = np.empty(self.w.shape, np.float32), np.empty(self.z.shape)
        system = curvature, self.penalty[:, 0].astype(np.float32), -self.gradient.astype(np.float32)
        solve_systems(*self.csr, *system, self.inner_tol, _INNER_STEPS, s)
        multiply_dense(*self.csr, freeze(s.astype(np.float64)), u)
        lengths = self._line_search(s, u)
        self.w += lengths * s
        self.z += lengths * u
        moved = np.flatnonzero(self.gradient.any(axis=0))
        self.gradient[:, moved] = self._gradient(self.w, self.z, self.y)[:, moved]

    def _gradient(self, w: np.ndarray, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        gradient = self.penalty * w
        add_transposed_product(*self.csr, self.cost * self.loss.slope(z, y), gradient)
        return gradient

    def _norms(self) -> np.ndarray:
        return np.sqrt(np.sum(self.gradient**2, axis=0))

    def _line_search(self, s: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Finds how far along s each column goes: 1, halved until the objective falls enough."""
        descent, start = np.sum(self.gradient * s, axis=0), self._objective(self.w, self.z)
        lengths = np.ones(LANES)
        while True:
            rise = self._objective(self.w + lengths * s, self.z + lengths * u) - start
            short = rise > _SUFFICIENT * lengths * descent + _ROUNDING * start
            if not short.any():
                return lengths
            lengths[short] /= 2.0

    def _objective(self, w: np.ndarray, z: np.ndarray) -> np.ndarray:
        return 0.5 * np.sum(self.penalty * w**2, axis=0) + self.cost * np.sum(self.loss.value(z, self.y), axis=0)
