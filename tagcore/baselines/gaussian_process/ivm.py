"""The informative vector machine, one for every class."""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.special import log_ndtr, logsumexp

from tagcore.base import require_array
from tagcore.baselines.gaussian_process.adf import Sites, filter_rows
from tagcore.baselines.gaussian_process.model import (
    AMPLITUDE,
    JITTER,
    LENGTH,
    CovarianceModel,
    Learnt,
    slopes_by_logs,
    start_scales,
)
from tagcore.baselines.gaussian_process.rows import active_count, stratified
from tagcore.baselines.gaussian_process.search import Scales, best_scales
from tagcore.class_model import Matrix
from tagcore.parameters import FLAG, MOST_ROUNDS, SEED, Choice, Whole, WholeOrShare, limits
from tagcore.scikit import check_random_state

_ROUNDS, _RESTARTS = 3, 4  # of choosing rows and then scales
_SEARCH_SHARE = 0.2  # of the rows that are searched, active ones


class IVM(CovarianceModel):
    """One-vs-rest informative vector machines (Lawrence, Seeger and Herbrich, 2003).

    Each is a binary probit Gaussian process that takes in few rows, one after the other by assumed-density filtering:
    the row whose latent value loses most entropy. Probabilities of the classes are brought to add up to 1. Scales,
    which all machines share, are found as in the paper among `search_rows` of the rows: rows are chosen, then the
    scales of the highest evidence of what was filtered from them, three times.

    Parameters
    ----------
    active : how many rows every machine takes in, or their share (at least 20).
    covariance, length_scale, amplitude, ard, search_steps, search_rows, random_state : as in `GPLA`.
    """

    _arrays = ("active_rows_", "site_means_", "site_precisions_")
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

    active_rows_: np.ndarray  # C × M numbers of kept rows
    site_means_: np.ndarray
    site_precisions_: np.ndarray

    def __init__(
        self,
        active: int | float = 0.05,
        covariance: str = "se",
        length_scale: float | None = None,
        amplitude: float = 3.0,
        ard: bool = False,
        search_steps: int = 15,
        search_rows: int = 500,
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
        size = active_count(params["active"], y.size, n_classes)
        if params["search_steps"]:
            few = stratified(y, params["search_rows"], rng)
            enough = min(max(size, active_count(_SEARCH_SHARE, few.size, n_classes)), few.size)
            scales = _search(name, scales, X[few], y[few], enough, params["search_steps"])
        machines = _machines(name, scales, X, y, n_classes, size)
        rows, numbers = np.unique(np.stack([machine.rows for machine in machines]), return_inverse=True)
        arrays = {
            "active_rows_": numbers.reshape(n_classes, size).astype(np.int64),
            "site_means_": np.stack([machine.means for machine in machines]),
            "site_precisions_": np.stack([machine.precisions for machine in machines]),
        }
        log_evidence = sum(machine.log_evidence for machine in machines)
        return Learnt(rows, scales, arrays, {"log_evidence_": log_evidence})

    def _proba(self, X: Matrix) -> np.ndarray:
        rows, covariance = self._kept()
        diagonal = covariance.diagonal(X)
        log_proba = np.empty((X.shape[0], len(self.class_labels_)))
        for c, active in enumerate(self.active_rows_):
            cross = covariance.between(rows[active], X)
            K = covariance.between(rows[active], rows[active]) + JITTER * self.amplitude_**2 * np.eye(active.size)
            lower = cholesky(_noisy(K, self.site_precisions_[c]), lower=True)
            half = solve_triangular(lower, cross, lower=True)
            means = solve_triangular(lower, self.site_means_[c], lower=True) @ half
            variances = np.maximum(diagonal - np.einsum("ij,ij->j", half, half), 0.0)
            log_proba[:, c] = log_ndtr(means / np.sqrt(1.0 + variances))
        return np.exp(log_proba - logsumexp(log_proba, axis=1, keepdims=True))

    def _check_own(self, n_rows: int, n_classes: int) -> None:
        shape = n_classes, self.active_rows_.shape[-1]
        require_array(self.active_rows_, shape, np.int64, "active rows", 0, n_rows - 1)
        require_array(self.site_means_, shape, np.float64, "means of sites")
        require_array(self.site_precisions_, shape, np.float64, "precisions of sites", 1e-12, 1e14)


def _search(name: str, start: Scales, X: Matrix, y: np.ndarray, size: int, max_iter: int) -> Scales:
    """Chooses rows and scales in turn, and begins again from twice the length scales where the machines come to explain
    nothing: where each active row is as likely as not."""
    n_classes = int(y.max()) + 1
    nothing = n_classes * size * (1e-3 - np.log(2.0))
    best, highest = start, -np.inf
    for restart in range(_RESTARTS + 1):
        scales = start._replace(lengths=start.lengths * 2.0**restart)
        for _ in range(_ROUNDS):
            machines = _machines(name, scales, X, y, n_classes, size)
            scales = best_scales(_Evidence(name, X, machines), scales, max_iter, -np.inf)
            reached = sum(machine.log_evidence for machine in _machines(name, scales, X, y, n_classes, size))
            if reached > highest:
                best, highest = scales, reached
        if highest > nothing:
            break
    return best


class _Evidence:
    """The evidence of what the machines filtered, were it N(latent value, 1 / precision), at some scales."""

    def __init__(self, name: str, X: Matrix, machines: list[Sites]) -> None:
        self.name, self.X, self.machines = name, X, machines

    def __call__(self, scales: Scales) -> tuple[float, np.ndarray]:
        value, slopes = 0.0, np.zeros(scales.logs.size)
        for machine in self.machines:
            X = self.X[machine.rows]
            K = scales.covariance(self.name).between(X, X)
            factor = cho_factor(_noisy(K, machine.precisions), lower=True)
            weights = cho_solve(factor, machine.means)
            value -= 0.5 * machine.means @ weights + np.log(np.diag(factor[0])).sum()
            by_cell = 0.5 * (np.outer(weights, weights) - cho_solve(factor, np.eye(weights.size)))
            slopes += slopes_by_logs(self.name, scales, X, K, by_cell)
        return float(value), slopes


def _machines(name: str, scales: Scales, X: Matrix, y: np.ndarray, n_classes: int, size: int) -> list[Sites]:
    covariance = scales.covariance(name)
    diagonal = covariance.diagonal(X) + JITTER * scales.amplitude**2

    def column(i: int) -> np.ndarray:
        values = covariance.between(X, X[i : i + 1])[:, 0]
        values[i] += JITTER * scales.amplitude**2
        return values

    return [filter_rows(column, diagonal, np.where(y == c, 1.0, -1.0), size) for c in range(n_classes)]


def _noisy(K: np.ndarray, precisions: np.ndarray) -> np.ndarray:
    return K + np.diag(1.0 / precisions)
