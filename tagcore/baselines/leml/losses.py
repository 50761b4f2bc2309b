"""The losses of LEML."""

from typing import Protocol

import numpy as np


class Loss(Protocol):
    """Of scores z and truth y (0 or 1), cell by cell."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """the loss."""

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """its first derivative in z."""

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """its second derivative in z."""


class Squared:
    """½(y - z)²."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.float32(0.5) * (z - y) ** 2

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return z - y

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.ones_like(z)


class Logistic:
    """log(1 + exp(-s·z)), s = 2y - 1; written with exp(-|z|), which cannot overflow."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(z, 0) - y * z + np.log1p(np.exp(-np.abs(z)))

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        tail = np.exp(-np.abs(z))
        return np.where(z < 0, tail, np.float32(1)) / (1 + tail) - y

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        tail = np.exp(-np.abs(z))
        return tail / (1 + tail) ** 2


class SquaredHinge:
    """max(0, 1 - s·z)², s = 2y - 1."""

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self._short(z, y) ** 2

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (2 - 4 * y) * self._short(z, y)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.float32(2) * (self._short(z, y) > 0)

    def _short(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """By how much the margin is missed."""
        return np.maximum(1 - (2 * y - 1) * z, 0)


LOSSES: dict[str, Loss] = {"squared": Squared(), "logistic": Logistic(), "squared_hinge": SquaredHinge()}
