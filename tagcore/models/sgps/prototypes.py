"""Which prototypes to begin with: how many of each class, and rows or centres of it."""

import numpy as np
import scipy.sparse as sp

from tagcore.models.sgps.rows import LabelledRows
from tagcore.numeric.dots import Matrix, squared_distances, transposed_product
from tagcore.scikit import kmeans_plusplus

DEFAULT_SHARE, DEFAULT_LEAST = 0.05, 20
_LLOYD_ROUNDS = 5
_CLUSTERED_ROWS = 20_000  # of a class: k-means of more of them finds no other centres


def number_of_prototypes(wanted: int | float | None, n_rows: int, n_classes: int, most: int) -> int:
    """Gives M: as many as wanted, or a share of the rows; at most `most` and one a row, but one a class in any case."""
    if wanted is None:
        count = max(round(DEFAULT_SHARE * n_rows), DEFAULT_LEAST)
    elif isinstance(wanted, int | np.integer):
        count = int(wanted)
    else:
        count = round(wanted * n_rows)
    return min(max(count, n_classes), max(most, n_classes), n_rows)


def share_out(count: int, classes: np.ndarray, n_classes: int, keys: np.ndarray) -> np.ndarray:
    """Gives how many prototypes each class has: its share of the rows, at least one, by largest remainders.

    Of equal remainders the one goes first that has the row of the lowest key: how classes are named says nothing.
    """
    sizes = np.bincount(classes, minlength=n_classes)
    lowest = np.full(n_classes, np.inf)
    np.minimum.at(lowest, classes, keys)
    quotas = count * sizes / sizes.sum()
    shares = np.minimum(np.maximum(np.floor(quotas).astype(np.int64), sizes > 0), sizes)
    order = np.lexsort((lowest, np.floor(quotas) - quotas))
    while shares.sum() < min(count, sizes.sum()):
        for c in order:
            if shares.sum() < count and shares[c] < sizes[c]:
                shares[c] += 1
    while shares.sum() > max(count, np.count_nonzero(sizes)):  # the ones that small classes were given
        most = np.flatnonzero(shares == shares.max())
        shares[most[np.argmax(lowest[most])]] -= 1
    return shares


def class_wise_rows(classes: np.ndarray, shares: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Gives numbers of distinct rows, so many of each class, those of the lowest keys, rising."""
    order = np.lexsort((keys, classes))
    starts = np.searchsorted(classes[order], np.arange(shares.size))
    return np.sort(np.concatenate([order[start : start + n] for start, n in zip(starts, shares, strict=True)]))


def any_rows(n_rows: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Gives numbers of distinct rows, whatever their class, rising."""
    return np.sort(rng.choice(n_rows, count, replace=False))


def class_centres(data: LabelledRows, shares: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Gives (centres, their classes) of k-means within each class."""
    centres, classes = [], []
    for c, count in enumerate(shares):
        numbers = np.flatnonzero(data.classes == c)
        if count == 0:
            continue
        if numbers.size > _CLUSTERED_ROWS:
            numbers = np.sort(rng.choice(numbers, _CLUSTERED_ROWS, replace=False))
        centres.append(_k_means(data.take(numbers), int(count), int(rng.integers(2**31))))
        classes.append(np.full(count, c))
    return np.concatenate(centres), np.concatenate(classes)


def _k_means(X: Matrix, count: int, seed: int) -> np.ndarray:
    """A few of Lloyd's rounds from k-means++; a centre that loses all rows stays where it was."""
    centres, _ = kmeans_plusplus(X, count, random_state=seed)
    centres = centres.toarray() if sp.issparse(centres) else np.array(centres)
    centres = centres.astype(np.float64)
    for _ in range(_LLOYD_ROUNDS):
        nearest = squared_distances(X, centres).argmin(axis=1)
        members = np.zeros((X.shape[0], count))
        members[np.arange(nearest.size), nearest] = 1.0
        sizes = members.sum(axis=0)
        means = transposed_product(members, X) / np.maximum(sizes, 1.0)[:, None]
        centres = np.where((sizes > 0)[:, None], means, centres)
    return centres
