"""Errors of predicted ratings: MAE and RMSE, as sums that add up over blocks."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RatingErrors:
    """Sums of the errors of n predicted ratings; `+` joins disjoint ratings. Means over no rating are NaN."""

    n: int = 0
    absolute: float = 0.0
    squared: float = 0.0

    @property
    def mae(self) -> float:
        return self.absolute / self.n if self.n else float("nan")

    @property
    def rmse(self) -> float:
        return float(np.sqrt(self.squared / self.n)) if self.n else float("nan")

    def __add__(self, other: "RatingErrors") -> "RatingErrors":
        return RatingErrors(self.n + other.n, self.absolute + other.absolute, self.squared + other.squared)


def rating_errors(true: np.ndarray, predicted: np.ndarray) -> RatingErrors:
    """Compares two arrays of one shape, finite throughout."""
    true, predicted = np.asarray(true, np.float64), np.asarray(predicted, np.float64)
    if true.shape != predicted.shape:
        raise ValueError(f"{true.shape} ratings and {predicted.shape} predictions, expected one for each")
    for what, values in (("rating", true), ("prediction", predicted)):
        wrong = ~np.isfinite(values).ravel()
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(f"{what} {at} is {values.ravel()[at]}, expected a finite number")
    error = np.abs(true - predicted)
    return RatingErrors(error.size, float(error.sum()), float(np.vdot(error, error)))
