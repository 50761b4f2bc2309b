"""What turns the features of a pair into log-odds: a logistic curve with products, and boosted trees, as arrays."""

from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from tagcore.base import require_array
from tagcore.models.blend import kernel
from tagcore.models.blend.pairs import Pairs
from tagcore.models.blend.trees import Trees, no_trees, written_out
from tagcore.numeric.logistic import expit, logit
from tagcore.numeric.read_only import freeze

FEWEST_DOCUMENTS = 400  # below which trees are no better than the curve
_OUTER = 1e-3  # share of the pairs, at either end of a feature, that do not say how far it goes
_L2 = 1e-4
_STEPS, _CLOSE = 50, 1e-10  # of Newton's method: at most so many, and what the next would gain where it ends


@dataclass(frozen=True, eq=False)
class Combiner:
    """The arrays of a fitted combiner; see `kernel.combine`."""

    weights: np.ndarray  # of features and products, the intercept last
    ranges: np.ndarray  # (2, features) what nearly all pairs that it learnt from lie between
    trees: Trees

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.weights, self.ranges, *self.trees.arrays

    @property
    def has_trees(self) -> bool:
        return len(self.trees.leaf_values) > 1

    def check(self, n_members: int) -> None:
        """Raises ValueError where the arrays of a loaded combiner could lead a kernel astray."""
        width = 4 * n_members + 5
        require_array(self.weights, (width + 4 * n_members + 1,), np.float64, "weights of the combiner")
        require_array(self.ranges, (2, width), np.float64, "ranges of features")
        if (self.ranges[0] > self.ranges[1]).any():
            raise ValueError("a range of features ends before it begins")
        self.trees.check(width)

    def without_trees(self) -> "Combiner":
        """The curve alone."""
        return Combiner(self.weights, self.ranges, no_trees(self.trees.node_starts.size - 1))

    def __call__(self, features: np.ndarray, n_members: int) -> np.ndarray:
        """Log-odds of pairs."""
        return kernel.combine(features, n_members, self.ranges, self.weights, self.trees.tables)


def no_combiner(n_members: int) -> Combiner:
    """What stands for a combiner where a member serves alone."""
    width = 4 * n_members + 5
    return Combiner(freeze(np.zeros(8 * n_members + 6)), freeze(np.zeros((2, width))), no_trees(width))


def fit_combiner(pairs: Pairs, n_members: int, n_trees: int, seed: int) -> Combiner:
    """Learns from pairs of documents that members had not seen. One thread: others would sum in another order."""
    ranges = np.quantile(pairs.features, (_OUTER, 1 - _OUTER), axis=0)
    pairs = replace(pairs, features=kernel.within(pairs.features, ranges))
    with threadpool_limits(1):
        weights = _logistic(kernel.with_products(pairs.features, n_members), pairs.hits)
        trees = no_trees(pairs.features.shape[1])
        enough = np.unique(pairs.rows).size >= FEWEST_DOCUMENTS and pairs.hits.any() and not pairs.hits.all()
        if n_trees and enough:
            trees = _boosted(pairs, n_trees, seed)
    return Combiner(freeze(weights), freeze(ranges), trees)


def _logistic(features: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Weights of the features as they are, and the intercept, by Newton steps that are halved until they help."""
    n, width = features.shape
    share = (hits.sum() + 1) / (n + 2)
    if not hits.any() or hits.all():
        return np.append(np.zeros(width), logit(share))
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-9] = np.inf  # what never varies says nothing
    z = np.column_stack([(features - centre) / scale, np.ones(n)])
    ridge = np.append(np.full(width, _L2), 0.0)

    def loss(w: np.ndarray) -> float:
        u = z @ w
        return float(np.mean(np.logaddexp(0.0, u) - hits * u) + np.sum(ridge * w**2) / 2)

    w = np.append(np.zeros(width), logit(share))
    reached = loss(w)
    for _ in range(_STEPS):
        p = expit(z @ w)
        gradient = (p - hits) @ z / n + ridge * w
        curvature = (z * (p * (1 - p) / n)[:, None]).T @ z + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step < _CLOSE:
            break
        while (tried := loss(w - step)) > reached and gradient @ step >= _CLOSE:
            step /= 2
        w, reached = w - step, tried
    raw = w[:-1] / scale
    return np.append(raw, w[-1] - np.sum(raw * centre))


def _boosted(pairs: Pairs, n_trees: int, seed: int) -> Trees:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=n_trees,
        learning_rate=0.1,
        max_leaf_nodes=15,
        min_samples_leaf=50,
        l2_regularization=5.0,
        max_features=0.8,
        early_stopping=False,
        random_state=seed,
    ).fit(pairs.features, pairs.hits)
    return written_out(model, pairs.features.shape[1])
