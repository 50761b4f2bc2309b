"""From scores to labels: the top k, thresholds, class-mass normalisation.

Scores come as blocks of rows, or in parts that may be anywhere, and are walked once; n × L is never formed.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.metrics.kernels.hits import keep_best_rows
from tagcore.scoring.blocks import LocalScores, PartitionedScores, ScoreBlocks, ScorePart, checked_blocks, unknown_truth
from tagcore.shards import freeze


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

    def __add__(self, other: "BestRows") -> "BestRows":
        labels, scores, rows = (
            np.concatenate([getattr(best, name) for best in (self, other)]) for name in ("labels", "scores", "rows")
        )
        order = np.lexsort((rows, -scores, labels))
        offered = np.bincount(labels, minlength=len(self.counts))
        place = np.arange(order.size) - np.repeat(np.cumsum(offered) - offered, offered)
        best = order[place < np.repeat(self.counts, offered)]
        return BestRows(self.counts, np.minimum(offered, self.counts), scores[best], rows[best])


def top_k_labels(top: np.ndarray, n_labels: int) -> sp.csr_matrix:
    """Every label of the ranking `top` (n, k), as CSR (n, n_labels)."""
    ids = np.sort(np.asarray(top), axis=1)
    n, k = ids.shape
    wrong = ((ids < 0) | (ids >= n_labels)).any(axis=1) | (np.diff(ids, axis=1) == 0).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row} of the ranking is {top[row]}, expected ids from 0 to {n_labels - 1}, each once")
    return _labels(ids.ravel(), np.arange(n + 1) * k, n_labels)


def threshold_labels(score_blocks: ScoreBlocks, thresholds: np.ndarray) -> sp.csr_matrix:
    """Labels whose score is above the threshold of the label; infinite thresholds are allowed, NaN is not."""
    thresholds = np.asarray(thresholds, np.float64)
    if thresholds.ndim != 1 or np.isnan(thresholds).any():
        raise ValueError("thresholds must be one number per label, none of them NaN")
    counts, labels = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    for _, scores in checked_blocks(score_blocks, len(thresholds)):
        above = scores > thresholds
        counts.append(np.count_nonzero(above, axis=1))
        labels.append(np.nonzero(above)[1])
    return _labels(np.concatenate(labels), np.cumsum(np.concatenate(counts)), len(thresholds))


def class_mass_labels(scores: ScoreBlocks | PartitionedScores, rates: np.ndarray, n_rows: int) -> sp.csr_matrix:
    """Class-mass normalisation: label c goes to its round(rate_c · n) best rows, ties to the lower row."""
    best = best_rows(scores, _mass(rates, n_rows), n_rows)
    order = np.lexsort((best.labels, best.rows))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(best.rows, minlength=n_rows))))
    return _labels(best.labels[order], indptr, len(best.counts))


def best_rows(scores: ScoreBlocks | PartitionedScores, counts: np.ndarray, n_rows: int) -> BestRows:
    """The best counts[c] of all n rows for every label c, exact in whatever parts the scores are.

    Parts keep what could be among the best of all, and are joined two by two: no one holds more than the result.
    """
    parts = LocalScores(scores, unknown_truth(n_rows, len(counts))) if callable(scores) else scores
    return parts.sum(keep_best, counts=np.asarray(counts, np.int64))["best"]


def keep_best(part: ScorePart, *, counts: np.ndarray) -> dict[str, BestRows]:
    """The best rows of one part."""
    room = np.minimum(counts, part.truth.shape[0])
    starts = freeze(np.concatenate(([0], np.cumsum(room))))
    sizes = np.zeros(len(counts), np.int64)
    scores, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    for first, block in part.blocks():
        keep_best_rows(block, part.first + first, starts, sizes, scores, rows)
    order = np.lexsort((rows, -scores, np.repeat(np.arange(len(room)), room)))
    return {"best": BestRows(counts, sizes, scores[order], rows[order])}


def checked_rates(rates: np.ndarray) -> np.ndarray:
    """One share of the training rows per label."""
    rates = np.asarray(rates, np.float64)
    if rates.ndim != 1 or not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError("rates must be one number from 0 to 1 per label: its share of the training rows")
    return rates


def _mass(rates: np.ndarray, n_rows: int) -> np.ndarray:
    return np.rint(checked_rates(rates) * n_rows).astype(np.int64)


def _labels(labels: np.ndarray, indptr: np.ndarray, n_labels: int) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(labels), np.int8), labels, indptr), shape=(len(indptr) - 1, n_labels))
