"""Scores of rows, walked in blocks, so that n × L is never formed, and in parts that may be anywhere."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.read_only import freeze

KEPT_CELLS = 20_000_000  # up to 160 MB of scores are kept rather than made by the model again

ScoreBlocks = Callable[[], Iterable[tuple[slice, np.ndarray]]]  # each call walks the same scores from the first row


@dataclass(frozen=True, eq=False)
class ScorePart:
    """Some rows with their scores and true labels and, where a model gave the scores, its input X and the `Scorer`."""

    score_blocks: ScoreBlocks
    truth: sp.csr_matrix
    first: int = 0  # the number of its first row among all
    X: Any = None
    scorer: Any = None

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """(first row within the part, scores) of every block, checked."""
        n, n_labels = self.truth.shape
        return checked_blocks(self.score_blocks, n_labels, n, self.first)


class PartitionedScores(Protocol):
    """The scores of all rows, in parts that may be anywhere.

    A step is a function of a module, (part, **shared) -> named values: arrays, or anything that has a `+`.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    def collect(self, step: Callable[..., Any], **shared: Any) -> list:
        """Gives the result of the step on every part, in the order of rows."""

    def sum(self, step: Callable[..., dict[str, Any]], **shared: Any) -> dict[str, Any]:
        """Gives the sums of the results of the step, added in the order of rows: integers are exact."""


class LocalScores:
    """The scores of all rows as one part, in this process: kept if they are few, else walked for every step."""

    def __init__(self, score_blocks: ScoreBlocks, truth: sp.csr_matrix, X: Any = None) -> None:
        n, n_labels = self.shape = truth.shape
        self.part = ScorePart(_kept_blocks(score_blocks) if n * n_labels <= KEPT_CELLS else score_blocks, truth, X=X)

    def collect(self, step: Callable[..., Any], **shared: Any) -> list:
        return [step(self.part, **shared)]

    def sum(self, step: Callable[..., dict[str, Any]], **shared: Any) -> dict[str, Any]:
        return step(self.part, **shared)


def unknown_truth(n_rows: int, n_labels: int) -> sp.csr_matrix:
    """Gives a truth without any label, for steps that look at scores only."""
    return sp.csr_matrix((n_rows, n_labels))


def checked_blocks(
    score_blocks: ScoreBlocks, n_labels: int, n_rows: int | None = None, numbered_from: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, scores) of every block: one after the other, L columns, finite.

    Errors count rows from `numbered_from`.
    """
    row = 0
    for rows, block in score_blocks():
        scores = np.ascontiguousarray(block, np.float64)
        if (rows.start or 0) != row:
            raise ValueError(f"a block of scores starts at row {rows.start}, expected row {row}")
        if scores.ndim != 2 or scores.shape[1] != n_labels:
            raise ValueError(
                f"scores from row {numbered_from + row} have shape {scores.shape}, expected {n_labels} columns"
            )
        if n_rows is not None and row + len(scores) > n_rows:
            raise ValueError(f"the blocks hold scores of {row + len(scores)} rows or more, expected {n_rows}")
        finite = np.isfinite(scores)
        if not finite.all():
            i, label = np.argwhere(~finite)[0]
            where = f"row {numbered_from + row + i}, label {label}"
            raise ValueError(f"the score of {where} is {scores[i, label]}, expected a number")
        yield row, freeze(scores)
        row += len(scores)
    if n_rows is not None and row != n_rows:
        raise ValueError(f"the blocks hold scores of {row} rows, expected {n_rows}")


def _kept_blocks(score_blocks: ScoreBlocks) -> ScoreBlocks:
    """Walks the same blocks, from memory once they have been walked to the end."""
    kept: list[tuple[slice, np.ndarray]] = []
    whole = False

    def walk() -> Iterator[tuple[slice, np.ndarray]]:
        nonlocal whole
        if whole:
            yield from kept
            return
        kept.clear()
        for rows, block in score_blocks():
            kept.append((rows, np.array(block)))  # a model may use its block again
            yield kept[-1]
        whole = True

    return walk
