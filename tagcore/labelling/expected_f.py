"""Labelling by sampled expected F: for each class the threshold that a posterior expects to give the best F.

A sample of the weights labels every row; A, B and Gm count where it agrees with thresholds on the scores. These are
integers, so that partitions of the rows add up exactly, in whatever order they are visited.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.random.counter_normals import LANES, counter_normal
from tagcore.labelling.best_rows import best_rows, checked_rates
from tagcore.labelling.kernels.expected_f import (
    add_counts,
    count_below,
    draw_weights,
    follow_parents,
    mark_stored,
    mark_streaming,
)
from tagcore.labelling.posterior import Posterior
from tagcore.numeric.read_only import freeze
from tagcore.scoring.blocks import PartitionedScores, ScoreBlocks, ScorePart
from tagcore.shards import Arrays

_STORED_BYTES = 2**28  # the sample of LANES classes may take this much; where it would not, draw again for every row
_GRID_FACTOR = 8.0  # the quantile grid runs from 1/8 to 8 times the training rate


@dataclass(frozen=True)
class ExpectedF:
    """How S samples of C classes agree with G thresholds, counted over rows; `+` joins disjoint rows."""

    thresholds: np.ndarray  # (C, G), ascending, on the scale of the scores
    both: np.ndarray  # (C, S, G): rows that the sample gives the class and whose score is above the threshold
    sampled: np.ndarray  # (C, S): rows that the sample gives the class
    labelled: np.ndarray  # (C, G): rows whose score is above the threshold

    def expected(self, beta: float = 1.0) -> np.ndarray:
        """(C, G): the mean over samples of F-beta, with 0/0 = 0."""
        if not 0 <= beta < np.inf:
            raise ValueError(f"beta must be a number of at least 0, got {beta!r}")
        total = beta**2 * self.sampled[:, :, None] + self.labelled[:, None, :]
        f = np.divide((1 + beta**2) * self.both, total, out=np.zeros(self.both.shape), where=total > 0)
        return f.mean(axis=1)

    def best(self, beta: float = 1.0) -> np.ndarray:
        """(C,): the lowest threshold of greatest expected F-beta, to compare scores with."""
        return self.thresholds[np.arange(len(self.thresholds)), self.expected(beta).argmax(axis=1)]

    def __add__(self, other: "ExpectedF") -> "ExpectedF":
        if self.both.shape != other.both.shape or not np.array_equal(self.thresholds, other.thresholds):
            raise ValueError("counts of other thresholds or another number of samples cannot be added")
        pairs = ((self.both, other.both), (self.sampled, other.sampled), (self.labelled, other.labelled))
        return ExpectedF(self.thresholds, *(mine + theirs for mine, theirs in pairs))


def expected_f(
    parts: PartitionedScores,
    rows_and_posterior: Callable[[ScorePart], tuple[sp.csr_matrix, Posterior]],
    *,
    samples: int = 5,
    thresholds: int | np.ndarray = 20,
    grid: str = "uniform",
    rates: np.ndarray | None = None,
    seed: int = 0,
) -> ExpectedF:
    """Counts `samples` draws of a posterior against thresholds on the scores of the same rows.

    Scores are z = Φ⁻¹(p); `rows_and_posterior`, a function of a module, gives the rows of a part as the posterior
    weighs them, and the posterior. The grid is `uniform` in p, or `quantile`: geometric in the number labelled, from
    1/8 to 8 times the training `rates`; or `thresholds` are given, (C, G). The weights of one sample are kept for 64
    classes at a time where they fit 256 MB, else drawn again for every row: both give the same integers.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples!r}")
    limits = _threshold_grid(thresholds, grid, parts, rates)
    counts = parts.sum(count_part, rows_and_posterior=rows_and_posterior, samples=samples, seed=seed, limits=limits)
    both, labelled = counts["both"], counts["labelled"]
    # rows above threshold g are those above more than g thresholds: sums from the end of the histogram
    above = both[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    return ExpectedF(limits, above[:, :, 1:], above[:, :, 0], labelled[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:])


def quantile_thresholds(
    scores: ScoreBlocks | PartitionedScores, rates: np.ndarray, n_rows: int, count: int = 20
) -> np.ndarray:
    """(C, count) thresholds on the scores, ascending: geometric in the number labelled, from 8 to 1/8 of its rate.

    At least one row is labelled, unless a class has rate 0: its thresholds are +inf.
    """
    rates = checked_rates(rates)
    if count < 2:
        raise ValueError(f"the quantile grid needs at least 2 thresholds, got {count!r}")
    shares = rates[:, None] * np.geomspace(_GRID_FACTOR, 1 / _GRID_FACTOR, count)
    counts = np.where(rates[:, None] > 0, np.clip(np.rint(shares * n_rows), 1, n_rows), 0).astype(np.int64)
    best = best_rows(scores, counts[:, 0], n_rows)
    starts = np.cumsum(best.sizes) - best.sizes
    limits = np.full(counts.shape, np.inf)
    trained = counts > 0
    limits[trained] = np.nextafter(best.scores[(starts[:, None] + counts - 1)[trained]], -np.inf)
    return limits


def sampled_biases(posterior: Posterior, samples: int, seed: int) -> np.ndarray:
    """(S, C): what each sample subtracts from each class. A bias has the key of a word after the last."""
    words, biases = posterior.mean.shape[0], posterior.bias_mean.size
    normals = [[counter_normal(seed, s, words, j) for j in range(biases)] for s in range(samples)]
    drawn = posterior.bias_mean + np.sqrt(posterior.bias_variance) * np.array(normals)
    return np.ascontiguousarray(drawn[:, posterior.bias_of])


def count_part(part: ScorePart, *, rows_and_posterior: Callable, samples: int, seed: int, limits: np.ndarray) -> Arrays:
    """Histograms of how many thresholds rows are above: of all rows, and of those that each sample gives the class."""
    X, posterior = rows_and_posterior(part)
    _require_rows(X, posterior, part.first)
    n, classes = part.truth.shape
    below = np.empty((n, classes), np.min_scalar_type(limits.shape[1]))
    for first, scores in part.blocks():
        count_below(scores, limits, below[first : first + len(scores)])
    arrays, biases = freeze((posterior.arrays(), sampled_biases(posterior, samples, seed)))
    mean, variance = arrays["mean"], arrays["variance"]
    data, indices, indptr = freeze((X.data, X.indices, X.indptr))
    used = np.zeros(mean.shape[0], bool)
    used[indices] = True
    words = np.flatnonzero(used)
    stored = 8 * LANES * words.size <= _STORED_BYTES
    places = (np.cumsum(used) - 1)[indices] if stored else indices
    histograms = np.zeros((samples, classes, limits.shape[1] + 1), np.int64)
    labelled = np.zeros((classes, limits.shape[1] + 1), np.int64)
    positive = np.ones((n, classes), bool)
    below = freeze(below)
    add_counts(below, positive, labelled)
    for sample, bias in enumerate(biases):
        for first in range(0, classes, LANES):
            width = min(LANES, classes - first)
            if stored:
                weights = np.empty((words.size, width))
                draw_weights(mean, variance, words, first, seed, sample, weights)
                mark_stored(data, places, indptr, weights, bias, first, positive)
            else:
                mark_streaming(data, indices, indptr, mean, variance, width, first, seed, sample, bias, positive)
        follow_parents(arrays["children"], arrays["parents"], positive)
        add_counts(below, positive, histograms[sample])
    return {"both": histograms.transpose(1, 0, 2), "labelled": labelled}


def _require_rows(X: sp.csr_matrix, posterior: Posterior, first: int) -> None:
    words = posterior.mean.shape[0]
    if X.shape[1] != words:
        raise ValueError(f"X has {X.shape[1]} words, the posterior {words}")
    if not np.isfinite(X.data).all():
        row = np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], side="right") - 1
        raise ValueError(f"row {first + row} of X holds a value that is not finite")


def _threshold_grid(
    thresholds: int | np.ndarray, grid: str, parts: PartitionedScores, rates: np.ndarray | None
) -> np.ndarray:
    """Thresholds on the scores, (C, G), ascending."""
    n_rows, classes = parts.shape
    if isinstance(thresholds, np.ndarray):
        limits = np.ascontiguousarray(thresholds, np.float64)
        fits = limits.ndim == 2 and len(limits) == classes and limits.size and not np.isnan(limits).any()
        if not fits or (limits[:, 1:] < limits[:, :-1]).any():
            raise ValueError(f"thresholds must be {classes} rows of ascending numbers, got shape {limits.shape}")
        return freeze(limits)
    if thresholds < 1:
        raise ValueError(f"thresholds must be at least 1, got {thresholds!r}")
    if grid == "uniform":
        from scipy.special import ndtri  # here: a served model does without, and starts the sooner

        return freeze(np.tile(ndtri(np.arange(1, thresholds + 1) / (thresholds + 1)), (classes, 1)))
    if grid != "quantile":
        raise ValueError(f'grid must be "uniform" or "quantile", got {grid!r}')
    if rates is None or np.shape(rates) != (classes,):
        raise ValueError(f"the quantile grid needs the training rates of {classes} classes, got {rates!r}")
    return freeze(quantile_thresholds(parts, rates, n_rows, thresholds))
