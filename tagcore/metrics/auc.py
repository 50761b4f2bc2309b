"""Area under the ROC curve, per document, per tag and over all cells: exact, ties count half, n × L is never held."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.label_matrix import label_matrix
from tagcore.metrics.kernels.pairs import add_label_pairs, sort_segments, twice_above
from tagcore.metrics.row_ranking import LabelRanking, rank_rows
from tagcore.numeric.read_only import freeze
from tagcore.scoring.blocks import LocalScores, PartitionedScores, ScoreBlocks, ScorePart
from tagcore.shards import Arrays

_LIMB = 2**32  # pairs of all cells may be more than 64 bits hold: they are added as two numbers


@dataclass(frozen=True, eq=False)
class AUC:
    """AUC of every label (NaN where all cells are positive or none is), of all cells pooled, and of every row."""

    labels: np.ndarray
    micro: float
    ranking: LabelRanking

    @property
    def rows(self) -> np.ndarray:
        """AUC of every row, NaN where it has no label or all."""
        return self.ranking.auc

    @property
    def row(self) -> float:
        """The mean over rows that have an AUC."""
        return _mean(self.rows)

    @property
    def macro(self) -> float:
        """The mean over labels that have an AUC."""
        return _mean(self.labels)

    @property
    def rows_left_out(self) -> int:
        """How many rows have no AUC."""
        return int(np.isnan(self.rows).sum())

    @property
    def labels_left_out(self) -> int:
        """How many labels have no AUC."""
        return int(np.isnan(self.labels).sum())


def roc_auc(Y: Any, scores: ScoreBlocks) -> AUC:
    """Computes the AUC of the scores of all cells against the truth Y (n × L, a label present iff > 0).

    Blocks are walked twice: for the measures of rows and the scores of the positives, then for what lies below
    these. Memory: one block, a sorted copy of it, and two numbers per positive of Y.
    """
    truth = label_matrix(Y, np.shape(Y)[0])
    whole = LocalScores(scores, truth)
    (ranks,) = whole.collect(rank_rows)
    return auc_from_ranks(whole, truth, **ranks)


def auc_from_ranks(
    parts: PartitionedScores, truth: sp.csr_matrix, measures: np.ndarray, positive_scores: np.ndarray
) -> AUC:
    """Computes the AUC from the results of `rank_rows` on all rows, by one more walk over the scores."""
    pairs = parts.sum(count_pairs, **_positives(truth, positive_scores))
    high, low = map(int, pairs["all"])
    return _auc(truth, measures, pairs["labels"], high * _LIMB + low)


def count_pairs(part: ScorePart, *, starts: np.ndarray, by_label: np.ndarray, pooled: np.ndarray) -> Arrays:
    """Counts twice the pairs of a positive with a lower cell of a part, a tie as half a pair: by label, and in all."""
    n_labels = part.truth.shape[1]
    labels, total = np.zeros(n_labels, np.int64), 0
    for _, block in part.blocks():
        columns = np.array(block.T, order="C")
        columns.sort(axis=1)
        column_starts = np.arange(n_labels + 1) * len(block)
        add_label_pairs(starts, by_label, freeze(column_starts), freeze(columns.ravel()), labels)
        total += int(twice_above(pooled, freeze(np.sort(block, axis=None))))
    return {"labels": labels, "all": np.array(divmod(total, _LIMB))}


def _positives(truth: sp.csr_matrix, positive_scores: np.ndarray) -> Arrays:
    """Scores of the positives, ascending: by label, with where each label begins, and pooled over all labels."""
    starts, by_label = _by_label(sp.csr_matrix((positive_scores, truth.indices, truth.indptr), shape=truth.shape))
    return {"starts": starts, "by_label": by_label, "pooled": freeze(np.sort(positive_scores))}


def _by_label(scores: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """(starts, values): the stored values of every column, ascending."""
    columns = scores.tocsc()
    starts = columns.indptr.astype(np.int64)
    sort_segments(starts, columns.data)
    return freeze(starts), freeze(columns.data)


def _auc(truth: sp.csr_matrix, measures: np.ndarray, label_pairs: np.ndarray, all_pairs: int) -> AUC:
    """AUC of labels and of all cells from twice the pairs of a positive with a lower cell, positive or not.

    Of P positives, pairs among themselves make P² of these, as ties count half: they are taken off.
    """
    n, n_labels = truth.shape
    n_pos = np.bincount(truth.indices, minlength=n_labels)
    pairs = n_pos * (n - n_pos)
    labels = np.divide(label_pairs - n_pos**2, 2 * pairs, out=np.full(n_labels, np.nan), where=pairs > 0)
    pooled = truth.nnz * (n * n_labels - truth.nnz)  # Python's integers: no product of these is too large
    micro = (all_pairs - truth.nnz**2) / (2 * pooled) if pooled else float("nan")
    return AUC(labels, micro, LabelRanking(*measures))


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
