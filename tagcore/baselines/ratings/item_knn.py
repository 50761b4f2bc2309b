"""Item-based neighbours: who rated an item as he did those like it."""

from typing import Any

import numpy as np

from tagcore.base import require_array
from tagcore.baselines.ratings.biases import DampedBiases
from tagcore.baselines.ratings.item_knn_kernel import alike_items, score_all, score_pairs
from tagcore.numeric.read_only import freeze
from tagcore.parameters import Real, Whole, limits
from tagcore.ratings import Ratings, UserTaggings
from tagcore.shards import Shard, Shards, row_shards
from tagcore.training import FitContext

_SHARDS = 16


class ItemKNN(DampedBiases):
    """Predicts damped biases, and on top of them how the user's ratings of the most similar items differ from theirs.

    Items are similar by the cosine of what biases leave of their ratings, times n / (n + shrinkage) where n users rated
    both. Among the `n_neighbors` most similar items with a positive cosine those that the user has rated count, by
    their similarity. Where there are none, and for whom and what it does not know, it is `DampedBiases`.

    Parameters
    ----------
    n_neighbors : most similar items that are kept of each.
    shrinkage : common raters that a cosine must have to count half.
    item_damping, user_damping : as of `DampedBiases`.

    Examples
    --------
    >>> users, items = ["ann", "ann", "bob", "bob", "cid"], ["tea", "jam", "tea", "jam", "tea"]
    >>> ratings = Ratings.from_values(users, items, [5, 4, 1, 2, 5])
    >>> ItemKNN(shrinkage=0).fit(ratings).recommend(2)[0]
    array([1])
    """

    _arrays = (*DampedBiases._arrays, "neighbors_", "likeness_", "residuals_")
    _limits = limits(n_neighbors=Whole(), shrinkage=Real(least=0), **DampedBiases._limits)

    neighbors_: np.ndarray  # items × n_neighbors, ascending; -1 behind the last
    likeness_: np.ndarray
    residuals_: np.ndarray  # beside rated_items_

    def __init__(
        self, n_neighbors: int = 50, shrinkage: float = 20.0, item_damping: float = 5.0, user_damping: float = 5.0
    ) -> None:
        super().__init__(item_damping, user_damping)
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage

    def _fit(self, ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
        super()._fit(ratings, taggings, context)
        rated = ratings.matrix.copy()
        users = np.repeat(np.arange(rated.shape[0]), np.diff(rated.indptr))
        rated.data = rated.data - self.mean_ - self.user_biases_[users] - self.item_biases_[rated.indices]
        by_item = rated.T.tocsr()
        squares = np.bincount(rated.indices, rated.data**2, minlength=rated.shape[1])
        k = min(self.n_neighbors, rated.shape[1])
        shards = Shards([(c.start, c.stop) for c in row_shards(rated.shape[1], _SHARDS)], _unchanged, context.executor)
        shards.keep(by_item=_csr(by_item), by_user=_csr(rated), squares=squares)
        ids, likeness = zip(*shards.collect(_alike_step, k=k, shrinkage=float(self.shrinkage)), strict=True)
        self.neighbors_, self.likeness_, self.residuals_ = np.concatenate(ids), np.concatenate(likeness), rated.data

    def _predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        scores = super()._predict(users, items)
        starts, rated, residuals, ids, likeness = self._tables()
        score_pairs(freeze(users), freeze(items), starts, rated, residuals, ids, likeness, scores)
        return scores

    def _score_items(self, users: np.ndarray) -> np.ndarray:
        items = np.arange(self.n_items_)
        pairs = np.repeat(users, items.size), np.tile(items, users.size)
        scores = super()._predict(*pairs).reshape(users.size, items.size)
        starts, rated, residuals, ids, likeness = self._tables()
        score_all(freeze(users), starts, rated, residuals, ids, likeness, scores)
        return scores

    def _tables(self) -> tuple[np.ndarray, ...]:
        return freeze((self.rated_starts_, self.rated_items_, self.residuals_, self.neighbors_, self.likeness_))

    def _check_state(self) -> None:
        super()._check_state()
        shape = self.n_items_, min(self.n_neighbors, self.n_items_)
        require_array(self.neighbors_, shape, np.int32, "neighbors_", -1, self.n_items_ - 1)
        require_array(self.likeness_, shape, np.float64, "likeness_", 0.0, 1.0 + 1e-9)
        require_array(self.residuals_, self.rated_items_.shape, np.float64, "residuals_")


def _alike_step(shard: Shard, state: Any, by_item: Any, by_user: Any, squares: Any, k: int, shrinkage: float) -> Any:
    """Step: the neighbours of a run of items."""
    first, last = shard.data
    return alike_items(first, last, by_item, by_user, squares, k, shrinkage)


def _csr(matrix: Any) -> tuple[np.ndarray, ...]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)


def _unchanged(part: Any) -> Any:
    return part
