"""How well whole rankings of labels are ordered: LRAP, coverage, ranking loss, one-error and AUC of every row.

Rows without a label or with all labels count as in scikit-learn: LRAP 1, ranking loss 0, coverage 0 or L. Their
one-error is 1 or 0, as no or any first label is right; they have no AUC (NaN).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.base import label_matrix
from tagcore.metrics.kernels import row_ranking as kernels
from tagcore.scoring.blocks import ScoreBlocks, ScorePart
from tagcore.shards import Arrays, freeze


@dataclass(frozen=True, eq=False)
class LabelRanking:
    """Measures of the ranking of all labels, one value per row."""

    auc: np.ndarray  # pairs of a true and another label in the right order, ties half
    lrap: np.ndarray  # label ranking average precision: the mean precision down to each true label
    coverage: np.ndarray  # how many labels down to the last true one
    ranking_loss: np.ndarray  # pairs in the wrong order, ties whole; with ties half it is 1 - auc
    one_error: np.ndarray  # 1 where the first label is wrong; of equal scores the lowest label is first


class RowRanks:
    """Measures rows block by block, and keeps the scores of the true cells in the order of the CSR truth."""

    def __init__(self, truth: sp.csr_matrix) -> None:
        self.indptr, self.indices = freeze(truth.indptr), freeze(truth.indices)
        self.of_positives = np.empty(truth.nnz)
        self.measures = np.empty((5, truth.shape[0]))

    def add(self, first_row: int, scores: np.ndarray) -> None:
        """Measures the rows of a block of scores."""
        kernels.rank_dense(self.indptr, self.indices, first_row, scores, self.of_positives, self.measures)

    def add_sparse(self, scores: sp.csr_matrix, absent: float) -> None:
        """Measures all rows from their stored scores; every other label has the score `absent`."""
        stored = freeze(scores.indptr), freeze(scores.indices), freeze(scores.data)
        kernels.rank_sparse(
            self.indptr, self.indices, *stored, scores.shape[1], absent, self.of_positives, self.measures
        )

    def arrays(self) -> Arrays:
        """What a step returns: the measures, and the scores of the true cells."""
        return {"measures": self.measures, "of_positives": self.of_positives}


def label_ranking(Y: Any, scores: ScoreBlocks | sp.spmatrix, *, absent: float = 0.0) -> LabelRanking:
    """Measures scores against the truth Y (n × L, a label present iff > 0) in one walk.

    `scores` are walked in blocks, or are a sparse n × L matrix; labels without a stored score then all have the
    score `absent`. Ties count as in scikit-learn: a label ranks behind all labels of equal score.
    """
    truth = label_matrix(Y, np.shape(Y)[0])
    if sp.issparse(scores):
        ranks = RowRanks(truth)
        ranks.add_sparse(checked_scores(scores, truth.shape, absent), absent)
        return LabelRanking(*ranks.measures)
    return LabelRanking(*rank_rows(ScorePart(scores, truth))["measures"])


def rank_rows(part: ScorePart) -> Arrays:
    """Measures the rows of a part: (5, n) values, and the scores of its true cells."""
    ranks = RowRanks(part.truth)
    for first, block in part.blocks():
        ranks.add(first, block)
    return ranks.arrays()


def checked_scores(scores: Any, shape: tuple[int, int], absent: float) -> sp.csr_matrix:
    """Scores as CSR with labels in order, all finite."""
    if scores.shape != shape:
        raise ValueError(f"the scores have shape {scores.shape}, the truth {shape}")
    if np.isnan(absent) or absent == np.inf:
        raise ValueError(f"absent is {absent}, expected the score of labels without one: a number or -inf")
    checked = sp.csr_matrix(scores, dtype=np.float64)
    if not checked.has_canonical_format:
        checked = checked.copy()
        checked.sum_duplicates()
    wrong = ~np.isfinite(checked.data)
    if wrong.any():
        at = int(wrong.argmax())
        row = int(np.searchsorted(checked.indptr, at, side="right")) - 1
        raise ValueError(
            f"the score of row {row}, label {checked.indices[at]} is {checked.data[at]}, expected a number"
        )
    return checked
