"""Inner products of rows, dense or CSR, as a dense block; what distances and covariances are made of."""

from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.sparse import add_sparse_product, multiply_dense
from tagcore.numeric.read_only import freeze, frozen_rows

Matrix: TypeAlias = Any  # a dense array or CSR rows


class RightRows:
    """Rows on the right of products, made ready once for all that come on the left.

    >>> RightRows(np.array([[1.0, 2.0], [0.0, 1.0]])).dots(sp.csr_matrix([[3.0, 1.0]]))
    array([[5., 1.]])
    """

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows

    def dots(self, X: Matrix) -> np.ndarray:
        """Gives X Zᵀ in float64, dense, whichever of the two are CSR."""
        if not sp.issparse(X):
            product = X @ self.rows.T if not sp.issparse(self.rows) else (self.rows @ X.T).T
            return np.ascontiguousarray(product, np.float64)
        out = np.zeros((X.shape[0], self.rows.shape[0]))
        if sp.issparse(self.rows):
            add_sparse_product(*frozen_rows(X), *self._by_word, out)
        else:
            multiply_dense(*frozen_rows(X), self._columns, out)
        return out

    @cached_property
    def squares(self) -> np.ndarray:
        """‖z‖² of every row."""
        return squared_lengths(self.rows)

    @cached_property
    def _by_word(self) -> tuple[np.ndarray, ...]:
        return frozen_rows(self.rows.T.tocsr())

    @cached_property
    def _columns(self) -> np.ndarray:
        return freeze(np.ascontiguousarray(self.rows.T, np.float64))


def dot_block(X: Matrix, Z: Matrix) -> np.ndarray:
    """Gives X Zᵀ in float64, dense, whichever of the two are CSR."""
    return RightRows(Z).dots(X)


def squared_lengths(X: Matrix) -> np.ndarray:
    """Gives ‖x‖² of every row, float64."""
    if not sp.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    lengths, filled = np.zeros(X.shape[0]), np.flatnonzero(np.diff(X.indptr))
    if filled.size:  # as scipy sums rows, without the matrices that it makes on the way
        squares = np.square(X.data[: X.indptr[-1]], dtype=np.float64)
        lengths[filled] = np.add.reduceat(squares, X.indptr[filled])
    return lengths


def column_weights(X: Matrix, weights: np.ndarray) -> np.ndarray:
    """Gives Σ_i weights_i x_id² of every column d, float64."""
    squares = X.astype(np.float64).power(2) if sp.issparse(X) else np.square(X, dtype=np.float64)
    return np.asarray(squares.T @ weights).ravel()


def transposed_product(weights: np.ndarray, X: Matrix) -> np.ndarray:
    """Gives weightsᵀ X, dense, whether X is dense or CSR."""
    return np.ascontiguousarray((X.T @ weights).T)


def squared_distances(X: Matrix, Z: Matrix) -> np.ndarray:
    """Gives ‖x - z‖² of every pair, never below zero."""
    block = dot_block(X, Z)
    block *= -2.0
    block += squared_lengths(X)[:, None]
    block += squared_lengths(Z)
    return np.maximum(block, 0.0, out=block)
