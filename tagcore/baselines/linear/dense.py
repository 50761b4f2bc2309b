"""Linear scores from a dense matrix of weights, words × tags."""

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array
from tagcore.baselines.margin import MarginModel
from tagcore.kernels.sparse import multiply_dense
from tagcore.numeric.normalise import normalise_rows
from tagcore.numeric.read_only import freeze, frozen_rows
from tagcore.scoring.explanation import Explanation


class _DenseLinear(MarginModel):
    """A model with a dense matrix of weights.

    A subclass has the parameters `normalise` and `max_weights`, calls `_require_room` before it learns, and sets
    `coef_` and `intercept_`, both float32.
    """

    _arrays = ("coef_", "intercept_")

    normalise: bool
    max_weights: int

    coef_: np.ndarray  # (words, tags)
    intercept_: np.ndarray

    def explain(self, X: sp.csr_matrix, tag: int) -> Explanation:
        """Tells what each word of the one row X did to the score of the tag: x_d · w_dc."""
        row = self._scaled(self._checked(X))
        push = row.data * self.coef_[row.indices, tag].astype(np.float64)
        return Explanation(row.indices, push, None, float(self.intercept_[tag]))

    def _require_room(self, words: int, tags: int) -> None:
        if words * tags > self.max_weights:
            raise ValueError(
                f"{words} words × {tags} tags need {words * tags} weights ({4 * words * tags / 2**30:.1f} GiB), "
                f"more than max_weights={self.max_weights!r}: select words, or take OneVsRestLinear, which is sparse"
            )

    def _scaled(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return normalise_rows(X, self.normalise)

    def _check_state(self) -> None:
        super()._check_state()
        require_array(self.coef_, (self.n_features_in_, self.n_labels_), np.float32, "coef_")
        require_array(self.intercept_, (self.n_labels_,), np.float32, "intercept_")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        X = self._scaled(X)
        scores = np.empty((X.shape[0], self.n_labels_))
        multiply_dense(*frozen_rows(X), freeze(self.coef_), scores)
        scores += self.intercept_
        return scores
