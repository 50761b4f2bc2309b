"""The variational Gaussian process classifier with multinomial probit likelihood."""

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from tagcore.base import block_rows, require_array
from tagcore.baselines.gaussian_process.bound import Bound
from tagcore.baselines.gaussian_process.left_out import refine_scales
from tagcore.baselines.gaussian_process.model import (
    AMPLITUDE,
    LENGTH,
    CovarianceModel,
    Learnt,
    covariance_matrix,
    start_scales,
)
from tagcore.baselines.gaussian_process.probit import class_probabilities, winning
from tagcore.baselines.gaussian_process.rows import active_count, stratified
from tagcore.baselines.gaussian_process.search import Scales, best_scales, nothing
from tagcore.class_model import Matrix
from tagcore.numeric.covariance import Covariance
from tagcore.parameters import FLAG, MOST_ROUNDS, SEED, Choice, Whole, WholeOrShare, limits
from tagcore.scikit import check_random_state

_STAGES = 100  # in which the active rows are found: one by one where they are fewer
_GROWING_STEPS = 20  # towards the maximum while rows are still added


class VBGP(CovarianceModel):
    """Variational multinomial probit Gaussian process (Girolami and Rogers, 2006).

    The class of a row is the largest of C latent values after noise; latent values and noisy ones are taken as
    independent, which gives a lower bound on the evidence. At its maximum f̃ = K (K + I)⁻¹ ỹ, the fixed point of the
    paper; it is found here by L-BFGS, as the bound is concave in f̃. The sparse form learns from active rows alone:
    those whose ỹ is farthest from f̃ under the model of the active ones before, in up to 100 stages. Scales are those
    under which each of `search_rows` of the rows is best foretold by the others: the highest bound, which is loose,
    has scales that explain little. With `ard` the bound tells how the length scales of columns compare.

    Parameters
    ----------
    active : how many rows are active, or their share (at least 20); 1.0 is the full model.
    covariance, length_scale, amplitude, ard, search_steps, search_rows, random_state : as in `GPLA`.
    """

    _arrays = ("weights_",)
    _facts = ("log_evidence_",)
    _rounds = ("search_steps",)
    _limits = limits(
        active=WholeOrShare("the rows"),
        covariance=Choice("se", "nn"),
        length_scale=LENGTH,
        amplitude=AMPLITUDE,
        ard=FLAG,
        search_steps=Whole(0, MOST_ROUNDS),
        search_rows=Whole(2),
        random_state=SEED,
    )

    weights_: np.ndarray  # K⁻¹f̃

    def __init__(
        self,
        active: int | float = 0.05,
        covariance: str = "se",
        length_scale: float | None = None,
        amplitude: float = 3.0,
        ard: bool = False,
        search_steps: int = 15,
        search_rows: int = 300,
        random_state: Any = 0,
    ) -> None:
        self.active = active
        self.covariance = covariance
        self.length_scale = length_scale
        self.amplitude = amplitude
        self.ard = ard
        self.search_steps = search_steps
        self.search_rows = search_rows
        self.random_state = random_state

    @staticmethod
    def _learn(X: Matrix, y: np.ndarray, params: dict[str, Any]) -> Learnt:
        name, rng, n_classes = params["covariance"], check_random_state(params["random_state"]), int(y.max()) + 1
        scales = start_scales(X, params)
        if params["search_steps"]:
            few = stratified(y, params["search_rows"], rng)
            bound = Bound(name, X[few], y[few], np.zeros((few.size, n_classes)))
            if params["ard"]:  # which columns matter, the bound knows
                scales = best_scales(bound, scales, params["search_steps"], nothing(few.size, n_classes))
            scales = refine_scales(bound, scales, params["search_steps"])
        size = active_count(params["active"], y.size, n_classes)
        rows = stratified(y, size if size == y.size else n_classes, rng)
        weights = np.zeros((rows.size, n_classes))
        while rows.size < size:
            weights = Bound(name, X[rows], y[rows], weights).maximum(scales, _GROWING_STEPS).weights
            pulls = _pulls(scales.covariance(name), X, y, rows, weights)
            pulls[rows] = -np.inf
            hardest = np.argsort(-pulls, kind="stable")[: min(size - rows.size, max(1, size // _STAGES))]
            rows, weights = np.append(rows, hardest), np.pad(weights, ((0, hardest.size), (0, 0)))
        found = Bound(name, X[rows], y[rows], weights).maximum(scales)
        return Learnt(rows, scales, {"weights_": found.weights}, {"log_evidence_": found.height})

    def _proba(self, X: Matrix) -> np.ndarray:
        rows, covariance = self._kept()
        cross = covariance.between(rows, X)
        K = covariance_matrix(self.covariance, Scales(self.length_scales_, self.amplitude_), rows)
        K.flat[:: K.shape[0] + 1] += 1.0
        half = solve_triangular(cholesky(K, lower=True), cross, lower=True)
        variances = np.maximum(covariance.diagonal(X) - np.einsum("ij,ij->j", half, half), 0.0)
        return class_probabilities(cross.T @ self.weights_, variances)

    def _check_own(self, n_rows: int, n_classes: int) -> None:
        require_array(self.weights_, (n_rows, n_classes), np.float64, "weights")


def _pulls(covariance: Covariance, X: Matrix, y: np.ndarray, active: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """‖ỹ - f̃‖² of every row under the model of the active ones: how far its class pulls at its latent values."""
    pulls = np.empty(y.size)
    step = block_rows(active.size)
    for start in range(0, y.size, step):
        rows = slice(start, min(start + step, y.size))
        f = covariance.between(X[rows], X[active]) @ weights
        pulls[rows] = (winning(f, y[rows])[1] ** 2).sum(axis=1)
    return pulls
