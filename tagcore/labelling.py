"""From scores to labels: the top k, thresholds, class-mass normalisation.

Scores come as blocks of rows and are walked once; n × L is never formed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.metrics import keep_best_rows
from tagcore.shards import Arrays, Executor, InProcess, freeze

ScoreBlocks = Callable[[], Iterable[tuple[slice, np.ndarray]]]  # each call walks the same scores from the first row
Partitions = ScoreBlocks | Sequence[ScoreBlocks]  # all rows, or some after the other; each counts its own from 0


class BestRows(NamedTuple):
    """Rows of every label, best first, ties to the lower row: those of label c from starts[c] to starts[c + 1]."""

    starts: np.ndarray
    scores: np.ndarray
    rows: np.ndarray


def checked_blocks(
    score_blocks: ScoreBlocks, n_labels: int, n_rows: int | None = None
) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, scores) of every block: one after the other, L columns, finite."""
    row = 0
    for rows, block in score_blocks():
        scores = np.ascontiguousarray(block, np.float64)
        if (rows.start or 0) != row:
            raise ValueError(f"a block of scores starts at row {rows.start}, expected row {row}")
        if scores.ndim != 2 or scores.shape[1] != n_labels:
            raise ValueError(f"scores from row {row} have shape {scores.shape}, expected {n_labels} columns")
        if n_rows is not None and row + len(scores) > n_rows:
            raise ValueError(f"the blocks hold scores of {row + len(scores)} rows or more, expected {n_rows}")
        finite = np.isfinite(scores)
        if not finite.all():
            i, label = np.argwhere(~finite)[0]
            raise ValueError(f"the score of row {row + i}, label {label} is {scores[i, label]}, expected a number")
        yield row, freeze(scores)
        row += len(scores)
    if n_rows is not None and row != n_rows:
        raise ValueError(f"the blocks hold scores of {row} rows, expected {n_rows}")


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


def class_mass_labels(
    score_blocks: Partitions, rates: np.ndarray, n_rows: int, *, executor: Executor | None = None
) -> sp.csr_matrix:
    """Class-mass normalisation: label c goes to its round(rate_c · n) best rows, ties to the lower row."""
    starts, _, rows = best_rows(score_blocks, _mass(rates, n_rows), n_rows, executor=executor)
    labels = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((labels, rows))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows))))
    return _labels(labels[order], indptr, len(starts) - 1)


def class_mass_thresholds(
    score_blocks: Partitions, rates: np.ndarray, n_rows: int, *, executor: Executor | None = None
) -> np.ndarray:
    """The thresholds behind class-mass normalisation, for `threshold_labels` on later rows.

    Scores that tie with the last labelled row are all above the threshold. A label of no rows has +inf.
    """
    starts, scores, _ = best_rows(score_blocks, _mass(rates, n_rows), n_rows, executor=executor)
    thresholds = np.full(len(starts) - 1, np.inf)
    given = np.diff(starts) > 0
    thresholds[given] = np.nextafter(scores[starts[1:][given] - 1], -np.inf)
    return thresholds


def best_rows(
    score_blocks: Partitions, counts: np.ndarray, n_rows: int, *, executor: Executor | None = None
) -> BestRows:
    """The best counts[c] of all n rows for every label c, exact however the rows are cut into partitions.

    Partitions may run on the executor: each keeps as many rows as could be the best of all, 16 bytes apiece.
    """
    executor = executor or InProcess()
    partitions = [score_blocks] if callable(score_blocks) else list(score_blocks)
    if not partitions:
        raise ValueError("there are no partitions of the scores")
    kept = executor.get([executor.call(keep_best, partition, freeze(counts)) for partition in partitions])
    firsts = np.cumsum([0, *(int(part["n_rows"]) for part in kept)])
    if firsts[-1] != n_rows:
        raise ValueError(f"the blocks hold scores of {firsts[-1]} rows, expected {n_rows}")
    labels = np.concatenate([np.repeat(np.arange(len(counts)), part["sizes"]) for part in kept])
    scores = np.concatenate([part["scores"] for part in kept])
    rows = np.concatenate([part["rows"] + first for part, first in zip(kept, firsts[:-1], strict=True)])
    order = np.lexsort((rows, -scores, labels))
    offered = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=len(counts)))))
    place = np.arange(order.size) - offered[labels[order]]
    best = order[place < counts[labels[order]]]
    return BestRows(np.concatenate(([0], np.cumsum(counts))), scores[best], rows[best])


def keep_best(score_blocks: ScoreBlocks, counts: np.ndarray) -> Arrays:
    """The best counts[c] rows of one partition for every label c, or all where it has fewer, label after label."""
    starts = freeze(np.concatenate(([0], np.cumsum(counts))))
    sizes, n_rows = np.zeros(len(counts), np.int64), 0
    scores, rows = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    for first, block in checked_blocks(score_blocks, len(counts)):
        keep_best_rows(block, first, starts, sizes, scores, rows)
        n_rows = first + len(block)
    filled = np.arange(starts[-1]) - np.repeat(starts[:-1], counts) < np.repeat(sizes, counts)
    return {"sizes": sizes, "scores": scores[filled], "rows": rows[filled], "n_rows": np.array(n_rows)}


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
