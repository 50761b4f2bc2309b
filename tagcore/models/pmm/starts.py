"""Where the components of a mixture begin: k-means inside every class, on the spectral coordinates of its documents."""

import numpy as np

STARTS = ("random", "kmeans")
COORDINATES = 64  # singular vectors that documents are compared by, where cuts do not say how many
_ROUNDS = 50


def kmeans_components(points: np.ndarray, labels: np.ndarray, components: np.ndarray, seed: int) -> np.ndarray:
    """Gives every document a component of its class, the nearest of as many centres as the class has components."""
    found = np.zeros(labels.size, np.int64)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(components.size + 1))
    for k in map(int, np.flatnonzero(components > 1)):
        own = order[starts[k] : starts[k + 1]]
        found[own] = k_means(points[own], int(components[k]), np.random.default_rng([seed, k]))
    return found


def k_means(points: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Gives the nearest of k centres to every point, of equals the first; centres begin far apart (k-means++)."""
    centres = _spread(points, k, rng)
    found = _squares(points, centres).argmin(axis=1)
    for _ in range(_ROUNDS):
        for c in np.unique(found):  # a centre without a point stays where it is
            centres[c] = points[found == c].mean(axis=0)
        before, found = found, _squares(points, centres).argmin(axis=1)
        if (found == before).all():
            break
    return found


def _spread(points: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draws k of the points, each by its squared distance from those before."""
    centres = points[rng.integers(len(points), size=k)]
    squares = _squares(points, centres[:1])[:, 0]
    for c in range(1, k):
        if squares.any():  # else all points are centres, and any will do
            centres[c] = points[rng.choice(len(points), p=squares / squares.sum())]
        squares = np.minimum(squares, _squares(points, centres[c : c + 1])[:, 0])
    return centres


def _squares(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Gives the squared distance of every point from every centre."""
    return np.column_stack([((points - centre) ** 2).sum(axis=1) for centre in centres])
