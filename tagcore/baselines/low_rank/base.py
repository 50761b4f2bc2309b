"""Scores of low rank: rows and tags meet in a space of few dimensions."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array
from tagcore.features.rows import XY, Rows, load_all
from tagcore.kernels.sparse import multiply_dense
from tagcore.numeric.normalise import normalise_rows
from tagcore.numeric.read_only import freeze, frozen_rows
from tagcore.parameters import WholeOrShare
from tagcore.shards import Arrays, Executor, Shard, Shards
from tagcore.tag_model import TagModel
from tagcore.training import FitContext

RANK = WholeOrShare("the tags")


class _LowRank(TagModel):
    """A model with score = (X · word_factors_) · tag_factors_ᵀ + intercept_.

    A subclass has the parameters `rank` and `normalise` and writes `_learn(X, Y, context)`, which sets the three
    arrays, all float32; Y holds ones and at least one of them. All rows are taken into memory: the scale of the start
    and what solvers are preconditioned by are sums over them.
    """

    _arrays: ClassVar[tuple[str, ...]] = ("word_factors_", "tag_factors_", "intercept_")

    rank: int | float
    normalise: bool

    word_factors_: np.ndarray  # (words, rank)
    tag_factors_: np.ndarray  # (tags, rank)
    intercept_: np.ndarray

    def _learn(self, X: sp.csr_matrix, Y: sp.csr_matrix, context: FitContext) -> None:
        raise NotImplementedError  # abstract

    def _untagged_score(self) -> float:
        """Gives the score of every tag where no training document has a tag."""
        return 0.0

    def _fit(self, rows: Rows, context: FitContext) -> None:
        X, Y = self._prepared(rows)
        if Y.nnz:
            self._learn(X, Y, context)
            return
        self.word_factors_ = np.zeros((X.shape[1], 1), np.float32)
        self.tag_factors_ = np.zeros((Y.shape[1], 1), np.float32)
        self.intercept_ = np.full(Y.shape[1], self._untagged_score(), np.float32)

    def _prepared(self, rows: Rows) -> XY:
        """Gives all rows, scaled, and ones for their tags, in float32."""
        X, Y = load_all(rows)
        ones = np.ones(Y.nnz, np.float32)
        return self._scaled(X).astype(np.float32), sp.csr_matrix((ones, Y.indices, Y.indptr), shape=Y.shape)

    def _dimensions(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> int:
        """Gives the rank as a number, no larger than the data can have."""
        rank = self.rank if isinstance(self.rank, Integral) else int(np.ceil(self.rank * Y.shape[1]))
        return int(min(rank, *X.shape, Y.shape[1]))

    def _embedded(self, X: sp.csr_matrix) -> np.ndarray:
        """Gives rows times word_factors_, (n, rank)."""
        X, out = self._scaled(X).astype(np.float32), np.empty((X.shape[0], self.word_factors_.shape[1]), np.float32)
        multiply_dense(*frozen_rows(X), freeze(self.word_factors_), out)
        return out

    def _scaled(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return normalise_rows(X, self.normalise)

    def _check_state(self) -> None:
        super()._check_state()
        rank = self.word_factors_.shape[-1] if self.word_factors_.ndim else 0
        if rank < 1:
            raise ValueError(f"word_factors_ has shape {self.word_factors_.shape}, expected at least one dimension")
        require_array(self.word_factors_, (self.n_features_in_, rank), np.float32, "word_factors_")
        require_array(self.tag_factors_, (self.n_labels_, rank), np.float32, "tag_factors_")
        self._check_constants(rank)

    def _check_constants(self, rank: int) -> None:
        """Raises ValueError where what is added to the products does not fit to them."""
        require_array(self.intercept_, (self.n_labels_,), np.float32, "intercept_")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        scores = self._embedded(X) @ self.tag_factors_.T
        scores += self.intercept_
        return scores


def on_one_thread(executor: Executor, step: Callable[..., Arrays], **arrays: Any) -> Arrays:
    """Calls step(**arrays) as every step is run, so that its bits do not depend on the threads that BLAS may use."""
    return Shards([step], _itself, executor).collect(_call, **arrays)[0]


def _itself(step: Callable[..., Arrays]) -> Callable[..., Arrays]:
    return step


def _call(shard: Shard[Callable[..., Arrays]], state: Arrays, **arrays: Any) -> Arrays:
    return shard.data(**arrays)
