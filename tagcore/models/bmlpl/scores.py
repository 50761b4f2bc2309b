"""Prediction with BMLPL: -log(1 - p) of labels by equation 19, averaged over draws of the parameters."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.base import best_k
from tagcore.kernels.sparse import multiply_dense_fused
from tagcore.models.bmlpl.kernels.predict import survival, survival_of
from tagcore.numeric.read_only import freeze, frozen_rows

LARGEST_PSI = 60.0  # exp of it, to the power of a group of factors in the kernel, is still a float64
_BOUND_MARGIN = 1 + 1e-4  # rounding of the float32 matrix product


class Draws(NamedTuple):
    """Parameters, one or several draws of them along the first axis. EM has one."""

    topics: np.ndarray  # (draws, topics, labels): columns of V, contiguous
    weights: np.ndarray  # (draws, words, topics), with a last row for the constant or without
    shapes: np.ndarray  # (draws, topics)


def scores(X: sp.csr_matrix, draws: Draws, rate: float) -> np.ndarray:
    """Scores all labels of all rows. `rate` is the share of positives that training could see: p is for all of them."""

    def score_draw(E: np.ndarray, topics: np.ndarray, shapes: np.ndarray) -> np.ndarray:
        out = np.empty((X.shape[0], topics.shape[1]))
        survival(E, *freeze((topics, shapes)), out)
        return out

    return _mean_over_draws(score_draw, X, draws, rate)


def screened_top_k(
    X: sp.csr_matrix, draws: Draws, rate: float, k: int, screen: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(labels, scores, whether they are surely the best): equation 19 on the `screen` labels of largest bound alone.

    log(1 + x) ≤ x gives Σ_k r_k v_lk exp(psi_k), a matrix product, as an upper bound of every score. A row is sure
    if its k-th score is above the bounds of all labels that were left out.
    """
    bounds = np.zeros((X.shape[0], draws.topics.shape[2]), np.float32)
    for topics, weights, shapes in zip(*draws, strict=True):
        bounds += (_exponentials(X, weights, rate) * shapes).astype(np.float32) @ topics.astype(np.float32, copy=False)
    order = np.argpartition(bounds, -screen, axis=1)
    chosen = np.sort(order[:, -screen:], axis=1)
    largest_left_out = np.take_along_axis(bounds, order[:, :-screen], axis=1).max(axis=1) / len(draws.shapes)

    def score_draw(E: np.ndarray, topics: np.ndarray, shapes: np.ndarray) -> np.ndarray:
        out = np.empty(chosen.shape)
        survival_of(E, *freeze((topics, shapes, chosen)), out)
        return out

    at, best = best_k(_mean_over_draws(score_draw, X, draws, rate), k)
    return np.take_along_axis(chosen, at, axis=1), best, best[:, -1] > largest_left_out * _BOUND_MARGIN


def _mean_over_draws(
    score_draw: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray], X: sp.csr_matrix, draws: Draws, rate: float
) -> np.ndarray:
    """-log of the mean over draws of 1 - p = exp(-score); p itself would round to 1."""
    by_draw = [score_draw(_exponentials(X, W, rate), V, r) for V, W, r in zip(*draws, strict=True)]
    if len(by_draw) == 1:
        return by_draw[0]
    lowest = np.minimum.reduce(by_draw)
    return lowest - np.log(sum(np.exp(lowest - values) for values in by_draw) / len(by_draw))


def _exponentials(X: sp.csr_matrix, weights: np.ndarray, rate: float) -> np.ndarray:
    """exp(psi) / rate in float64."""
    psi = np.empty((X.shape[0], weights.shape[1]), weights.dtype)
    multiply_dense_fused(*frozen_rows(X), freeze(weights), psi)
    if len(weights) > X.shape[1]:
        psi += weights[-1]
    return np.exp(np.minimum(psi.astype(np.float64) - np.log(rate), LARGEST_PSI))
