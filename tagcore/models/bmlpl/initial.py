"""The global arrays that the training of BMLPL begins with: random ones, or those of a fitted model."""

from numbers import Integral, Real

import numpy as np

from tagcore.models.bmlpl.rows import ShardRows
from tagcore.shards import Arrays, Shard, Shards

_SHARE, _FEWEST, _MOST = 0.4, 32, 512  # topics where no number is given
_TAU = 0.2  # of rows of unit length


def number_of_topics(n_topics: int | float | None, n_labels: int) -> int:
    """Gives K: the whole number asked for, or a share of the number of labels."""
    if n_topics is None:
        return min(n_labels, _MOST, max(_FEWEST, int(np.ceil(_SHARE * n_labels))))
    if isinstance(n_topics, Integral):
        if not 1 <= n_topics <= n_labels:
            raise ValueError(f"n_topics must be 1 to {n_labels}, the number of tags, got {n_topics}")
        return int(n_topics)
    if not isinstance(n_topics, Real) or not 0 < n_topics <= 1:
        raise ValueError(f"n_topics must be a whole number or a share of the tags in (0, 1], got {n_topics!r}")
    return int(np.ceil(n_topics * n_labels))


def prior_precisions(
    shards: Shards, n_words: int, tau: float | None, intercept_tau: float, constant: bool
) -> np.ndarray:
    """Gives tau of every word and of the constant. The default goes with the mean squared length of rows."""
    if tau is None:
        sums = shards.sum(squared_lengths_step, constant=constant)
        tau = _TAU * float(sums["squares"] / sums["rows"]) if sums["squares"] > 0 else _TAU
    return np.append(np.full(n_words, float(tau)), [float(intercept_tau)] * constant)


def squared_lengths_step(shard: Shard[ShardRows], state: Arrays, constant: bool) -> Arrays:
    """Step: the sum of squared lengths of rows without their constant, and the number of rows."""
    squares = np.square(shard.data.words[0], dtype=np.float64).sum() - len(shard.data) * bool(constant)
    return {"squares": np.array(squares), "rows": np.array(len(shard.data))}


def first_arrays(tau: np.ndarray, n_labels: int, n_topics: int, r: float, seed: int, dtype: str) -> Arrays:
    """Draws topics from Dirichlet(1), which alone tell topics apart; weights are zero."""
    V = np.random.default_rng(seed).standard_exponential((n_labels, n_topics))
    V /= V.sum(axis=0)
    W = np.zeros((tau.size, n_topics), dtype)
    return {"V": V.astype(dtype), "W": W, "r": np.full(n_topics, float(r)), "tau": tau}


def grown_arrays(
    previous: Arrays, tau: np.ndarray, n_labels: int, eta: float, constant: bool, keep_tau: bool
) -> Arrays:
    """Gives the arrays of a fitted model with prior rows for new words and labels, after those it was fitted with."""
    V, W, counts = previous["V"], previous["W"], previous["counts"]
    new_labels, new_words = n_labels - len(V), tau.size - len(W)
    if new_labels < 0 or new_words < 0:
        raise ValueError(
            f"warm_start: the fitted model has {len(V)} tags and {len(W) - constant} words, the data only "
            f"{n_labels} and {tau.size - constant}"
        )
    if keep_tau:
        tau = np.concatenate([previous["tau"][: len(W) - constant], tau[len(W) - constant :]])
    prior = (eta / (eta * n_labels + counts.sum(axis=0, dtype=np.float64))).astype(V.dtype)
    if new_labels:
        V = np.vstack([V * (1 - new_labels * prior), np.tile(prior, (new_labels, 1))])
    return {
        "V": V,
        "W": _with_new_rows(W, new_words, constant),
        "r": previous["r"],
        "tau": tau,
        "counts": np.vstack([counts, np.zeros((new_labels, V.shape[1]), V.dtype)]),
        "curvature": _with_new_rows(previous["curvature"], new_words, constant),
    }


def _with_new_rows(array: np.ndarray, rows: int, constant: bool) -> np.ndarray:
    """Inserts rows of zeros before the row of the constant."""
    return np.insert(array, [len(array) - constant] * rows, array.dtype.type(0), axis=0)
