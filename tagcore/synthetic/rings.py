"""Three classes that only a curved border parts: two rings and what is within them, among inputs that say nothing."""

import numpy as np

from tagcore.synthetic.checks import check

N_INPUTS = 10


def rings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Gives X (n × 10) and classes 0, 1, 2: rings 0.1 < x₁² + x₂² < 0.5 and 0.6 < x₁² + x₂² < 1, and N(0, 0.01 I).

    Points of a ring are uniform in its area; the other eight inputs are standard normal, whatever the class. This is
    the toy set of sparse Gaussian process papers (Girolami and Rogers, 2006).

    >>> X, y = rings(4, seed=0)
    >>> X.shape, y.shape
    ((4, 10), (4,))
    """
    check("n", n, 1, 10**8, whole=True)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    squares = np.where(y == 0, rng.uniform(0.1, 0.5, n), rng.uniform(0.6, 1.0, n))
    angles = rng.uniform(0.0, 2.0 * np.pi, n)
    X = rng.normal(size=(n, N_INPUTS))
    on_rings = np.sqrt(squares)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    X[:, :2] = np.where((y == 2)[:, None], 0.1 * X[:, :2], on_rings)
    return X, y
