"""The rounds of LEML: better words for these tags, then better tags for these words."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from tagcore.baselines.leml import steps
from tagcore.baselines.low_rank.base import on_one_thread
from tagcore.numeric.conjugate_gradients import conjugate_gradients, inner_products, residuals_fall_to
from tagcore.shards import Arrays, Shards
from tagcore.training import Measures

_INTERCEPT_PENALTY = 0.01  # so small that it matters only for a tag that no cell, or no document with it, tells of
_LENGTHS = np.array([1.0, 0.5, 0.25, 0.0625, 0.0])  # of a Newton step; the last makes sure that nothing gets worse
_RIDGE_TOL, _NEWTON_TOL = 1e-4, 0.03  # how closely a ridge regression and a Newton step are solved


class HalfSteps(Protocol):
    """The two halves of a round: each lowers ½·penalty·(‖words‖² + ‖tags‖²) + loss, or leaves it."""

    def improve_words(self, shards: Shards, words: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gives (better words, tags); both may have been turned by one rotation, which changes no score."""

    def improve_tags(self, shards: Shards, words: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, float]:
        """Gives (better tags, the objective there)."""


@dataclass(frozen=True)
class Alternation:
    """Learner that improves words and tags in turn, from those of `start`.

    A round that lowers the objective by no more than `tol` of itself is the last.
    """

    half_steps: HalfSteps
    start: Arrays
    tol: float

    def init(self, shards: Shards) -> Arrays:
        return self._with_better_tags(shards, **self.start)

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        words, tags = self.half_steps.improve_words(shards, arrays["words"], arrays["tags"])
        better = self._with_better_tags(shards, words, tags)
        before, after = float(arrays["objective"]), float(better["objective"])
        return better, {"objective": after, "objective before": before}

    def done(self, history: list[Measures]) -> bool:
        before, after = history[-1]["objective before"], history[-1]["objective"]
        return before - after <= self.tol * before

    def _with_better_tags(self, shards: Shards, words: np.ndarray, tags: np.ndarray) -> Arrays:
        tags, objective = self.half_steps.improve_tags(shards, words, tags)
        return {"words": words, "tags": tags, "objective": np.array(objective)}


class GramHalfSteps:
    """Half steps for the squared loss over all cells, from Gram matrices: n × L is never formed."""

    def __init__(
        self, column_squares: np.ndarray, positives: int, penalty: float, intercept: bool, cg_iter: int
    ) -> None:
        self.column_squares, self.positives = column_squares, positives
        self.penalty, self.constant, self.cg_iter = penalty, float(intercept), cg_iter

    def improve_words(self, shards: Shards, words: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solves a ridge regression for every column of the words, in the axes where HᵀH is diagonal."""
        turned = on_one_thread(shards.executor, _principal_axes, words=words, tags=tags)
        words, tags, squares = turned["words"], turned["tags"], turned["squares"]
        gradient = shards.sum(steps.gram_slopes, words=words, tags=tags, squares=squares)["gradient"]
        gradient = gradient + self.penalty * words
        diagonal = np.outer(self.column_squares, squares) + self.penalty

        def product(direction: np.ndarray) -> np.ndarray:
            image = shards.sum(steps.gram_product, direction=direction)["product"]
            return image * squares + self.penalty * direction

        stop = residuals_fall_to(_RIDGE_TOL)
        step, _ = conjugate_gradients(product, -gradient, diagonal, self.cg_iter, inner_products(axis=0), stop)
        return words + step, tags

    def improve_tags(self, shards: Shards, words: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, float]:
        sums = shards.sum(partial(steps.gram, constant=self.constant), words=words)
        penalties = _tag_penalties(words.shape[1], self.penalty)
        solved = on_one_thread(shards.executor, _ridge, **sums, penalties=penalties)
        fit = (self.positives + float(solved["fit"])) / 2
        return solved["tags"], fit + _penalty_of_words(self.penalty, words)


class NewtonHalfSteps:
    """Half steps for any loss over all or the observed cells, truncated Newton steps; cost the cells times the rank."""

    def __init__(self, loss: str, penalty: float, intercept: bool, cg_iter: int) -> None:
        self.penalty, self.cg_iter = penalty, cg_iter
        self.loss_arguments: dict[str, Any] = {"loss": loss, "constant": float(intercept)}

    def improve_words(self, shards: Shards, words: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = shards.sum(partial(steps.word_slopes, **self.loss_arguments), words=words, tags=tags)

        def product(direction: np.ndarray) -> np.ndarray:
            step = partial(steps.word_product, **self.loss_arguments)
            image = shards.sum(step, words=words, tags=tags, direction=direction)["product"]
            return image + self.penalty * direction

        gradient, diagonal = sums["gradient"] + self.penalty * words, sums["diagonal"] + self.penalty
        stop = residuals_fall_to(_NEWTON_TOL)
        direction, _ = conjugate_gradients(product, -gradient, diagonal, self.cg_iter, inner_products(axis=None), stop)
        losses = self._losses(shards, words, tags, True, direction).sum(axis=0)
        moved = [words + np.float32(length) * direction for length in _LENGTHS]
        values = [loss + _penalty_of_words(self.penalty, m) for loss, m in zip(losses, moved, strict=True)]
        return moved[int(np.argmin(values))], tags

    def improve_tags(self, shards: Shards, words: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, float]:
        """Takes a Newton step of each tag on its own, with a step length of its own."""
        sums = shards.sum(partial(steps.tag_slopes, **self.loss_arguments), words=words, tags=tags)
        penalties = _tag_penalties(words.shape[1], self.penalty)

        def product(direction: np.ndarray) -> np.ndarray:
            step = partial(steps.tag_product, **self.loss_arguments)
            image = shards.sum(step, words=words, tags=tags, direction=direction)["product"]
            return image + penalties * direction

        gradient, diagonal = sums["gradient"] + penalties * tags, sums["diagonal"] + penalties
        stop = residuals_fall_to(_NEWTON_TOL)
        direction, _ = conjugate_gradients(product, -gradient, diagonal, self.cg_iter, inner_products(axis=1), stop)
        values = self._losses(shards, words, tags, False, direction)
        for at, length in enumerate(_LENGTHS):
            moved = tags + np.float32(length) * direction
            values[:, at] += 0.5 * np.sum(penalties * moved * moved, axis=1, dtype=np.float64)
        best = np.argmin(values, axis=1)
        tags = tags + _LENGTHS[best, None].astype(np.float32) * direction
        return tags, float(values[np.arange(best.size), best].sum()) + _penalty_of_words(self.penalty, words)

    def _losses(
        self, shards: Shards, words: np.ndarray, tags: np.ndarray, of_words: bool, direction: np.ndarray
    ) -> np.ndarray:
        step = partial(steps.losses_along, **self.loss_arguments, lengths=_LENGTHS, of_words=of_words)
        return shards.sum(step, words=words, tags=tags, direction=direction)["losses"].copy()


def _principal_axes(*, words: np.ndarray, tags: np.ndarray) -> Arrays:
    """Turns both factors to the axes where HᵀH, H the tags without intercepts, is diagonal."""
    factors = tags[:, :-1].astype(np.float64)
    _, axes = eigh(factors.T @ factors)
    axes = axes.astype(np.float32)
    turned = np.column_stack([tags[:, :-1] @ axes, tags[:, -1]])
    return {"words": words @ axes, "tags": turned, "squares": np.sum(turned[:, :-1] ** 2, axis=0)}


def _ridge(*, gram: np.ndarray, cross: np.ndarray, penalties: np.ndarray) -> Arrays:
    """Gives tags of least squared loss for the embedded rows A, and ⟨tags·(AᵀA + penalties) - 2YᵀA, tags⟩."""
    hessian = gram + np.diag(penalties)
    right = cross.T
    tags = cho_solve(cho_factor(hessian, lower=True), right)
    return {
        "tags": np.ascontiguousarray(tags.T, np.float32),
        "fit": np.array(np.sum((hessian @ tags - 2 * right) * tags)),
    }


def _tag_penalties(rank: int, penalty: float) -> np.ndarray:
    return np.append(np.full(rank, penalty), _INTERCEPT_PENALTY).astype(np.float32)


def _penalty_of_words(penalty: float, words: np.ndarray) -> float:
    return 0.5 * penalty * float(np.sum(words * words, dtype=np.float64))
