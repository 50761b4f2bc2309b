"""The mean of all ratings, and how far every item and every user lies from it, damped where there is little to see."""

from typing import ClassVar

import numpy as np

from tagcore.base import require_array
from tagcore.numeric.damped_means import damped_means
from tagcore.parameters import Real, limits
from tagcore.rating_model import UNKNOWN, RatingModel
from tagcore.ratings import Ratings, UserTaggings
from tagcore.training import FitContext


class DampedBiases(RatingModel):
    """Predicts μ + b_u + b_i.

    μ is the mean of all ratings. The bias of an item is b_i = Σ_u (r_ui − μ) / (n_i + item_damping) over the n_i
    ratings of the item, that of a user b_u = Σ_i (r_ui − μ − b_i) / (n_u + user_damping) over the n_u of the user.
    Damping of d counts as d more ratings without a bias, so that one lucky rating does not make an item the best of
    all. Unknown users and items, and those without ratings, have no bias. Predictions are not clipped to the scale of
    the ratings.

    Parameters
    ----------
    item_damping, user_damping : numbers from 0; 0 are the plain means of what remains.

    Examples
    --------
    >>> ratings = Ratings.from_values(["ann", "ann", "bob"], ["tea", "jam", "tea"], [5, 2, 4])
    >>> DampedBiases(item_damping=0, user_damping=0).fit(ratings).predict([0, 1], [0, 1]).round(3)
    array([4.75, 1.5 ])
    """

    _arrays: ClassVar[tuple[str, ...]] = ("user_biases_", "item_biases_")
    _facts = ("mean_",)
    _limits = limits(item_damping=Real(least=0), user_damping=Real(least=0))

    mean_: float
    user_biases_: np.ndarray
    item_biases_: np.ndarray

    def __init__(self, item_damping: float = 5.0, user_damping: float = 5.0) -> None:
        self.item_damping = item_damping
        self.user_damping = user_damping

    def _fit(self, ratings: Ratings, taggings: UserTaggings | None, context: FitContext) -> None:
        users, items, values = (ratings.table[column].to_numpy() for column in ("user", "item", "value"))
        self.mean_ = float(values.mean())
        self.item_biases_ = damped_means(values - self.mean_, items, len(ratings.item_names), self.item_damping)
        remaining = values - self.mean_ - self.item_biases_[items]
        self.user_biases_ = damped_means(remaining, users, len(ratings.user_names), self.user_damping)

    def _predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        of_users = np.where(users == UNKNOWN, 0.0, self.user_biases_[users])
        of_items = np.where(items == UNKNOWN, 0.0, self.item_biases_[items])
        return self.mean_ + of_users + of_items

    def _check_state(self) -> None:
        super()._check_state()
        require_array(self.user_biases_, (self.n_users_,), np.float64, "user_biases_")
        require_array(self.item_biases_, (self.n_items_,), np.float64, "item_biases_")
        Real().check("mean_", self.mean_)
