"""The best rows of every label: what class mass and quantile thresholds are cut from.

Scores come as blocks of rows, or in parts that may be anywhere, and are walked once; n × L is never formed.
"""

from dataclasses import dataclass

import numpy as np

from tagcore.labelling.kernels.best_rows import keep_best_rows
from tagcore.numeric.read_only import freeze
from tagcore.scoring.blocks import LocalScores, PartitionedScores, ScoreBlocks, ScorePart, unknown_truth


@dataclass(frozen=True, eq=False)
class BestRows:
    """The best counts[c] rows of every label c, or all where there are fewer: label after label, best first, ties to
    the lower row. `+` gives the best of both.
    """

    counts: np.ndarray
    sizes: np.ndarray
    scores: np.ndarray
    rows: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        """(scores, rows) of the worst kept row of every label; (+inf, -1) for a label that keeps none."""
        scores, rows = np.full(len(self.sizes), np.inf), np.full(len(self.sizes), -1)
        kept = self.sizes > 0
        ends = np.cumsum(self.sizes)[kept] - 1
        scores[kept], rows[kept] = self.scores[ends], self.rows[ends]
        return scores, rows

    def __add__(self, other: "BestRows") -> "BestRows":
        labels, scores, rows = (
            np.concatenate([getattr(best, name) for best in (self, other)]) for name in ("labels", "scores", "rows")
        )
        order = np.lexsort((rows, -scores, labels))
        offered = np.bincount(labels, minlength=len(self.counts))
        place = np.arange(order.size) - np.repeat(np.cumsum(offered) - offered, offered)
        best = order[place < np.repeat(self.counts, offered)]
        return BestRows(self.counts, np.minimum(offered, self.counts), scores[best], rows[best])


def best_rows(scores: ScoreBlocks | PartitionedScores, counts: np.ndarray, n_rows: int) -> BestRows:
    """Finds the best counts[c] of all n rows for every label c, exact in whatever parts the scores are.

    Parts keep what could be among the best of all, and are joined two by two: no one holds more than the result.
    """
    parts = LocalScores(scores, unknown_truth(n_rows, len(counts))) if callable(scores) else scores
    return parts.sum(keep_best, counts=np.asarray(counts, np.int64))["best"]


def keep_best(part: ScorePart, *, counts: np.ndarray) -> dict[str, BestRows]:
    """Finds the best rows of one part."""
    room = np.minimum(counts, part.truth.shape[0])
    starts = freeze(np.concatenate(([0], np.cumsum(room))))
    sizes = np.zeros(len(counts), np.int64)
    scores, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    for first, block in part.blocks():
        keep_best_rows(block, part.first + first, starts, sizes, scores, rows)
    order = np.lexsort((rows, -scores, np.repeat(np.arange(len(room)), room)))
    return {"best": BestRows(counts, sizes, scores[order], rows[order])}


def checked_rates(rates: np.ndarray) -> np.ndarray:
    """Checks training rates, every label's share of the training rows, and gives them as float64."""
    rates = np.asarray(rates, np.float64)
    if rates.ndim != 1 or not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError("rates must be one number from 0 to 1 per label: its share of the training rows")
    return rates
