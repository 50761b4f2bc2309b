"""The full Gaussian process classifier with Laplace's approximation."""

from typing import Any

import numpy as np
from scipy.special import softmax

from tagcore.base import require_array
from tagcore.baselines.gaussian_process.laplace import contrast_variances, curvature, evidence_weights, find_mode
from tagcore.baselines.gaussian_process.model import (
    AMPLITUDE,
    LENGTH,
    CovarianceModel,
    Learnt,
    covariance_matrix,
    slopes_by_logs,
    start_scales,
)
from tagcore.baselines.gaussian_process.rows import one_hot, stratified
from tagcore.baselines.gaussian_process.search import Scales, best_scales, nothing
from tagcore.class_model import Matrix
from tagcore.parameters import FLAG, MOST_ROUNDS, SEED, Choice, Whole, limits
from tagcore.scikit import check_random_state


class GPLA(CovarianceModel):
    """Multi-class Gaussian process classification (Williams and Barber, 1998), as in Rasmussen and Williams, section
    3.5: a latent function for every class, softmax, the posterior a Gaussian around its mode.

    Its time grows with the cube of the rows and its memory with C · n²: what has more than `max_rows` learns from so
    many, drawn with every class's share. Scales are those of the highest evidence among `search_rows` of the rows, by
    L-BFGS with exact slopes. How large all rows are together does not matter; columns should be of about the same size.

    Parameters
    ----------
    covariance : "se", squared exponential, or "nn", that of an infinite neural network.
    length_scale : where the search begins, and what holds without it; None is half the median distance of rows.
    amplitude : likewise, a standard deviation, at most 1000.
    ard : a length scale for every column.
    search_steps : of the search, four times as many with `ard`; 0 keeps the scales as given.
    search_rows, max_rows : see above.
    proba : "mackay" flattens the softmax by the variances of latent values, "mean" takes their means.
    random_state : of the rows that are drawn.
    """

    _arrays = ("weights_", "train_proba_")
    _facts = ("log_evidence_",)
    _rounds = ("search_steps",)
    _limits = limits(
        covariance=Choice("se", "nn"),
        length_scale=LENGTH,
        amplitude=AMPLITUDE,
        ard=FLAG,
        search_steps=Whole(0, MOST_ROUNDS),
        search_rows=Whole(2),
        max_rows=Whole(2),
        proba=Choice("mackay", "mean"),
        random_state=SEED,
    )

    weights_: np.ndarray  # K⁻¹f at the mode
    train_proba_: np.ndarray

    def __init__(
        self,
        covariance: str = "se",
        length_scale: float | None = None,
        amplitude: float = 3.0,
        ard: bool = False,
        search_steps: int = 15,
        search_rows: int = 300,
        max_rows: int = 1000,
        proba: str = "mackay",
        random_state: Any = 0,
    ) -> None:
        self.covariance = covariance
        self.length_scale = length_scale
        self.amplitude = amplitude
        self.ard = ard
        self.search_steps = search_steps
        self.search_rows = search_rows
        self.max_rows = max_rows
        self.proba = proba
        self.random_state = random_state

    @staticmethod
    def _learn(X: Matrix, y: np.ndarray, params: dict[str, Any]) -> Learnt:
        name, rng = params["covariance"], check_random_state(params["random_state"])
        n_classes = int(y.max()) + 1
        rows = stratified(y, params["max_rows"], rng)
        X, y = X[rows], y[rows]
        scales = start_scales(X, params)
        if params["search_steps"]:
            few = stratified(y, params["search_rows"], rng)
            evidence = _Evidence(name, X[few], one_hot(y[few], n_classes))
            scales = best_scales(evidence, scales, params["search_steps"], nothing(few.size, n_classes))
        mode = find_mode(covariance_matrix(name, scales, X), one_hot(y, n_classes))
        arrays = {"weights_": mode.a, "train_proba_": mode.proba}
        return Learnt(rows, scales, arrays, {"log_evidence_": mode.log_evidence})

    def _proba(self, X: Matrix) -> np.ndarray:
        rows, covariance = self._kept()
        cross = covariance.between(rows, X)
        means = cross.T @ self.weights_
        if self.proba == "mean":
            return softmax(means, axis=1)
        K = covariance_matrix(self.covariance, Scales(self.length_scales_, self.amplitude_), rows)
        variances = contrast_variances(curvature(K, self.train_proba_), cross, covariance.diagonal(X))
        return softmax(means / np.sqrt(1.0 + np.pi / 8.0 * variances), axis=1)

    def _check_own(self, n_rows: int, n_classes: int) -> None:
        require_array(self.weights_, (n_rows, n_classes), np.float64, "weights")
        require_array(self.train_proba_, (n_rows, n_classes), np.float64, "class probabilities", 0.0, 1.0)
        if abs(self.train_proba_.sum(axis=1) - 1.0).max() > 1e-9:
            raise ValueError("class probabilities must add up to 1")


class _Evidence:
    """The evidence of rows at some scales; the search goes on from where the last mode was."""

    def __init__(self, name: str, X: Matrix, Y: np.ndarray) -> None:
        self.name, self.X, self.Y = name, X, Y
        self.a: np.ndarray | None = None

    def __call__(self, scales: Scales) -> tuple[float, np.ndarray]:
        K = covariance_matrix(self.name, scales, self.X)
        mode = find_mode(K, self.Y, self.a)
        self.a = mode.a
        return mode.log_evidence, slopes_by_logs(self.name, scales, self.X, K, evidence_weights(K, self.Y, mode))
