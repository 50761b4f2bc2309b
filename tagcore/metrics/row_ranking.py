"""How well whole rankings of labels are ordered: LRAP, coverage, ranking loss, one-error and AUC of every row.

Rows without a label or with all labels count as in scikit-learn: LRAP 1, ranking loss 0, coverage 0 or L. Their
one-error is 1 or 0, as no or any first label is right; they have no AUC (NaN). Ties count as in scikit-learn, too: a
label ranks behind all labels of equal score.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.metrics.kernels import row_ranking as kernels
from tagcore.numeric.read_only import freeze
from tagcore.scoring.blocks import ScorePart
from tagcore.shards import Arrays


@dataclass(frozen=True, eq=False)
class LabelRanking:
    """Measures of how each row ranks its labels, one value per row."""

    auc: np.ndarray  # pairs of a true and another label in the right order, ties half
    lrap: np.ndarray  # label ranking average precision: the mean precision down to each true label
    coverage: np.ndarray  # how many labels down to the last true one
    ranking_loss: np.ndarray  # pairs in the wrong order, ties whole; with ties half it is 1 - auc
    one_error: np.ndarray  # 1 where the first label is wrong; of equal scores the lowest label is first


class RowRanks:
    """Measures rows block by block, and keeps the scores of the true cells in the order of the CSR truth."""

    def __init__(self, truth: sp.csr_matrix) -> None:
        self.indptr, self.indices = freeze(truth.indptr), freeze(truth.indices)
        self.positive_scores = np.empty(truth.nnz)
        self.measures = np.empty((5, truth.shape[0]))

    def add(self, first_row: int, scores: np.ndarray) -> None:
        kernels.rank_dense(self.indptr, self.indices, first_row, scores, self.positive_scores, self.measures)

    def arrays(self) -> Arrays:
        return {"measures": self.measures, "positive_scores": self.positive_scores}


def rank_rows(part: ScorePart) -> Arrays:
    """Computes the measures of a part's rows, (5, n), and gathers the scores of its true cells."""
    ranks = RowRanks(part.truth)
    for first, block in part.blocks():
        ranks.add(first, block)
    return ranks.arrays()
