"""From scores to probabilities: calibrators, kept as plain arrays."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from tagcore.numeric.logistic import expit, logit
from tagcore.scikit import isotonic_regression

_SURELY = 1e-6  # probabilities nearer to 0 or 1 count as this far
_THE_SAME = 1e12  # condition of what inputs have in common beyond which one cannot be told from others

CALIBRATORS: dict[str, type["Calibrator"]] = {}  # the only ones that a stored model can name


class Calibrator:
    """Turns the score of a suggestion into the probability that it is right; of one tag it never falls as the score
    rises.

    A subclass names itself and its fitted arrays, and writes `_fit(scores, hits)` and `_probability(scores)`, or
    `_probability_of(scores, tags)` where it matters which tags the scores are of.
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

    def __call__(self, scores: np.ndarray, tags: np.ndarray | None = None) -> np.ndarray:
        """Gives probabilities in the shape of the scores; `tags` are theirs, or the columns are all tags in order."""
        if not all(hasattr(self, a) for a in self._arrays):
            raise ValueError(f"the {self.name} calibrator has not been fitted")
        return self._probability_of(_finite(scores, "score"), tags)

    def _probability_of(self, scores: np.ndarray, tags: np.ndarray | None) -> np.ndarray:
        return self._probability(scores)

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
        target, centre = _platt_targets(hits), scores.mean()
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


class FrequencyCalibrator(Calibrator):
    """Platt's curve with a second input: how many training documents have the tag, as log(1 + documents).

    A model may trust rare tags too little, or frequent ones too much. As Platt's, its slope is never negative.
    """

    name = "frequency"
    _arrays = ("curve_", "frequencies_")  # centre, scale, slope, intercept, weight of the frequency; log(1 + documents)

    def fit_by_tag(self, scores: np.ndarray, hits: np.ndarray, tags: np.ndarray, documents: np.ndarray) -> Self:
        """Learns from scores, whether each was right and its tag, three arrays of one shape; `documents` are of all
        tags."""
        frequencies = np.log1p(np.asarray(documents, np.float64))
        self.frequencies_ = frequencies - frequencies.mean()
        self._of_tags = self.frequencies_[np.asarray(tags).ravel()]
        self.fit(scores, hits)
        del self._of_tags
        return self

    def _fit(self, scores: np.ndarray, hits: np.ndarray) -> None:
        frequency, target, centre = self._of_tags, _platt_targets(hits), scores.mean()
        scale = np.abs(scores - centre).max() if np.ptp(scores) > 0 else 1.0
        slope, weight, intercept = newton_fit([(scores - centre) / scale, frequency], target)
        if slope <= 0:
            scale, slope = 1.0, 0.0
            weight, intercept = newton_fit([frequency], target)
        self.curve_ = np.array([centre, scale, slope, intercept, weight])

    def _probability_of(self, scores: np.ndarray, tags: np.ndarray | None) -> np.ndarray:
        if tags is None and scores.shape[-1] != self.frequencies_.size:
            raise ValueError(f"{scores.shape[-1]} columns of scores, expected all {self.frequencies_.size} tags")
        frequency = self.frequencies_ if tags is None else self.frequencies_[tags]
        centre, scale, slope, intercept, weight = self.curve_
        with np.errstate(over="ignore"):
            return expit(slope * ((scores - centre) / scale) + (intercept + weight * frequency))

    def _check(self) -> None:
        if self.curve_.shape != (5,) or self.curve_[1] <= 0 or self.curve_[2] < 0 or self.frequencies_.ndim != 1:
            raise ValueError(
                "a frequency calibrator is centre, scale > 0, slope ≥ 0, intercept, weight; one row of tags"
            )


def better_calibrator(
    scores: np.ndarray, hits: np.ndarray, tags: np.ndarray, rows: np.ndarray, documents: np.ndarray
) -> Calibrator:
    """The isotonic or the frequency calibrator, by the log loss of each half of the rows under a fit to the other."""
    halves = np.unique(rows, return_inverse=True)[1] % 2 == 0

    def isotonic(at: np.ndarray) -> Calibrator:
        return IsotonicCalibrator().fit(scores[at], hits[at])

    def frequency(at: np.ndarray) -> Calibrator:
        return FrequencyCalibrator().fit_by_tag(scores[at], hits[at], tags[at], documents)

    def loss(fit: Callable[[np.ndarray], Calibrator]) -> float:
        total = 0.0
        for half in (halves, ~halves):
            p = np.clip(fit(~half)(scores[half], tags[half]), _SURELY, 1 - _SURELY)
            total -= float(np.sum(np.where(hits[half], np.log(p), np.log1p(-p))))
        return total

    everything = np.ones(scores.size, np.bool_)
    if not halves.any() or halves.all():
        return frequency(everything)
    return min((isotonic, frequency), key=loss)(everything)


def logistic_fit(z: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Minimises the cross-entropy of expit(slope · z + intercept)."""
    slope, intercept = newton_fit([z], target)
    return slope, intercept


def newton_fit(inputs: list[np.ndarray], target: np.ndarray) -> tuple[float, ...]:
    """Minimises the cross-entropy of expit(a weighted sum of inputs + intercept), by Newton steps halved until they
    help; gives the weights and the intercept."""
    columns = [*inputs, np.ones(target.size)]

    def margin(curve: np.ndarray) -> np.ndarray:
        return sum((c * column for c, column in zip(curve, columns, strict=True)), np.zeros(target.size))

    def loss(curve: np.ndarray) -> float:
        u = margin(curve)
        return float(np.sum(np.logaddexp(0.0, u) - target * u))

    curve = np.append(np.zeros(len(inputs)), logit(target.mean()))
    for _ in range(100):
        p = expit(margin(curve))
        # sums of products, not np.dot: the bits of BLAS depend on its number of threads
        gradient = np.array([np.sum((p - target) * column) for column in columns])
        w = p * (1 - p)
        curvature = np.array([[np.sum(w * one * other) for other in columns] for one in columns])
        step = _newton_step(curvature, gradient)
        last = gradient @ step < 1e-12 * target.size  # so near that rounding hides whether the loss falls
        while not last and loss(curve - step) > loss(curve):
            step = step / 2
        curve = curve - step
        if last:
            break
    return tuple(curve.tolist())


def _newton_step(curvature: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The step that ends the gradient; the shortest where inputs tell the same, such as tags all of one frequency."""
    size = np.sqrt(np.diag(curvature))
    size[size == 0] = 1.0
    alike = curvature / np.outer(size, size)
    np.fill_diagonal(alike, 1.0)
    if np.linalg.cond(alike) > _THE_SAME:
        return np.linalg.lstsq(curvature, gradient, rcond=1 / _THE_SAME)[0]
    return np.linalg.solve(curvature + 1e-12 * np.eye(gradient.size), gradient)


def _platt_targets(hits: np.ndarray) -> np.ndarray:
    n_hits = hits.sum()
    return np.where(hits > 0, (n_hits + 1) / (n_hits + 2), 1 / (hits.size - n_hits + 2))


def _finite(values: np.ndarray, what: str) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if not np.isfinite(values).all():
        at = np.unravel_index(int((~np.isfinite(values)).argmax()), values.shape)
        raise ValueError(f"{what} {tuple(map(int, at))} is {values[at]}, expected a finite number")
    return values
