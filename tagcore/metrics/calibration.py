"""Whether probabilities mean what they say: reliability curve and expected calibration error."""

from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

Strategy = Literal["width", "mass"]
STRATEGIES: tuple[Strategy, ...] = ("width", "mass")
BINS = 15  # as in Guo et al. 2017, whose expected calibration error this is
ROUNDING = 1e-6  # how far outside [0, 1] a probability may lie before it is an error


class SuggestionProbabilities(NamedTuple):
    """How likely a tagger calls each of its suggestions, and whether it is right: two arrays of one shape."""

    probabilities: np.ndarray
    hits: np.ndarray

    def calibration_error(self) -> float:
        """Expected calibration error in bins of equal width."""
        return expected_calibration_error(*self)


def reliability_curve(
    probabilities: np.ndarray, hits: np.ndarray, *, bins: int = BINS, strategy: Strategy = "width"
) -> pa.Table:
    """Bins suggestions by probability: edges, count, mean probability and rate of hits of every bin that is not empty.

    Bins split [0, 1] evenly ("width") or hold about equally many suggestions ("mass"); equal probabilities stay
    together. Both arrays may have any one shape.
    """
    p, is_right = _checked(probabilities, hits, bins)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy is {strategy!r}, expected one of {STRATEGIES}")
    if strategy == "width":
        edges = np.linspace(0.0, 1.0, bins + 1)
    else:  # values that occur, not interpolated ones, whose rounding would decide which bin a tie falls into
        ranks = (np.arange(1, bins + 1) * p.size + bins - 1) // bins - 1
        edges = np.sort(p)[np.concatenate(([0], ranks))]
    bin_of = np.searchsorted(edges[1:-1], p)
    count = np.bincount(bin_of, minlength=bins)
    filled = count > 0
    promised = np.bincount(bin_of, p, minlength=bins)[filled] / count[filled]
    came_true = np.bincount(bin_of, is_right, minlength=bins)[filled] / count[filled]
    return pa.table(
        {
            "low": edges[:-1][filled],
            "high": edges[1:][filled],
            "count": count[filled],
            "probability": promised,
            "hit_rate": came_true,
        }
    )


def expected_calibration_error(
    probabilities: np.ndarray, hits: np.ndarray, *, bins: int = BINS, strategy: Strategy = "width"
) -> float:
    """Computes the mean over suggestions of |mean probability - rate of hits| in their bin."""
    curve = reliability_curve(probabilities, hits, bins=bins, strategy=strategy)
    gap = np.abs(curve["probability"].to_numpy() - curve["hit_rate"].to_numpy())
    return float(np.average(gap, weights=curve["count"].to_numpy()))


def _checked(probabilities: np.ndarray, hits: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    p, is_right = np.asarray(probabilities, np.float64), np.asarray(hits, np.float64)
    if p.shape != is_right.shape:
        raise ValueError(f"probabilities have shape {p.shape}, hits {is_right.shape}")
    if p.size == 0:
        raise ValueError("no suggestions: calibration needs at least one probability")
    if bins < 1:
        raise ValueError(f"bins is {bins}, expected at least 1")
    p, is_right = p.ravel(), is_right.ravel()
    wrong = ~((p >= -ROUNDING) & (p <= 1 + ROUNDING))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"probability {at} is {p[at]}, expected 0 to 1")
    if not np.isin(is_right, (0.0, 1.0)).all():
        raise ValueError("hits hold values other than 0 and 1")
    return np.clip(p, 0.0, 1.0), is_right
