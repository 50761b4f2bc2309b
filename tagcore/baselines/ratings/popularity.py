"""What most people have rated: what a recommender must rank better than."""

import numpy as np

from tagcore.base import require_array
from tagcore.rating_model import UNKNOWN, RatingModel
from tagcore.ratings import Ratings, UserTaggings
from tagcore.training import FitContext


class PopularItems(RatingModel):
    """Scores an item by the share of users who have rated it, whatever they said; 0 for an unknown item.

    A measure of orders, not of ratings: its scores are no values on their scale.

    Examples
    --------
    >>> ratings = Ratings.from_values(["ann", "ann", "bob"], ["tea", "jam", "tea"], [5, 2, 4])
    >>> PopularItems().fit(ratings).predict([1, 1], [0, 1])
    array([1. , 0.5])
    """

    _arrays = ("shares_",)

    shares_: np.ndarray

    def _fit(self, ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
        users, items = (ratings.table[column].to_numpy() for column in ("user", "item"))
        self.shares_ = np.bincount(items, minlength=len(ratings.item_names)) / np.unique(users).size

    def _predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.where(items == UNKNOWN, 0.0, self.shares_[items])

    def _check_state(self) -> None:
        super()._check_state()
        require_array(self.shares_, (self.n_items_,), np.float64, "shares_", 0.0, 1.0)
