"""Errors of predicted ratings, added up user by user: MAE and RMSE with what every user adds to them.

Ratings of one user are alike, so that what is sure of a measure follows from its users, not from its ratings. Both
measures are functions of sums over users, not means over users; each is told as one value per user (its linearisation,
also called infinitesimal jackknife): their mean is the measure itself, over all ratings, and resampled or paired users
give its interval or a comparison, as documents do for other measures.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class RatingErrors:
    """Errors of the ratings of users who have at least one."""

    ratings: np.ndarray  # number of each user's
    absolute: np.ndarray  # sum of each user's absolute errors
    squared: np.ndarray

    def mae(self) -> np.ndarray:
        """Values whose mean is Σ |error| / n over all n ratings."""
        return _linearised_ratio(self.absolute, self.ratings)

    def rmse(self) -> np.ndarray:
        """Values whose mean is √(Σ error² / n) over all n ratings."""
        squares = _linearised_ratio(self.squared, self.ratings)
        root = np.sqrt(self.squared.sum() / self.ratings.sum())
        # d √s = ds / 2√s around the mean s; without any error there is nothing to spread
        return root + (squares - root**2) / (2 * root) if root > 0 else np.zeros(squares.size)


def rating_errors(users: np.ndarray, true: np.ndarray, predicted: np.ndarray) -> RatingErrors:
    """Compares ratings with their predictions; `users` says whose they are, and users come in ascending order."""
    users, true, predicted = np.asarray(users), np.asarray(true, np.float64), np.asarray(predicted, np.float64)
    if not users.shape == true.shape == predicted.shape or true.ndim != 1:
        shapes = f"{users.shape} users, {true.shape} ratings and {predicted.shape} predictions"
        raise ValueError(f"{shapes}, expected vectors of one length")
    if not true.size:
        raise ValueError("there are no ratings to measure on")
    for what, values in (("rating", true), ("prediction", predicted)):
        wrong = ~np.isfinite(values)
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(f"{what} {at} is {values[at]}, expected a finite number")
    error = true - predicted
    _, group = np.unique(users, return_inverse=True)
    return RatingErrors(np.bincount(group), np.bincount(group, np.abs(error)), np.bincount(group, error**2))


def _linearised_ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """One value per user whose mean is Σ part / Σ whole, and whose spread is that of the ratio over users."""
    ratio = part.sum() / whole.sum()
    return ratio + (part - ratio * whole) * (whole.size / whole.sum())
