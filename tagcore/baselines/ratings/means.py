"""One mean for every item, or for every user: what a model of ratings must beat first."""

import numpy as np

from tagcore.base import require_array
from tagcore.parameters import Real
from tagcore.rating_model import UNKNOWN, RatingModel
from tagcore.ratings import Ratings, UserTaggings
from tagcore.training import FitContext


class ItemMean(RatingModel):
    """Predicts the mean rating of the item, whoever asks; the mean of all ratings for an item that nobody has rated.

    Examples
    --------
    >>> ratings = Ratings.from_values(["ann", "ann", "bob"], ["tea", "jam", "tea"], [5, 2, 4])
    >>> ItemMean().fit(ratings).predict([1, 1], [0, 1])
    array([4.5, 2. ])
    """

    _arrays = ("item_means_",)
    _facts = ("mean_",)

    mean_: float
    item_means_: np.ndarray

    def _fit(self, ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
        self.mean_, self.item_means_ = group_means(ratings, "item", len(ratings.item_names))

    def _predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.where(items == UNKNOWN, self.mean_, self.item_means_[items])

    def _check_state(self) -> None:
        super()._check_state()
        require_array(self.item_means_, (self.n_items_,), np.float64, "item_means_")
        Real().check("mean_", self.mean_)


class UserMean(RatingModel):
    """Predicts the mean rating of the user, whatever the item; the mean of all ratings for a user without one.

    All items tie, so it recommends those of the lowest ids: a measure of ratings, not of orders.

    Examples
    --------
    >>> ratings = Ratings.from_values(["ann", "ann", "bob"], ["tea", "jam", "tea"], [5, 2, 4])
    >>> UserMean().fit(ratings).predict([0, 1], [1, 1])
    array([3.5, 4. ])
    """

    _arrays = ("user_means_",)
    _facts = ("mean_",)

    mean_: float
    user_means_: np.ndarray

    def _fit(self, ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
        self.mean_, self.user_means_ = group_means(ratings, "user", len(ratings.user_names))

    def _predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.where(users == UNKNOWN, self.mean_, self.user_means_[users])

    def _check_state(self) -> None:
        super()._check_state()
        require_array(self.user_means_, (self.n_users_,), np.float64, "user_means_")
        Real().check("mean_", self.mean_)


def group_means(ratings: Ratings, column: str, size: int) -> tuple[float, np.ndarray]:
    """(mean of all ratings, mean of each user or item); that of all for one without ratings."""
    values, groups = ratings.table["value"].to_numpy(), ratings.table[column].to_numpy()
    mean = float(values.mean())
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, values, minlength=size)
    return mean, np.divide(sums, counts, out=np.full(size, mean), where=counts > 0)
