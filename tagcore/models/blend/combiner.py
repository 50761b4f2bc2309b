"""What turns the features of a pair into log-odds: a logistic curve with products, and boosted trees, as arrays."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from tagcore.base import require_array
from tagcore.models.blend import kernel
from tagcore.models.blend.pairs import Pairs
from tagcore.scoring.calibration import logistic_fit
from tagcore.shards import freeze

FEWEST_DOCUMENTS = 400  # below which trees are no better than the curve
_L2 = 1e-4
_STEPS = 300
_LEAST_SLOPE = 1e-3  # of a member's score as log-odds: the order of its tags stays


@dataclass(frozen=True, eq=False)
class Combiner:
    """The arrays of a fitted combiner; see `kernel.combine`."""

    weights: np.ndarray  # of features and products, the intercept last
    tree_starts: np.ndarray
    split_features: np.ndarray
    thresholds: np.ndarray
    children: np.ndarray
    values: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.weights, self.tree_starts, self.split_features, self.thresholds, self.children, self.values

    def check(self, n_members: int) -> None:
        """Raises ValueError where the arrays of a loaded combiner could lead a kernel astray, or around in circles."""
        width, n = 4 * n_members + 5, self.values.size
        require_array(self.weights, (width + 4 * n_members + 1,), np.float64, "weights of the combiner")
        require_array(self.tree_starts, (self.tree_starts.size,), np.int64, "where trees start", 1, max(n, 1))
        starts = self.tree_starts
        if not starts.size or starts[0] != 1 or starts[-1] != n or (np.diff(starts) < 1).any():
            raise ValueError(f"trees must start at 1, rise and end at {n}")
        require_array(self.values, (n,), np.float64, "values of nodes")
        require_array(self.split_features, (n,), np.int32, "features of nodes", 0, width - 1)
        require_array(self.thresholds, (n,), np.float64, "thresholds of nodes")
        require_array(self.children, (n, 2), np.int64, "children of nodes", 0, n - 1)
        node, children = np.arange(1, n)[:, None], self.children[1:]
        ends = np.repeat(starts[1:], np.diff(starts))[:, None]
        leaf = (children == 0).all(axis=1, keepdims=True)
        if not (leaf | ((children > node) & (children < ends))).all():
            raise ValueError("children of a node must stand after it in its tree")

    def __call__(self, features: np.ndarray, n_members: int) -> np.ndarray:
        """Log-odds of pairs."""
        return kernel.combine(features, n_members, *self.arrays)


def no_combiner(n_members: int) -> Combiner:
    """What stands for a combiner where a member serves alone."""
    return Combiner(np.zeros(8 * n_members + 6), *_no_trees())


def fit_combiner(pairs: Pairs, n_members: int, n_trees: int, seed: int) -> Combiner:
    """Learns from pairs of documents that members had not seen. One thread: others would sum in another order."""
    with threadpool_limits(1):
        weights = _logistic(kernel.with_products(pairs.features, n_members), pairs.hits)
        enough = np.unique(pairs.rows).size >= FEWEST_DOCUMENTS and pairs.hits.any() and not pairs.hits.all()
        trees = _trees(pairs, n_trees, seed) if n_trees and enough else _no_trees()
    return Combiner(freeze(weights), *map(freeze, trees))


def fit_slope(scores: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Slope and intercept of a score as log-odds (Platt's targets); the slope is never below a little."""
    n_hits = float(hits.sum())
    target = np.where(hits, (n_hits + 1) / (n_hits + 2), 1 / (hits.size - n_hits + 2))
    centre, scale = scores.mean(), max(float(scores.std()), 1e-9)
    slope, intercept = logistic_fit((scores - centre) / scale, target)
    slope = max(slope, _LEAST_SLOPE) / scale
    return np.array([slope, intercept - slope * centre])


def _logistic(features: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Weights of the features as they are, and the intercept."""
    from scipy.optimize import minimize  # here, as other libraries to learn with: what is served does not learn

    n, width = features.shape
    share = (hits.sum() + 1) / (n + 2)
    if not hits.any() or hits.all():
        return np.append(np.zeros(width), logit(share))
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-9] = np.inf  # what never varies says nothing
    z = (features - centre) / scale
    sign = np.where(hits, 1.0, -1.0)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (z @ w[:-1] + w[-1])
        slope = -sign * expit(-margin) / n
        gradient = np.append(slope @ z + _L2 * w[:-1], slope.sum())
        return float(np.logaddexp(0, -margin).mean() + _L2 / 2 * np.sum(w[:-1] ** 2)), gradient

    w = minimize(loss, np.append(np.zeros(width), logit(share)), jac=True, method="L-BFGS-B",
                 options={"maxiter": _STEPS}).x  # fmt: skip
    raw = w[:-1] / scale
    return np.append(raw, w[-1] - np.sum(raw * centre))


def _trees(pairs: Pairs, n_trees: int, seed: int) -> tuple[np.ndarray, ...]:
    """Boosted trees, written out node after node; of a leaf the children are 0."""
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
    nodes = [predictor.nodes for (predictor,) in model._predictors]
    starts = np.concatenate([[1], 1 + np.cumsum([len(tree) for tree in nodes])]).astype(np.int64)
    every = np.concatenate(nodes)
    base = np.repeat(starts[:-1], np.diff(starts))
    inner = every["is_leaf"] == 0
    children = np.stack([np.where(inner, base + every[side], 0) for side in ("left", "right")], axis=1)
    # node 0 is no node: its value is the intercept, so that no child is 0
    return (
        starts,
        np.append(0, np.where(inner, every["feature_idx"], 0)).astype(np.int32),
        np.append(0.0, np.where(inner, every["num_threshold"], 0.0)),
        np.concatenate([np.zeros((1, 2), np.int64), children.astype(np.int64)]),
        np.append(float(model._baseline_prediction.ravel()[0]), np.where(inner, 0.0, every["value"])),
    )


def _no_trees() -> tuple[np.ndarray, ...]:
    return np.ones(1, np.int64), np.zeros(1, np.int32), np.zeros(1), np.zeros((1, 2), np.int64), np.zeros(1)
