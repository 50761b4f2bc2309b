"""Covariance functions of Gaussian processes on dense or CSR rows, with their derivatives by length scale.

A length scale is one number, or one for every column (automatic relevance determination); an amplitude is a standard
deviation, so that a squared exponential has k(x, x) = amplitude².
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.dots import Matrix, RightRows, column_weights, squared_lengths, transposed_product
from tagcore.numeric.unchecked_rows import flat_copy

LengthScale = float | np.ndarray


class Covariance(Protocol):
    """A covariance function k with its parameters."""

    @property
    def length_scale(self) -> LengthScale: ...
    @property
    def amplitude(self) -> float: ...

    def between(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """Gives k(x, z) of every pair, rows of X by rows of Z."""

    def right(self, Z: Matrix) -> RightRows:
        """Makes rows ready to be the Z of many X."""

    def with_right(self, X: Matrix, right: RightRows) -> np.ndarray:
        """Gives `between` of X and the rows that were made ready."""

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
        return self.with_right(X, self.right(Z))

    def right(self, Z: Matrix) -> RightRows:
        return RightRows(_divided(Z, self.length_scale))

    def with_right(self, X: Matrix, right: RightRows) -> np.ndarray:
        X = _divided(X, self.length_scale)
        block = right.dots(X)
        block -= 0.5 * squared_lengths(X)[:, None]
        block -= 0.5 * right.squares
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
        return self.with_right(X, self.right(Z))

    def right(self, Z: Matrix) -> RightRows:
        return RightRows(_divided(Z, self.length_scale))

    def with_right(self, X: Matrix, right: RightRows) -> np.ndarray:
        return self._scale() * np.arcsin(self._sines(_divided(X, self.length_scale), right))

    def diagonal(self, X: Matrix) -> np.ndarray:
        squares = 2.0 * (self.bias**2 + squared_lengths(_divided(X, self.length_scale)))
        return self._scale() * np.arcsin(squares / (1.0 + squares))

    def length_scale_slopes(self, X: Matrix, Z: Matrix, K: np.ndarray, weights: np.ndarray) -> np.ndarray:
        X, Z = _divided(X, self.length_scale), _divided(Z, self.length_scale)
        of_rows, of_columns = self._norms(squared_lengths(X)), self._norms(squared_lengths(Z))
        sines = np.sin(K / self._scale())
        weighted = weights * self._scale() / np.sqrt(np.maximum(1.0 - sines**2, np.finfo(float).eps))
        shares = weighted * sines
        slopes = column_weights(X, 2.0 * shares.sum(axis=1) / of_rows)
        slopes += column_weights(Z, 2.0 * shares.sum(axis=0) / of_columns)
        weighted /= np.sqrt(of_rows)[:, None]
        weighted /= np.sqrt(of_columns)
        slopes -= 4.0 * _column_products(transposed_product(weighted, X), Z)
        return _summed_for(self.length_scale, slopes)

    def _scale(self) -> float:
        return self.amplitude**2 * 2.0 / np.pi

    def _norms(self, squares: np.ndarray) -> np.ndarray:
        return 1.0 + 2.0 * (self.bias**2 + squares)

    def _sines(self, X: Matrix, right: RightRows) -> np.ndarray:
        block = right.dots(X)
        block += self.bias**2
        block *= 2.0
        block /= np.sqrt(self._norms(squared_lengths(X)))[:, None]
        block /= np.sqrt(self._norms(right.squares))
        return np.clip(block, -1.0, 1.0, out=block)


COVARIANCES: dict[str, type[SquaredExponential] | type[NeuralNetwork]] = {
    "se": SquaredExponential,
    "nn": NeuralNetwork,
}


def _divided(X: Matrix, length_scale: LengthScale) -> Matrix:
    if not sp.issparse(X):
        return np.asarray(X, np.float64) / length_scale
    scales = np.asarray(length_scale, np.float64)
    rows = flat_copy(X)
    rows.data = X.data / (scales[X.indices] if scales.ndim else scales)
    return rows


def _column_products(A: np.ndarray, Z: Matrix) -> np.ndarray:
    """Σ_j A_jd z_jd of every column d."""
    if sp.issparse(Z):
        return np.asarray(Z.multiply(A).sum(axis=0)).ravel()
    return np.einsum("jd,jd->d", A, Z)


def _summed_for(length_scale: LengthScale, slopes: np.ndarray) -> np.ndarray:
    """One slope where all columns share a length scale: a small change of it changes all of them."""
    return slopes if np.ndim(length_scale) else slopes.sum(keepdims=True)
