"""Inputs made comparable: columns of unit variance, or rows of unit length."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.dots import Matrix, squared_lengths
from tagcore.numeric.normalise import normalise_rows
from tagcore.scikit import mean_variance_axis

SCALINGS = ("standard", "unit", "none")


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is subtracted from every column and what it is divided by, or rows of unit length."""

    kind: str
    centre: np.ndarray
    spread: np.ndarray

    def apply(self, X: Matrix) -> Matrix:
        """Gives rows of the same kind, scaled; CSR rows stay sparse and are not centred."""
        if self.kind == "unit":
            return normalise_rows(X, True) if sp.issparse(X) else _unit_rows(X)
        if self.kind == "none":
            return X
        if sp.issparse(X):
            return sp.csr_matrix((X.data / self.spread[X.indices], X.indices, X.indptr), shape=X.shape)
        return (X - self.centre) / self.spread


def fit_scaling(X: Matrix, kind: str) -> Scaling:
    """Gives the scaling of these rows; constant columns are divided by 1."""
    centre, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if kind == "standard" and sp.issparse(X):
        spread = np.sqrt(mean_variance_axis(X.astype(np.float64), axis=0)[1])
    elif kind == "standard":
        centre, spread = X.mean(axis=0), X.std(axis=0)
    constant = ~(spread > 1e-12 * np.maximum(np.abs(centre), 1e-300))  # of rounding alone, or of nothing
    return Scaling(kind, centre, np.where(constant, 1.0, spread))


def _unit_rows(X: np.ndarray) -> np.ndarray:
    lengths = np.sqrt(squared_lengths(X))
    return X / np.where(lengths > 0.0, lengths, 1.0)[:, None]
