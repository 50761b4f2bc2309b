"""Convex losses of scores z and truth y (0 or 1), cell by cell: value, slope and curvature in z."""

from typing import Protocol

import numpy as np

from tagcore.numeric.logistic import expit


class Loss(Protocol):
    """A loss whose results have the type of the scores, float32 or float64."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The value of the loss."""

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The first derivative of the loss in z."""

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The second derivative of the loss in z."""


class Squared:
    """½(y - z)²."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 0.5 * (z - y) ** 2

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return z - y

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.ones_like(z)


class Logistic:
    """log(1 + exp(-s·z)), s = 2y - 1; written with exp(-|z|), which cannot overflow."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(z, 0) - y * z + np.log1p(np.exp(-np.abs(z)))

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return expit(z) - y

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        if z.dtype == np.float64:
            p = expit(z)
            return p * (1.0 - p)
        tail = np.exp(-np.abs(z))
        return tail / (1 + tail) ** 2  # 1 - p would keep few digits of a float32


class SquaredHinge:
    """max(0, 1 - s·z)², s = 2y - 1."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self._shortfall(z, y) ** 2

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (2 - 4 * y) * self._shortfall(z, y)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return z.dtype.type(2) * (self._shortfall(z, y) > 0)

    def _shortfall(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Gives how far the margin falls short of 1."""
        return np.maximum(1 - (2 * y - 1) * z, 0)


LOSSES: dict[str, Loss] = {"squared": Squared(), "logistic": Logistic(), "squared_hinge": SquaredHinge()}
