"""The lower bound on the evidence of a variational multinomial probit Gaussian process.

With the best q(f) of covariance (K⁻¹ + I)⁻¹ and the best q(y), the bound is a concave function of the means f̃:
Σ_n log P(y_n | f̃_n) - ½ Σ_c f̃_cᵀ K⁻¹ f̃_c - C/2 log |I + K|. At its maximum f̃ = K (K + I)⁻¹ ỹ, ỹ = f̃ + ∇ log P.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from tagcore.baselines.gaussian_process.model import covariance_matrix, slopes_by_logs
from tagcore.baselines.gaussian_process.probit import winning
from tagcore.baselines.gaussian_process.search import Scales
from tagcore.class_model import Matrix

_STEPS = 500


class Maximum(NamedTuple):
    """K⁻¹f̃ (n × C) at the maximum, and the bound there."""

    weights: np.ndarray
    height: float


class Bound:
    """The bound of some rows as a function of the scales, given as its value and slopes; each maximum is sought from
    the one before, the first from `weights` (n × C)."""

    def __init__(self, name: str, X: Matrix, y: np.ndarray, weights: np.ndarray, tol: float = 1e-3) -> None:
        self.name, self.X, self.y, self.weights, self.tol = name, X, y, weights, tol

    def __call__(self, scales: Scales) -> tuple[float, np.ndarray]:
        weights, height = self.maximum(scales)
        K = covariance_matrix(self.name, scales, self.X)
        inverse = cho_solve(cho_factor(_plus_one(K), lower=True), np.eye(self.y.size))
        by_cell = 0.5 * (
            weights @ weights.T - weights.shape[1] * inverse
        )  # f̃ and q are at their best: they stand still
        return height, slopes_by_logs(self.name, scales, self.X, K, by_cell)

    def maximum(self, scales: Scales, max_iter: int = _STEPS) -> Maximum:
        """Seeks the maximum over f̃ = L u, K = L Lᵀ."""
        K = covariance_matrix(self.name, scales, self.X)
        lower = cholesky(K, lower=True)
        shape = self.weights.shape

        def downhill(flat: np.ndarray) -> tuple[float, np.ndarray]:
            u = flat.reshape(shape)
            log_proba, slopes = winning(lower @ u, self.y)
            return 0.5 * (u**2).sum() - log_proba.sum(), (u - lower.T @ slopes).ravel()

        start = (lower.T @ self.weights).ravel()
        options = {"maxiter": max_iter, "gtol": self.tol, "ftol": 1e-12}
        found = minimize(downhill, start, jac=True, method="L-BFGS-B", options=options)
        log_det = 2.0 * np.log(np.diag(cholesky(_plus_one(K), lower=True))).sum()
        self.weights = solve_triangular(lower, found.x.reshape(shape), lower=True, trans="T")
        return Maximum(self.weights, -float(found.fun) - 0.5 * shape[1] * log_det)


def _plus_one(K: np.ndarray) -> np.ndarray:
    return K + np.eye(K.shape[0])
