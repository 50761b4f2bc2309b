"""Gaussians over the weights of linear classifiers: what a Bayesian model hands to labelling."""

from dataclasses import dataclass

import numpy as np

from tagcore.shards import Arrays


@dataclass(frozen=True)
class Posterior:
    """Independent Gaussians over weights and biases: a row x has class c iff ⟨x, w_c⟩ > b, b = bias number bias_of[c].

    Classes that share one bias have bias_of 0 everywhere, classes on their own arange(C), classes of a hierarchy the
    number of their group of siblings. With `parents` (-1 for a root) a class also needs its parent.
    """

    mean: np.ndarray  # (D, C), float32 or float64
    variance: np.ndarray  # (D, C)
    bias_mean: np.ndarray  # (B,), float64
    bias_variance: np.ndarray  # (B,)
    bias_of: np.ndarray  # (C,)
    parents: np.ndarray | None = None  # (C,)

    def __post_init__(self) -> None:
        words, classes = _require_gaussians(self.mean, self.variance, 2, "weights")
        (biases,) = _require_gaussians(self.bias_mean, self.bias_variance, 1, "biases")
        if words < 1 or classes < 1:
            raise ValueError(f"a posterior needs words and classes, got {words} and {classes}")
        _require_numbers(self.bias_of, classes, 0, biases - 1, "bias_of")
        if self.parents is not None:
            _require_numbers(self.parents, classes, -1, classes - 1, "parents")
            _children(self.parents)

    def arrays(self) -> Arrays:
        """The arrays that kernels read: the weights, and the classes with a parent, each after its parent."""
        none = np.full(self.mean.shape[1], -1)
        parents = none if self.parents is None else self.parents.astype(np.int64)
        weights = {"mean": np.ascontiguousarray(self.mean), "variance": np.ascontiguousarray(self.variance)}
        return weights | {"parents": parents, "children": _children(parents)}


def _children(parents: np.ndarray) -> np.ndarray:
    """The classes with a parent, those nearest to the root first."""
    depths, above = np.zeros(len(parents), np.int64), parents
    for _ in parents:
        if (above < 0).all():
            break
        depths += above >= 0
        above = np.where(above >= 0, parents[above], -1)
    if (above >= 0).any():
        raise ValueError(f"class {int((above >= 0).argmax())} is its own ancestor: parents must form trees")
    order = np.argsort(depths, kind="stable")
    return order[depths[order] > 0]


def _require_gaussians(mean: np.ndarray, variance: np.ndarray, ndim: int, what: str) -> tuple[int, ...]:
    if mean.ndim != ndim or mean.shape != variance.shape:
        raise ValueError(f"{what}: means of shape {mean.shape} and variances of shape {variance.shape} do not fit")
    for values, lowest in ((mean, -np.inf), (variance, 0.0)):
        if values.dtype not in (np.float32, np.float64):
            raise ValueError(f"{what} must be float32 or float64, got {values.dtype}")
        # minima and maxima pass NaN on and make no copy of a large array
        if values.size and not (lowest <= values.min() and -np.inf < values.min() and values.max() < np.inf):
            raise ValueError(f"{what} must have finite means and variances of at least 0")
    return mean.shape


def _require_numbers(values: np.ndarray, size: int, lowest: int, highest: int, what: str) -> None:
    whole = values.shape == (size,) and values.dtype.kind in "iu"
    if not whole or values.min() < lowest or values.max() > highest:
        raise ValueError(f"{what} must be {size} integers from {lowest} to {highest}")
