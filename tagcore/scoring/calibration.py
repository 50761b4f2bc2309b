"""From scores to probabilities: isotonic and Platt calibrators, kept as plain arrays."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logit

from tagcore.scikit import isotonic_regression

CALIBRATORS: dict[str, type["Calibrator"]] = {}  # the only ones that a stored model can name


class Calibrator:
    """Turns the score of a suggestion into the probability that it is right; never falls as the score rises.

    A subclass names itself and its fitted arrays, and writes `_fit(scores, hits)` and `_probability(scores)`.
    """

    name: ClassVar[str]
    _arrays: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        CALIBRATORS[cls.name] = cls

    def fit(self, scores: np.ndarray, hits: np.ndarray) -> Self:
        """Learns from scores and whether each was right (0 or 1), two arrays of any one shape."""
        scores, hits = _finite(scores, "score"), _finite(hits, "hit")
        if scores.shape != hits.shape or scores.size == 0:
            raise ValueError(f"scores have shape {scores.shape}, hits {hits.shape}: expected one shape, not empty")
        if not np.isin(hits, (0.0, 1.0)).all():
            raise ValueError("hits hold values other than 0 and 1")
        self._fit(scores.ravel(), hits.ravel())
        return self

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Gives probabilities in the shape of the scores."""
        if not all(hasattr(self, a) for a in self._arrays):
            raise ValueError(f"the {self.name} calibrator has not been fitted")
        return self._probability(_finite(scores, "score"))

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {a.rstrip("_"): getattr(self, a) for a in self._arrays}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Makes the calibrator whose `to_arrays` gave these arrays."""
        expected = {a.rstrip("_") for a in cls._arrays}
        if set(arrays) != expected:
            raise ValueError(f"the {cls.name} calibrator has arrays {sorted(expected)}, got {sorted(arrays)}")
        calibrator = cls()
        for key, value in arrays.items():
            setattr(calibrator, f"{key}_", _finite(value, key))
        calibrator._check()
        return calibrator

    def _fit(self, scores: np.ndarray, hits: np.ndarray) -> None:
        raise NotImplementedError  # abstract

    def _probability(self, scores: np.ndarray) -> np.ndarray:
        raise NotImplementedError  # abstract

    def _check(self) -> None:
        raise NotImplementedError  # abstract


class IsotonicCalibrator(Calibrator):
    """The rising curve nearest to the hits (pool adjacent violators), straight between its breakpoints, flat beyond.

    Hits only, misses only or one score only give a flat curve at the observed rate: 1, 0 or the share of hits.
    """

    name = "isotonic"
    _arrays = ("scores_", "probabilities_")

    def _fit(self, scores: np.ndarray, hits: np.ndarray) -> None:
        x, which = np.unique(scores, return_inverse=True)
        weight = np.bincount(which).astype(np.float64)
        y = isotonic_regression(np.bincount(which, hits) / weight, sample_weight=weight, y_min=0.0, y_max=1.0)
        bend = np.ones(len(x), bool)
        bend[1:-1] = (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])  # the inside of a flat run says nothing
        self.scores_, self.probabilities_ = x[bend], y[bend]

    def _probability(self, scores: np.ndarray) -> np.ndarray:
        x, y = self.scores_, self.probabilities_
        if len(x) == 1:
            return np.full(scores.shape, y[0])
        scores = np.clip(scores, x[0], x[-1])
        left = np.clip(np.searchsorted(x, scores, side="right") - 1, 0, len(x) - 2)
        # not np.interp: its slope overflows between neighbouring floats, and rounding may carry it past y[left + 1]
        along = (scores - x[left]) / (x[left + 1] - x[left])
        return np.minimum(y[left] + along * (y[left + 1] - y[left]), y[left + 1])

    def _check(self) -> None:
        x, y = self.scores_, self.probabilities_
        fits = x.ndim == 1 and x.shape == y.shape and len(x) > 0
        if not fits or (np.diff(x) <= 0).any() or (np.diff(y) < 0).any() or y[0] < 0 or y[-1] > 1:
            raise ValueError("the breakpoints of an isotonic calibrator must rise, with probabilities from 0 to 1")


class PlattCalibrator(Calibrator):
    """A logistic curve of the score (Platt 1999), fitted by Newton's method to Platt's smoothed targets.

    Its slope is never negative: where hits do not become more frequent with the score (so also with hits only,
    misses only or one score only) it is flat, at the mean of the targets, which stays clear of 0 and 1.
    """

    name = "platt"
    _arrays = ("curve_",)  # centre, scale, slope, intercept: slope · (score - centre) / scale + intercept

    def _fit(self, scores: np.ndarray, hits: np.ndarray) -> None:
        n_hits = hits.sum()
        target = np.where(hits > 0, (n_hits + 1) / (n_hits + 2), 1 / (hits.size - n_hits + 2))
        centre = scores.mean()
        scale = np.abs(scores - centre).max() if np.ptp(scores) > 0 else 1.0
        slope, intercept = logistic_fit((scores - centre) / scale, target)
        if slope <= 0:  # the loss is convex: the best curve that does not fall is the best flat one
            scale, slope, intercept = 1.0, 0.0, logit(target.mean())
        self.curve_ = np.array([centre, scale, slope, intercept])

    def _probability(self, scores: np.ndarray) -> np.ndarray:
        centre, scale, slope, intercept = self.curve_
        with np.errstate(over="ignore"):  # infinitely far along the curve is a probability still
            return expit(slope * ((scores - centre) / scale) + intercept)

    def _check(self) -> None:
        if self.curve_.shape != (4,) or self.curve_[1] <= 0 or self.curve_[2] < 0:
            raise ValueError("the curve of a Platt calibrator is centre, scale > 0, slope ≥ 0, intercept")


def logistic_fit(z: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Minimises the cross-entropy of expit(slope · z + intercept), by Newton steps halved until they help."""

    def loss(curve: np.ndarray) -> float:
        u = curve[0] * z + curve[1]
        return float(np.sum(np.logaddexp(0.0, u) - target * u))

    curve = np.array([0.0, logit(target.mean())])
    for _ in range(100):
        p = expit(curve[0] * z + curve[1])
        # sums of products, not np.dot: the bits of BLAS depend on its number of threads
        gradient = np.array([np.sum((p - target) * z), np.sum(p - target)])
        w = p * (1 - p)
        cross = np.sum(w * z)
        curvature = np.array([[np.sum(w * z * z), cross], [cross, w.sum()]]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        last = gradient @ step < 1e-12 * len(z)  # so near that rounding hides whether the loss falls
        while not last and loss(curve - step) > loss(curve):
            step = step / 2
        curve = curve - step
        if last:
            break
    return float(curve[0]), float(curve[1])


def _finite(values: np.ndarray, what: str) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if not np.isfinite(values).all():
        at = np.unravel_index(int((~np.isfinite(values)).argmax()), values.shape)
        raise ValueError(f"{what} {tuple(map(int, at))} is {values[at]}, expected a finite number")
    return values
