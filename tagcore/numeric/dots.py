"""Inner products of rows, dense or CSR, as a dense block; what distances and covariances are made of."""

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.sparse import add_sparse_product, multiply_dense
from tagcore.numeric.read_only import freeze, frozen_rows

Matrix: TypeAlias = Any  # a dense array or CSR rows


def dot_block(X: Matrix, Z: Matrix) -> np.ndarray:
    """Gives X Zᵀ in float64, dense, whichever of the two are CSR."""
    if not sp.issparse(X):
        product = X @ Z.T if not sp.issparse(Z) else (Z @ X.T).T
        return np.ascontiguousarray(product, np.float64)
    out = np.zeros((X.shape[0], Z.shape[0]))
    if sp.issparse(Z):
        words = Z.T.tocsr()
        add_sparse_product(*frozen_rows(X), *frozen_rows(words), out)
    else:
        multiply_dense(*frozen_rows(X), freeze(np.ascontiguousarray(Z.T, np.float64)), out)
    return out


def squared_lengths(X: Matrix) -> np.ndarray:
    """Gives ‖x‖² of every row, float64."""
    if sp.issparse(X):
        return np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


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
