"""What every model of ratings is: it learns who gave which value to what, predicts values and recommends items.

A new one is a file of `tagcore/baselines/ratings/`, or a folder of `tagcore/models/`, and a line in its `__init__`
(of a baseline also in that of `tagcore/baselines/`). Nights train it where `flows/presets/ratings.toml` names it.
"""

from typing import Any, Self

import numpy as np

from tagcore.base import Estimator, best_k, block_rows, require_lists, restore_on_failure
from tagcore.parameters import Whole, check_limits
from tagcore.progress import Progress, no_progress
from tagcore.ratings import Ratings, UserTaggings
from tagcore.scikit import check_is_fitted
from tagcore.shards import Executor, InProcess
from tagcore.training import Checkpoints, FitContext

MOST_ITEMS = 5_000_000  # all items of a user are scored together
UNKNOWN = -1  # in place of the id of a user or item that the model does not know, and of an item that there is not


class RatingModel(Estimator, abstract=True):
    """A model that learns from ratings, and from the tags of users where it can use them.

    A subclass writes `_fit(ratings, taggings, context)` and `_predict(users, items)`; where it can score all items of a
    user faster than pair by pair it also writes `_score_items(users)`, or `_best_items` where it need not keep them. An
    id outside of those it was fitted on is unknown: the hooks get `UNKNOWN` for it and answer by the model's fallback,
    which its class documents. What a user has rated is part of the state, so that it need not be recommended again.
    """

    learns_from = "ratings"
    _common_facts = ("n_users_", "n_items_")
    _common_arrays = ("rated_starts_", "rated_items_")

    n_users_: int
    n_items_: int
    rated_starts_: np.ndarray  # user u has rated rated_items_[rated_starts_[u] : rated_starts_[u + 1]]
    rated_items_: np.ndarray

    def fit(
        self,
        ratings: Ratings,
        taggings: UserTaggings | None = None,
        *,
        executor: Executor | None = None,
        progress: Progress | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        """Learns from ratings, of which the last of a user and item counts, and taggings of the same users and items.

        Models that learn in rounds keep checkpoints.
        """
        if not isinstance(ratings, Ratings):
            raise ValueError(
                f"ratings is a {type(ratings).__name__}, expected tagcore.Ratings of users, items and values"
            )
        if not len(ratings):
            raise ValueError("there are no ratings to learn from")
        if taggings is not None:
            taggings.require_users_and_items(ratings)
        self._check_params()
        rated = ratings.matrix
        context = FitContext(executor or InProcess(), progress or no_progress, checkpoints)
        with restore_on_failure(self):
            self._fit(ratings.last_values(), taggings, context)
            self.n_users_, self.n_items_ = rated.shape
            self.rated_starts_, self.rated_items_ = rated.indptr.astype(np.int64), rated.indices.astype(np.int32)
            self._check_sizes()
        return self

    def predict(self, users: Any, items: Any) -> np.ndarray:
        """The value that each user would give to the item beside it; ids are those of the ratings."""
        check_is_fitted(self)
        users, items = _known_ids(users, self.n_users_, "users"), _known_ids(items, self.n_items_, "items")
        if users.shape != items.shape:
            raise ValueError(f"{users.size} users and {items.size} items, expected one item for each user")
        return self._predict(users, items)

    def recommend(self, user: int, k: int = 5, exclude_seen: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """(items, scores) of one user, best first; fewer than k where the user has rated nearly everything."""
        (items,), (scores,) = self.top_k([user], k, exclude_seen)
        return items[items != UNKNOWN], scores[items != UNKNOWN]

    def top_k(self, users: Any, k: int = 5, exclude_seen: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """(items, scores), two (n, min(k, M)) arrays, best first, ties to the lower item id.

        With `exclude_seen` items that the user has rated are left out; where too few remain, `UNKNOWN` and -inf fill
        the row. Users are scored in blocks: users × items is never formed.
        """
        check_is_fitted(self)
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        users = _known_ids(users, self.n_users_, "users")
        shape = users.size, min(k, self.n_items_)
        best, best_scores = np.empty(shape, np.int64), np.empty(shape)
        step = block_rows(self.n_items_)
        for start in range(0, users.size, step):
            block = slice(start, min(start + step, users.size))
            best[block], best_scores[block] = self._best_items(users[block], k, exclude_seen)
        best[best_scores == -np.inf] = UNKNOWN
        return best, best_scores

    def _fit(self, ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
        """Learns from checked ratings, one of each user and item; sizes still are those of what was known before."""
        raise NotImplementedError  # abstract

    def _predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        raise NotImplementedError  # abstract

    def _score_items(self, users: np.ndarray) -> np.ndarray:
        """Scores of all items for a few users, dense (n, M)."""
        items = np.arange(self.n_items_)
        pairs = np.repeat(users, items.size), np.tile(items, users.size)
        return self._predict(*pairs).reshape(users.size, items.size)

    def _best_items(self, users: np.ndarray, k: int, exclude_seen: bool) -> tuple[np.ndarray, np.ndarray]:
        """(items, scores) of a few users, best first; -inf behind those that there are."""
        scores = np.array(self._score_items(users), np.float64)  # ours to write to
        if exclude_seen:
            scores[self._rated_cells(users)] = -np.inf
        return best_k(scores, k)

    def _rated_cells(self, users: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(rows, items) of all that these users have rated; nothing for an unknown one."""
        starts, stops = (np.where(users == UNKNOWN, 0, self.rated_starts_[users + at]) for at in (0, 1))
        sizes = stops - starts
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(np.arange(users.size), sizes), self.rated_items_[np.repeat(starts, sizes) + within]

    def _check_state(self) -> None:
        """Proves the bounds of what users have rated; a subclass adds those of its own arrays."""
        self._check_sizes()
        require_lists(self.rated_starts_, self.rated_items_, self.n_users_, self.n_items_, "rated items")

    def _check_sizes(self) -> None:
        check_limits({"n_users_": Whole(), "n_items_": Whole(1, MOST_ITEMS)}, self)


def _known_ids(ids: Any, size: int, what: str) -> np.ndarray:
    """A vector of ids, `UNKNOWN` in place of those outside 0..size - 1."""
    checked = np.atleast_1d(np.asarray(ids))
    if checked.ndim != 1 or (checked.size and checked.dtype.kind not in "iu"):
        raise ValueError(f"{what} are {checked.dtype} of shape {checked.shape}, expected a vector of whole numbers")
    checked = checked.astype(np.int64)
    return np.where((checked >= 0) & (checked < size), checked, UNKNOWN)
