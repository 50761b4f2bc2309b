"""What the inner products of users and items should reach: ratings without their means and biases, or counts."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.damped_means import damped_means

BIASES = ("none", "global", "item", "both")
FEEDBACKS = ("ratings", "counts")


@dataclass(frozen=True, eq=False)
class Offsets:
    """What is added to an inner product, and what is answered where there is none."""

    mean: float
    user_biases: np.ndarray
    item_biases: np.ndarray
    user_fallbacks: np.ndarray  # for an item that nobody rated
    item_fallbacks: np.ndarray  # for a user who neither rated nor has a neighbour
    fallback: float  # for both


@dataclass(frozen=True, eq=False)
class Targets:
    """Values to reach in the pattern of the ratings, in the order of their CSR matrix."""

    values: np.ndarray
    weights: np.ndarray | None  # of squared inner products; None where all are 1
    constant: float  # of the objective, which no vector changes
    offsets: Offsets


def rating_targets(rated: sp.csr_matrix, biases: str, damping: float, mean: float | None = None) -> Targets:
    """Ratings less the mean of all ("global"), and the damped biases of items ("item") and users ("both").

    A `mean` that is given stands for that of the ratings.
    """
    n, m = rated.shape
    users, items, values = _cells(rated)
    mean = float(values.mean()) if mean is None else mean
    of_items = damped_means(values - mean, items, m, damping) if biases in ("item", "both") else np.zeros(m)
    remaining = values - mean - of_items[items]
    of_users = damped_means(remaining, users, n, damping) if biases == "both" else np.zeros(n)
    user_means = of_users if biases == "both" else damped_means(remaining, users, n, 0.0)
    item_means = of_items if biases in ("item", "both") else damped_means(values - mean, items, m, 0.0)
    added = 0.0 if biases == "none" else mean
    offsets = Offsets(added, of_users, of_items, mean + user_means, mean + item_means, mean)
    targets = values - offsets.mean - of_items[items] - of_users[users]
    return Targets(targets, None, 0.0, offsets)


def count_targets(rated: sp.csr_matrix, confidence: float) -> Targets:
    """Preferences of 1 for what has a count and 0 for all else, the surer the larger the count is.

    The confidence of a count r is c = 1 + `confidence` · ln(1 + r), and 1 where there is none. Σ c (p - x)² over all
    cells is Σ x² over all and, over those with a count, (c - 1) x² - 2 c x + c.
    """
    n, m = rated.shape
    _, items, values = _cells(rated)
    if (bad := np.flatnonzero(values < 0)).size:
        raise ValueError(f"a count is {values[bad[0]]}, expected numbers from 0")
    sure = 1.0 + confidence * np.log1p(values)
    popularity = np.bincount(items, minlength=m) / max(n, 1)
    offsets = Offsets(0.0, np.zeros(n), np.zeros(m), np.zeros(n), popularity, 0.0)
    return Targets(sure, sure - 1.0, float((sure - sure**2).sum()), offsets)


def _cells(rated: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    users = np.repeat(np.arange(rated.shape[0]), np.diff(rated.indptr))
    return users, rated.indices, rated.data


def with_values(rated: sp.csr_matrix, values: np.ndarray) -> sp.csr_matrix:
    """The same cells with other values, of which 0 is one too."""
    return sp.csr_matrix((values, rated.indices, rated.indptr), shape=rated.shape, copy=False)
