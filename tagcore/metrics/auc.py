"""Area under the ROC curve, per document, per tag and over all cells: exact, ties count half, n × L is never held."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagcore.base import label_matrix
from tagcore.kernels import metrics as kernels
from tagcore.labelling import ScoreBlocks, checked_blocks
from tagcore.shards import freeze

KEPT_CELLS = 20_000_000  # up to 160 MB of scores are kept rather than asked of the model a second time


@dataclass(frozen=True, eq=False)
class AUC:
    """AUC of every row and of every label, NaN where all cells are positive or none is, and of all cells pooled."""

    rows: np.ndarray
    labels: np.ndarray
    micro: float

    @property
    def row(self) -> float:
        """The mean over rows that have one."""
        return _mean(self.rows)

    @property
    def macro(self) -> float:
        """The mean over labels that have one."""
        return _mean(self.labels)

    @property
    def rows_left_out(self) -> int:
        return int(np.isnan(self.rows).sum())

    @property
    def labels_left_out(self) -> int:
        return int(np.isnan(self.labels).sum())


def roc_auc(Y: Any, score_blocks: ScoreBlocks) -> AUC:
    """Two walks over the scores: one gathers those of the positives, one counts what lies below them.

    Memory: one block, a sorted copy of it, and two numbers per positive of Y (n × L, a label present iff > 0).
    """
    truth = label_matrix(Y, np.shape(Y)[0])
    n, n_labels = truth.shape
    indptr, indices = freeze(truth.indptr), freeze(truth.indices)
    rows, of_positives = np.empty(n), np.empty(truth.nnz)
    kept, small = [], n * n_labels <= KEPT_CELLS
    for first, scores in checked_blocks(score_blocks, n_labels, n):
        last = first + len(scores)
        kernels.row_auc(indptr, indices, first, scores, np.sort(scores, axis=1), rows)
        row_of = np.repeat(np.arange(len(scores)), np.diff(indptr[first : last + 1]))
        entries = slice(indptr[first], indptr[last])
        of_positives[entries] = scores[row_of, indices[entries]]
        if small:
            kept.append((first, freeze(scores.copy())))  # a model may use its block again

    by_label = freeze(of_positives[np.lexsort((of_positives, indices))])
    n_pos = np.bincount(indices, minlength=n_labels)
    starts = freeze(np.concatenate(([0], np.cumsum(n_pos))))
    pooled = freeze(np.sort(of_positives))
    label_pairs, all_pairs = np.zeros(n_labels, np.int64), 0
    for _, scores in kept if small else checked_blocks(score_blocks, n_labels, n):
        columns = np.array(scores.T, order="C")
        columns.sort(axis=1)
        kernels.add_label_pairs(starts, by_label, columns, label_pairs)
        all_pairs += int(kernels.twice_above(pooled, np.sort(scores, axis=None)))
    labels = _areas(label_pairs, n_pos, n)
    micro = _areas(np.array([all_pairs]), np.array([truth.nnz]), n * n_labels)
    return AUC(rows, labels, float(micro[0]))


def _areas(twice: np.ndarray, n_pos: np.ndarray, n: int) -> np.ndarray:
    """`twice` counts positives above any cell; P² of it are positives above each other."""
    pairs = n_pos * (n - n_pos)
    return np.divide(twice - n_pos**2, 2 * pairs, out=np.full(len(n_pos), np.nan), where=pairs > 0)


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
