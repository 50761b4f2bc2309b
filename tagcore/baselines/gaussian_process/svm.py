"""A kernel support vector machine for every class, with the covariance function of a Gaussian process as its kernel."""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.svm import SVC

from tagcore.base import require_array
from tagcore.baselines.gaussian_process.model import AMPLITUDE, LENGTH, CovarianceModel, Learnt, start_scales
from tagcore.baselines.gaussian_process.rows import stratified
from tagcore.class_model import Matrix
from tagcore.parameters import POSITIVE, SEED, Choice, Whole, limits
from tagcore.scikit import check_random_state

_HELD_OUT = 0.1
_LOG_SHARPNESS = (-5.0, 5.0)


class KernelSVM(CovarianceModel):
    """One-vs-rest support vector machines whose kernel is a covariance function, by default that of an infinite neural
    network.

    Probabilities are the softmax of scores times a sharpness, which is fitted on a tenth of the rows that machines had
    not seen. The kernel of all rows is held: what has more than `max_rows` learns from so many, drawn with every
    class's share.

    Parameters
    ----------
    C : weight of the loss.
    covariance : "nn" or "se", squared exponential.
    length_scale : None is half the median distance of rows.
    amplitude : of the covariance; with C it says how closely rows are fitted.
    max_rows : see above.
    random_state : of the rows that are drawn.
    """

    _arrays = ("dual_", "intercepts_")
    _facts = ("sharpness_",)
    _limits = limits(
        C=POSITIVE,
        covariance=Choice("nn", "se"),
        length_scale=LENGTH,
        amplitude=AMPLITUDE,
        max_rows=Whole(2),
        random_state=SEED,
    )

    dual_: np.ndarray
    intercepts_: np.ndarray
    sharpness_: float

    def __init__(
        self,
        C: float = 10.0,
        covariance: str = "nn",
        length_scale: float | None = None,
        amplitude: float = 1.0,
        max_rows: int = 2000,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.covariance = covariance
        self.length_scale = length_scale
        self.amplitude = amplitude
        self.max_rows = max_rows
        self.random_state = random_state

    @staticmethod
    def _learn(X: Matrix, y: np.ndarray, params: dict[str, Any]) -> Learnt:
        rng, n_classes = check_random_state(params["random_state"]), int(y.max()) + 1
        rows = stratified(y, params["max_rows"], rng)
        X, y = X[rows], y[rows]
        scales = start_scales(X, params)
        K = scales.covariance(params["covariance"]).between(X, X)
        sharpness = _sharpness(K, y, n_classes, params["C"], rng.permutation(y.size))
        dual, intercepts = _machines(K, y, n_classes, params["C"])
        support = np.flatnonzero(dual.any(axis=1))
        support = support if support.size else np.arange(1)  # of one class: a row is kept all the same
        arrays = {"dual_": dual[support], "intercepts_": intercepts}
        return Learnt(rows[support], scales, arrays, {"sharpness_": sharpness})

    def _proba(self, X: Matrix) -> np.ndarray:
        rows, covariance = self._kept()
        scores = covariance.between(X, rows) @ self.dual_ + self.intercepts_
        return softmax(self.sharpness_ * scores, axis=1)

    def _check_own(self, n_rows: int, n_classes: int) -> None:
        require_array(self.dual_, (n_rows, n_classes), np.float64, "dual weights")
        require_array(self.intercepts_, (n_classes,), np.float64, "intercepts")


def _machines(K: np.ndarray, y: np.ndarray, n_classes: int, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Dual weights (n × C) and intercepts; a class that all rows are of, or none, has an intercept alone."""
    dual, intercepts = np.zeros((y.size, n_classes)), np.empty(n_classes)
    for c in range(n_classes):
        signs = np.where(y == c, 1, -1)
        if abs(signs.sum()) == y.size:
            intercepts[c] = signs[0]
            continue
        machine = SVC(C=C, kernel="precomputed").fit(K, signs)
        dual[machine.support_, c] = machine.dual_coef_[0]
        intercepts[c] = machine.intercept_[0]
    return dual, intercepts


def _sharpness(K: np.ndarray, y: np.ndarray, n_classes: int, C: float, order: np.ndarray) -> float:
    """By what scores are to be multiplied so that held-out rows are likeliest; 1 where there are too few rows."""
    held_out, learnt = np.split(order, [int(_HELD_OUT * y.size)])
    if not held_out.size:
        return 1.0
    dual, intercepts = _machines(K[np.ix_(learnt, learnt)], y[learnt], n_classes, C)
    scores = K[np.ix_(held_out, learnt)] @ dual + intercepts

    def loss(log_sharpness: float) -> float:
        return -float(log_softmax(np.exp(log_sharpness) * scores, axis=1)[np.arange(held_out.size), y[held_out]].sum())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SHARPNESS, method="bounded").x))
