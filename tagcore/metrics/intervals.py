"""How sure a mean over documents is: bootstrap intervals and paired tests, the same on every run and machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from tagcore.metrics.kernels.bootstrap import resampled_sums
from tagcore.numeric.read_only import freeze


@dataclass(frozen=True)
class Estimate:
    """The value of a measure with its interval; the bounds are NaN where there is none."""

    value: float
    low: float = float("nan")
    high: float = float("nan")


class Ratio(NamedTuple):
    """A ratio of two sums over documents, as micro-averages are: what every document adds to each."""

    part: np.ndarray
    whole: np.ndarray

    @property
    def value(self) -> float:
        """The ratio, 0 where the whole adds up to 0."""
        total = self.whole.sum()
        return float(self.part.sum() / total) if total else 0.0


@dataclass(frozen=True)
class PairedTest:
    """Whether a beats b on the same documents: mean of a - b, its interval, and two two-sided p-values."""

    difference: float
    low: float
    high: float
    p_value: float  # bootstrap: the level at which the interval would just touch 0
    p_value_t: float
    n: int
    wins: int
    losses: int
    ties: int


def bootstrap_interval(values: np.ndarray, level: float = 0.95, n_resamples: int = 2000, seed: int = 0) -> Estimate:
    """Estimates the mean of one value per document with its percentile interval over resampled documents.

    NaN is left out. Fewer than two values have no interval: one cannot show how far the next would lie.
    """
    return bootstrap_intervals({"values": values}, level, n_resamples, seed)["values"]


def bootstrap_intervals(
    columns: Mapping[str, np.ndarray], level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> dict[str, Estimate]:
    """Computes `bootstrap_interval` of several measures of the same documents, with one set of draws for all."""
    checked = {name: _checked(values, name) for name, values in columns.items()}
    resampled = _resampled_means(list(checked.values()), n_resamples, seed)
    estimates = {}
    for (name, values), means in zip(checked.items(), resampled.T, strict=True):
        defined = values[~np.isnan(values)]
        if defined.size < 2:
            estimates[name] = Estimate(float(defined[0]) if defined.size else float("nan"))
        else:
            estimates[name] = Estimate(float(defined.mean()), *_percentiles(means, level))
    return estimates


def bootstrap_ratio(
    part: np.ndarray, whole: np.ndarray, level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> Estimate:
    """Estimates the ratio of two sums over documents (as micro-averages are), 0 where `whole` adds up to 0."""
    return bootstrap_ratios({"ratio": Ratio(part, whole)}, level, n_resamples, seed)["ratio"]


def bootstrap_ratios(
    ratios: Mapping[str, Ratio], level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> dict[str, Estimate]:
    """Computes `bootstrap_ratio` of several ratios over the same documents, with one set of draws for all."""
    columns = [_checked(c, f"{name} {what}") for name, r in ratios.items() for what, c in r._asdict().items()]
    resampled = _resampled_means(columns, n_resamples, seed)
    estimates = {}
    for i, name in enumerate(ratios):
        part, whole = columns[2 * i : 2 * i + 2]
        total = float(whole.sum())
        value = float(part.sum()) / total if total else 0.0
        parts, wholes = resampled[:, 2 * i], resampled[:, 2 * i + 1]
        drawn = np.divide(parts, wholes, out=np.zeros(n_resamples), where=wholes != 0)
        estimates[name] = Estimate(value, *_percentiles(drawn, level)) if len(part) > 1 else Estimate(value)
    return estimates


def t_interval(values: np.ndarray, level: float = 0.95) -> Estimate:
    """Estimates the mean of a few repetitions with Student's interval.

    There is none where they do not differ, or are fewer than two: they do not show how far the next would lie.
    """
    values = _checked(values, "values")
    mean, n = float(values.mean()), values.size
    if n < 2 or np.isnan(mean) or np.ptp(values) == 0:
        return Estimate(mean)
    reach = float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(n))
    return Estimate(mean, mean - reach, mean + reach)


def paired_difference(
    a: np.ndarray, b: np.ndarray, level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> PairedTest:
    """Compares two models by their values on the same documents; documents where either is NaN are left out.

    With one document there is no interval and every p-value is 1.
    """
    a, b = _checked(a, "a"), _checked(b, "b")
    if a.shape != b.shape:
        raise ValueError(f"a has {a.size} documents, b has {b.size}: a paired test needs the same ones")
    difference = (a - b)[~np.isnan(a - b)]
    n = difference.size
    if n == 0:
        raise ValueError("no document has a value in both a and b")
    mean, low, high, p = float(difference.mean()), float("nan"), float("nan"), 1.0
    if n > 1:
        resampled = _resampled_means([difference], n_resamples, seed)[:, 0]
        low, high = _percentiles(resampled, level)
        tail = min(np.count_nonzero(resampled <= 0), np.count_nonzero(resampled >= 0))
        p = 2 * (1 + tail) / (1 + n_resamples)
        p = min(1.0, max(p, 2.0 ** (1 - n)))  # n signs cannot show more than that
    return PairedTest(
        difference=mean,
        low=low,
        high=high,
        p_value=p,
        p_value_t=_t_test(difference),
        n=n,
        wins=int(np.count_nonzero(difference > 0)),
        losses=int(np.count_nonzero(difference < 0)),
        ties=int(np.count_nonzero(difference == 0)),
    )


def _t_test(difference: np.ndarray) -> float:
    n, mean = difference.size, difference.mean()
    if n < 2 or mean == 0:
        return 1.0
    deviation = difference.std(ddof=1)
    if deviation == 0:
        return 0.0
    return float(2 * stdtr(n - 1, -abs(mean) / (deviation / np.sqrt(n))))


def _resampled_means(columns: list[np.ndarray], n_resamples: int, seed: int) -> np.ndarray:
    """(n_resamples, columns): means over documents drawn with replacement, the same draws for every column."""
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}, expected at least 1")
    if len({len(c) for c in columns}) > 1:
        raise ValueError(f"columns have {[len(c) for c in columns]} documents, expected the same ones")
    table = np.column_stack(columns)
    missing = np.isnan(table)
    partial = missing.any(axis=0)  # only these need a count of the values that a resample met
    values = np.hstack([np.where(missing, 0.0, table), ~missing[:, partial]])
    drawn = np.empty((n_resamples, values.shape[1]))
    resampled_sums(freeze(values), np.uint64(seed % 2**64), drawn)
    sums = drawn[:, : len(columns)]
    counts = np.full(sums.shape, float(len(table)))
    counts[:, partial] = drawn[:, len(columns) :]
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _percentiles(resampled: np.ndarray, level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected a number between 0 and 1")
    low, high = np.nanquantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _checked(values: np.ndarray, what: str) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{what} has shape {values.shape}, expected one value per document, at least one")
    if np.isinf(values).any():
        raise ValueError(f"{what} is infinite at document {int(np.isinf(values).argmax())}")
    return values
