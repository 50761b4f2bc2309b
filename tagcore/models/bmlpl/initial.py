"""Where the training of BMLPL begins: checked parameters, prepared rows, first global arrays."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import Rows, load_part
from tagcore.models.bmlpl.rows import ShardRows, shard_rows
from tagcore.numeric.normalise import normalise_rows
from tagcore.shards import Arrays, Executor, Shard, Shards, row_shards

_SHARE, _FEWEST, _MOST = 0.4, 32, 512  # topics where no number is given
_TAU = 0.2  # of rows of unit length
_SHARD_ROWS = 256  # fewer would be more messages than work

_CHOICES = {
    "inference": ("em", "online", "gibbs"),
    "objective": ("mean", "geo"),
    "solver": ("cg", "exact"),
    "missing": ("zeros", "mask"),
    "dtype": ("float32", "float64"),
}
_AT_LEAST_ONE = ("max_iter", "cg_steps", "batch_rows", "inner", "patience", "screen", "n_shards", "n_draws", "thin")
_POSITIVE = ("eta", "r", "intercept_tau", "t0")
_ONLY_EM = {"learn_tau": False, "learn_r": False, "early_stopping": False, "missing": "zeros"}


def check_parameters(model: Any) -> None:
    """ValueError where a parameter, or two together, make no sense."""
    for name, choices in _CHOICES.items():
        if getattr(model, name) not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {getattr(model, name)!r}")
    for name in _AT_LEAST_ONE:
        value = getattr(model, name)
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    for name in _POSITIVE:
        if not 0 < getattr(model, name) < np.inf:
            raise ValueError(f"{name} must be positive, got {getattr(model, name)!r}")
    if model.tau is not None and not 0 < model.tau < np.inf:
        raise ValueError(f"tau must be positive or None, got {model.tau!r}")
    if not 0.5 < model.kappa <= 1:
        raise ValueError(f"kappa must be above 0.5 and at most 1 for averages to settle, got {model.kappa!r}")
    for name in ("validation_fraction", "observed_rate"):
        if not 0 < getattr(model, name) <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {getattr(model, name)!r}")
    if model.burn_in < 0:
        raise ValueError(f"burn_in must be at least 0, got {model.burn_in!r}")
    if model.objective == "mean" and model.learn_r and model.inference == "em":
        raise ValueError('learn_r needs objective="geo": the other grows without bound in r')
    if model.objective == "geo" and model.missing == "mask":
        raise ValueError('missing="mask" needs objective="mean"')
    for name, only in _ONLY_EM.items():
        chain = model.inference == "gibbs" and name.startswith("learn")
        if model.inference != "em" and not chain and getattr(model, name) != only:
            raise ValueError(f'{name}={getattr(model, name)!r} needs inference="em", got {model.inference!r}')


def topic_number(n_topics: int | float | None, n_labels: int) -> int:
    """K: as given, or a share of the labels."""
    if n_topics is None:
        return min(n_labels, _MOST, max(_FEWEST, int(np.ceil(_SHARE * n_labels))))
    if isinstance(n_topics, Integral):
        if not 1 <= n_topics <= n_labels:
            raise ValueError(f"n_topics must be 1 to {n_labels}, the number of tags, got {n_topics}")
        return int(n_topics)
    if not isinstance(n_topics, Real) or not 0 < n_topics <= 1:
        raise ValueError(f"n_topics must be a whole number or a share of the tags in (0, 1], got {n_topics!r}")
    return int(np.ceil(n_topics * n_labels))


def precisions(shards: Shards, n_words: int, tau: float | None, intercept_tau: float, constant: bool) -> np.ndarray:
    """tau of every word and of the constant. The default goes with the mean squared length of rows."""
    if tau is None:
        sums = shards.sum(squared_lengths, constant=constant)
        tau = _TAU * float(sums["squares"] / sums["rows"]) if sums["squares"] > 0 else _TAU
    return np.append(np.full(n_words, float(tau)), [float(intercept_tau)] * constant)


def squared_lengths(shard: Shard[ShardRows], state: Arrays, constant: bool) -> Arrays:
    """Step: of the rows without their constant, and how many there are."""
    squares = np.square(shard.data.words[0], dtype=np.float64).sum() - len(shard.data) * bool(constant)
    return {"squares": np.array(squares), "rows": np.array(len(shard.data))}


def first_arrays(tau: np.ndarray, n_labels: int, n_topics: int, r: float, seed: int, dtype: str) -> Arrays:
    """Topics drawn from Dirichlet(1), which alone tell topics apart; weights of zero."""
    V = np.random.default_rng(seed).standard_exponential((n_labels, n_topics))
    V /= V.sum(axis=0)
    W = np.zeros((tau.size, n_topics), dtype)
    return {"V": V.astype(dtype), "W": W, "r": np.full(n_topics, float(r)), "tau": tau}


def grown_arrays(known: Arrays, tau: np.ndarray, n_labels: int, eta: float, constant: bool, keep_tau: bool) -> Arrays:
    """Arrays of a fitted model with prior rows for words and labels that are new, after those it knows."""
    V, W, counts = known["V"], known["W"], known["counts"]
    new_labels, new_words = n_labels - len(V), tau.size - len(W)
    if new_labels < 0 or new_words < 0:
        raise ValueError(
            f"warm_start: the fitted model has {len(V)} tags and {len(W) - constant} words, the data only "
            f"{n_labels} and {tau.size - constant}"
        )
    if keep_tau:
        tau = np.concatenate([known["tau"][: len(W) - constant], tau[len(W) - constant :]])
    prior = (eta / (eta * n_labels + counts.sum(axis=0, dtype=np.float64))).astype(V.dtype)
    if new_labels:
        V = np.vstack([V * (1 - new_labels * prior), np.tile(prior, (new_labels, 1))])
    return {
        "V": V,
        "W": _inserted(W, new_words, constant),
        "r": known["r"],
        "tau": tau,
        "counts": np.vstack([counts, np.zeros((new_labels, V.shape[1]), V.dtype)]),
        "curvature": _inserted(known["curvature"], new_words, constant),
    }


def _inserted(array: np.ndarray, rows: int, constant: bool) -> np.ndarray:
    """New rows of zeros before the one of the constant."""
    return np.insert(array, [len(array) - constant] * rows, array.dtype.type(0), axis=0)


@dataclass(frozen=True)
class RowPreparation:
    """How rows are made ready, wherever they are read."""

    dtype: str
    normalise: bool
    constant: bool

    def __call__(self, part: tuple[Any, sp.csr_matrix | None]) -> ShardRows:
        recipe, mask = part
        X, Y = load_part(recipe)
        X = normalise_rows(X, self.normalise).astype(self.dtype, copy=False)
        if self.constant:
            X = sp.hstack([X, np.ones((X.shape[0], 1), X.dtype)], format="csr")
        return shard_rows((X, Y, mask))


def row_parts(
    rows: Rows, mask: sp.csr_matrix | None, preparation: RowPreparation, n_shards: int, executor: Executor
) -> Shards:
    """The shards, each with its share of the mask."""
    cuts = row_shards(rows.n_rows, min(n_shards, -(-rows.n_rows // _SHARD_ROWS)))
    parts = [(rows.part(cut), None if mask is None else mask[cut]) for cut in cuts]
    return Shards(parts, preparation, executor, firsts=[cut.start for cut in cuts])
