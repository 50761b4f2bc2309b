"""Area under the ROC curve, per document, per tag and over all cells: exact, ties count half, n × L is never held."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.base import label_matrix
from tagcore.kernels import metrics as kernels
from tagcore.kernels.metrics_rows import sort_segments
from tagcore.labelling import ScoreBlocks, checked_blocks
from tagcore.metrics.losses import LabelRanking, RowRanks, checked_scores
from tagcore.shards import freeze

KEPT_CELLS = 20_000_000  # up to 160 MB of scores are kept rather than asked of the model a second time


@dataclass(frozen=True, eq=False)
class AUC:
    """AUC of every label, NaN where all cells are positive or none is, of all cells pooled, and measures of rows."""

    labels: np.ndarray
    micro: float
    ranking: LabelRanking

    @property
    def rows(self) -> np.ndarray:
        """AUC of every row, NaN where it has no label or all."""
        return self.ranking.auc

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


def roc_auc(Y: Any, scores: ScoreBlocks | sp.spmatrix, *, absent: float = 0.0) -> AUC:
    """Walks scores of all cells, in blocks or a sparse matrix, against the truth Y as `label_ranking` does.

    Blocks are walked twice: for the measures of rows and the scores of the positives, then for what lies below
    these. Memory: one block, a sorted copy of it, and two numbers per positive of Y.
    """
    truth = label_matrix(Y, np.shape(Y)[0])
    if sp.issparse(scores):
        return _of_sparse(truth, checked_scores(scores, truth.shape, absent), absent)
    n, n_labels = truth.shape
    ranks = RowRanks(truth)
    kept, small = [], n * n_labels <= KEPT_CELLS
    for first, block in checked_blocks(scores, n_labels, n):
        ranks.add(first, block)
        if small:
            kept.append((first, freeze(block.copy())))  # a model may use its block again

    starts, by_label, pooled = _positives(truth, ranks)
    label_pairs, all_pairs = np.zeros(n_labels, np.int64), 0
    for _, block in kept if small else checked_blocks(scores, n_labels, n):
        columns = np.array(block.T, order="C")
        columns.sort(axis=1)
        every = np.arange(n_labels + 1) * len(block)
        kernels.add_label_pairs(starts, by_label, freeze(every), freeze(columns.ravel()), label_pairs)
        all_pairs += int(kernels.twice_above(pooled, freeze(np.sort(block, axis=None))))
    return _auc(truth, ranks, label_pairs, all_pairs)


def _of_sparse(truth: sp.csr_matrix, scores: sp.csr_matrix, absent: float) -> AUC:
    """The cells without a score are counted, not visited."""
    n, n_labels = truth.shape
    ranks = RowRanks(truth)
    ranks.add_sparse(scores, absent)
    starts, by_label, pooled = _positives(truth, ranks)
    cell_starts, cells = _by_label(scores)
    label_pairs, of_absent = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    kernels.add_label_pairs(starts, by_label, cell_starts, cells, label_pairs)
    one_each = freeze(np.arange(n_labels + 1)), freeze(np.full(n_labels, absent))
    kernels.add_label_pairs(starts, by_label, *one_each, of_absent)
    label_pairs += (n - np.diff(cell_starts)) * of_absent
    all_pairs = int(kernels.twice_above(pooled, freeze(np.sort(scores.data))))
    all_pairs += (n * n_labels - scores.nnz) * int(kernels.twice_above(pooled, freeze(np.array([absent]))))
    return _auc(truth, ranks, label_pairs, all_pairs)


def _positives(truth: sp.csr_matrix, ranks: RowRanks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of the positives, ascending: where each label's begin, those of each label, those of all."""
    scored = sp.csr_matrix((ranks.of_positives, truth.indices, truth.indptr), shape=truth.shape)
    return *_by_label(scored), freeze(np.sort(ranks.of_positives))


def _by_label(scores: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """(starts, values): the stored values of every column, ascending."""
    columns = scores.tocsc()
    starts = columns.indptr.astype(np.int64)
    sort_segments(starts, columns.data)
    return freeze(starts), freeze(columns.data)


def _auc(truth: sp.csr_matrix, ranks: RowRanks, label_pairs: np.ndarray, all_pairs: int) -> AUC:
    n, n_labels = truth.shape
    labels = _areas(label_pairs, np.bincount(truth.indices, minlength=n_labels), n)
    micro = _areas(np.array([all_pairs]), np.array([truth.nnz]), n * n_labels)
    return AUC(labels, float(micro[0]), ranks.ranking())


def _areas(twice: np.ndarray, n_pos: np.ndarray, n: int) -> np.ndarray:
    """`twice` counts positives above any cell; P² of it are positives above each other."""
    pairs = n_pos * (n - n_pos)
    return np.divide(twice - n_pos**2, 2 * pairs, out=np.full(len(n_pos), np.nan), where=pairs > 0)


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
