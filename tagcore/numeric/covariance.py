"""Covariance functions of Gaussian processes on dense or CSR rows, with their derivatives by length scale.

A length scale is one number, or one for every column (automatic relevance determination); an amplitude is a standard
deviation, so that a squared exponential has k(x, x) = amplitude².
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.dots import Matrix, column_weights, dot_block, squared_lengths, transposed_product

LengthScale = float | np.ndarray


class Covariance(Protocol):
    """A covariance function k with its parameters."""

    @property
    def length_scale(self) -> LengthScale: ...
    @property
    def amplitude(self) -> float: ...

    def between(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """Gives k(x, z) of every pair, rows of X by rows of Z."""

    def diagonal(self, X: Matrix) -> np.ndarray:
        """Gives k(x, x) of every row."""

    def length_scale_slopes(self, X: Matrix, Z: Matrix, K: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Gives ⟨weights, ∂k(X, Z) / ∂ log l_d⟩ of every length scale, given K = k(X, Z)."""


@dataclass(frozen=True, eq=False)
class SquaredExponential:
    """k(x, z) = amplitude² exp(-‖(x - z) / l‖² / 2).

    >>> SquaredExponential(2.0, 3.0).between(np.zeros((1, 2)), np.zeros((1, 2)))
    array([[9.]])
    """

    length_scale: LengthScale
    amplitude: float = 1.0

    def between(self, X: Matrix, Z: Matrix) -> np.ndarray:
        X, Z = _divided(X, self.length_scale), _divided(Z, self.length_scale)
        block = dot_block(X, Z)
        block -= 0.5 * squared_lengths(X)[:, None]
        block -= 0.5 * squared_lengths(Z)
        np.minimum(block, 0.0, out=block)
        np.exp(block, out=block)
        block *= self.amplitude**2
        return block

    def diagonal(self, X: Matrix) -> np.ndarray:
        return np.full(X.shape[0], self.amplitude**2)

    def length_scale_slopes(self, X: Matrix, Z: Matrix, K: np.ndarray, weights: np.ndarray) -> np.ndarray:
        X, Z = _divided(X, self.length_scale), _divided(Z, self.length_scale)
        weighted = weights * K  # ∂k / ∂ log l_d = k (x_d - z_d)² / l_d²
        slopes = column_weights(X, weighted.sum(axis=1)) + column_weights(Z, weighted.sum(axis=0))
        slopes -= 2.0 * _column_products(transposed_product(weighted, X), Z)
        return _summed_for(self.length_scale, slopes)


@dataclass(frozen=True, eq=False)
class NeuralNetwork:
    """k(x, z) = amplitude² · 2/π · asin(2 x̃ᵀΣz̃ / √((1 + 2 x̃ᵀΣx̃)(1 + 2 z̃ᵀΣz̃))), x̃ = (1, x), Σ = diag(bias², l⁻²).

    A network of one hidden layer with infinitely many units: it does not fall off to zero far from the data.
    """

    length_scale: LengthScale
    amplitude: float = 1.0
    bias: float = 1.0

    def between(self, X: Matrix, Z: Matrix) -> np.ndarray:
        return self._scale() * np.arcsin(self._sines(*self._scaled(X, Z)))

    def diagonal(self, X: Matrix) -> np.ndarray:
        squares = 2.0 * (self.bias**2 + squared_lengths(_divided(X, self.length_scale)))
        return self._scale() * np.arcsin(squares / (1.0 + squares))

    def length_scale_slopes(self, X: Matrix, Z: Matrix, K: np.ndarray, weights: np.ndarray) -> np.ndarray:
        X, Z = self._scaled(X, Z)
        of_rows, of_columns = self._norms(X), self._norms(Z)
        sines = np.sin(K / self._scale())
        weighted = weights * self._scale() / np.sqrt(np.maximum(1.0 - sines**2, np.finfo(float).eps))
        shares = weighted * sines
        slopes = column_weights(X, 2.0 * shares.sum(axis=1) / of_rows)
        slopes += column_weights(Z, 2.0 * shares.sum(axis=0) / of_columns)
        weighted /= np.sqrt(of_rows)[:, None]
        weighted /= np.sqrt(of_columns)
        slopes -= 4.0 * _column_products(transposed_product(weighted, X), Z)
        return _summed_for(self.length_scale, slopes)

    def _scaled(self, X: Matrix, Z: Matrix) -> tuple[Matrix, Matrix]:
        return _divided(X, self.length_scale), _divided(Z, self.length_scale)

    def _scale(self) -> float:
        return self.amplitude**2 * 2.0 / np.pi

    def _norms(self, X: Matrix) -> np.ndarray:
        return 1.0 + 2.0 * (self.bias**2 + squared_lengths(X))

    def _sines(self, X: Matrix, Z: Matrix) -> np.ndarray:
        block = dot_block(X, Z)
        block += self.bias**2
        block *= 2.0
        block /= np.sqrt(self._norms(X))[:, None]
        block /= np.sqrt(self._norms(Z))
        return np.clip(block, -1.0, 1.0, out=block)


COVARIANCES: dict[str, type[SquaredExponential] | type[NeuralNetwork]] = {
    "se": SquaredExponential,
    "nn": NeuralNetwork,
}


def _divided(X: Matrix, length_scale: LengthScale) -> Matrix:
    if not sp.issparse(X):
        return np.asarray(X, np.float64) / length_scale
    scales = np.broadcast_to(np.asarray(length_scale, np.float64), X.shape[1:])
    return sp.csr_matrix((X.data / scales[X.indices], X.indices, X.indptr), shape=X.shape)


def _column_products(A: np.ndarray, Z: Matrix) -> np.ndarray:
    """Σ_j A_jd z_jd of every column d."""
    if sp.issparse(Z):
        return np.asarray(Z.multiply(A).sum(axis=0)).ravel()
    return np.einsum("jd,jd->d", A, Z)


def _summed_for(length_scale: LengthScale, slopes: np.ndarray) -> np.ndarray:
    """One slope where all columns share a length scale: a small change of it changes all of them."""
    return slopes if np.ndim(length_scale) else slopes.sum(keepdims=True)
