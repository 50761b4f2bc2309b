"""The prototypes with their covariance: what turns a row into M whitened features φ(x) = L⁻¹ k(Z, x).

Covariances here have amplitude 1, and the jitter is relative to it: the amplitude of a class multiplies its features.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from tagcore.numeric.covariance import COVARIANCES, Covariance
from tagcore.numeric.dots import Matrix, RightRows

_MOST_JITTER = 1e-2


@dataclass(frozen=True, eq=False)
class Basis:
    """Prototypes Z, their covariance k, and the lower Cholesky factor L of k(Z, Z) + jitter · I."""

    covariance: str
    length_scale: np.ndarray  # 0-d, or one for every column
    prototypes: Matrix
    factor: np.ndarray
    jitter: float

    @property
    def k(self) -> Covariance:
        return COVARIANCES[self.covariance](self.length_scale)

    @property
    def size(self) -> int:
        return self.factor.shape[0]

    def covariances(self, X: Matrix) -> np.ndarray:
        """Gives k(X, Z)."""
        return self.k.with_right(X, self._right)

    @cached_property
    def _right(self) -> RightRows:
        return self.k.right(self.prototypes)

    def features(self, X: Matrix) -> np.ndarray:
        """Gives φ(x) of every row."""
        return self.whiten(self.covariances(X).T).T

    def residual_variances(self, X: Matrix, features: np.ndarray) -> np.ndarray:
        """Gives what the prototypes leave open at every row: k(x, x) + jitter - ‖φ(x)‖², never below zero."""
        explained = np.einsum("nm,nm->n", features, features)
        return np.maximum(self.k.diagonal(X) + self.jitter - explained, 0.0)

    def whiten(self, A: np.ndarray) -> np.ndarray:
        """Gives L⁻¹ A."""
        return solve_triangular(self.factor, A, lower=True, check_finite=False)

    def unwhiten(self, A: np.ndarray) -> np.ndarray:
        """Gives L⁻ᵀ A."""
        return solve_triangular(self.factor, A, lower=True, trans="T", check_finite=False)

    def parts(self) -> dict[str, Any]:
        """Plain arrays of which `Basis(**parts)` makes it again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def make_basis(covariance: str, length_scale: np.ndarray, prototypes: Matrix, jitter: float) -> Basis:
    """Factorises; prototypes that coincide take more jitter, up to 0.01, before that is an error."""
    K = COVARIANCES[covariance](length_scale).between(prototypes, prototypes)
    K = 0.5 * (K + K.T)
    while True:
        try:
            factor = cholesky(K + jitter * np.eye(K.shape[0]), lower=True)
        except (LinAlgError, ValueError) as error:  # ValueError: not finite
            if jitter * 10.0 > _MOST_JITTER:
                raise ValueError(
                    f"the covariance of the prototypes is singular at length scale {_told(length_scale)}, "
                    f"even with a jitter of {jitter:g}"
                ) from error
            jitter *= 10.0
            continue
        return Basis(covariance, np.asarray(length_scale, np.float64), prototypes, factor, jitter)


def _told(length_scale: np.ndarray) -> str:
    values = np.atleast_1d(length_scale)
    return f"{values[0]:g}" if values.size == 1 else f"{values.min():g} to {values.max():g}"
