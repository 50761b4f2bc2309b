"""Boosted trees as arrays, scored without a jump from node to node (QuickScorer, Lucchese et al., SIGIR 2015).

A node is true for rows up to its threshold. Every false node takes the leaves on its left out of its tree; the first
leaf that is left is the one that a walk would end in. Nodes stand by feature, thresholds rising, so that the false ones
of a row are the first of each feature: what any number of them leaves of all trees is found in a table.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from tagcore.base import require_array
from tagcore.kernels.sparse import first_at_least
from tagcore.numeric.read_only import freeze

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

MOST_LEAVES = 16
_EVERY = 2**MOST_LEAVES - 1
_LAST = 1 << (MOST_LEAVES - 1)  # kept alive whatever a stored array says: a leaf is always found
# the four highest of the low 16 bits of _DE_BRUIJN << n differ for every n: the place of a lone bit without a branch
_DE_BRUIJN = 0x09AF
_PLACES = np.argsort([((_DE_BRUIJN << n) & 0xFFFF) >> 12 for n in range(MOST_LEAVES)])
GROUP = 64  # trees that have a table of their own: its size is that of their nodes times their number


@dataclass(frozen=True, eq=False)
class Trees:
    """Nodes of all trees by feature, and the values of their leaves; the first row of these is the intercept's."""

    node_starts: np.ndarray  # (features + 1,) the nodes of feature f are node_starts[f] to node_starts[f + 1]
    thresholds: np.ndarray
    tree_of_node: np.ndarray
    left_alone: np.ndarray  # bits of the leaves that stay where the node is false
    leaf_values: np.ndarray  # (1 + trees, 16)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.node_starts, self.thresholds, self.tree_of_node, self.left_alone, self.leaf_values

    @cached_property
    def tables(self) -> tuple[np.ndarray, ...]:
        """What `sum_of_trees` reads: nodes by group and feature (starts, thresholds), the leaves that the first of them
        leave in every tree of the group, one row more than nodes for each group and feature, and values of leaves."""
        n_features, n_groups = self.node_starts.size - 1, -(-(len(self.leaf_values) - 1) // GROUP)
        group, tree = np.divmod(self.tree_of_node - 1, GROUP)
        cell = group * n_features + np.repeat(np.arange(n_features), np.diff(self.node_starts))
        order = np.argsort(cell, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(cell, minlength=n_groups * n_features)))
        left = np.full((order.size + starts.size - 1, GROUP), _EVERY, np.uint16)
        for number in range(starts.size - 1):
            nodes = order[starts[number] : starts[number + 1]]
            rows = left[starts[number] + number : starts[number + 1] + number + 1]
            rows[np.arange(1, len(rows)), tree[nodes]] = self.left_alone[nodes]
            np.bitwise_and.accumulate(rows, axis=0, out=rows)
        return freeze((starts.astype(np.int64), self.thresholds[order], left, self.leaf_values))

    def check(self, n_features: int) -> None:
        """Raises ValueError where stored arrays could lead the kernel astray."""
        n, n_trees = self.thresholds.size, len(self.leaf_values)
        require_array(self.node_starts, (n_features + 1,), np.int64, "where nodes start", 0, n)
        if self.node_starts[0] != 0 or self.node_starts[-1] != n or (np.diff(self.node_starts) < 0).any():
            raise ValueError(f"nodes must start at 0, rise by feature and end at {n}")
        require_array(self.thresholds, (n,), np.float64, "thresholds of nodes")
        require_array(self.leaf_values, (max(n_trees, 1), MOST_LEAVES), np.float64, "values of leaves")
        require_array(self.tree_of_node, (n,), np.int32, "trees of nodes", 1, max(n_trees - 1, 1))
        require_array(self.left_alone, (n,), np.uint32, "leaves of nodes", 0, int(_EVERY))
        if n and n_trees < 2:
            raise ValueError("there are nodes, and no tree that they could be of")


def no_trees(n_features: int) -> Trees:
    """Nothing, in the form of trees."""
    nodes = np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.uint32)
    return Trees(*map(freeze, (np.zeros(n_features + 1, np.int64), *nodes, np.zeros((1, MOST_LEAVES)))))


def written_out(model: "HistGradientBoostingClassifier", n_features: int) -> Trees:
    """The trees of a fitted model of two classes."""
    features, thresholds, trees, masks = [], [], [], []
    values = np.zeros((1 + len(model._predictors), MOST_LEAVES))
    values[0] = float(model._baseline_prediction.ravel()[0])
    for number, (predictor,) in enumerate(model._predictors, start=1):
        nodes = predictor.nodes
        leaves, below = _leaves_in_order(nodes)
        values[number, : len(leaves)] = nodes["value"][leaves]
        values[number, len(leaves) :] = values[number, len(leaves) - 1]
        for node in np.flatnonzero(nodes["is_leaf"] == 0):
            first, end = below[nodes["left"][node]]
            features.append(nodes["feature_idx"][node])
            thresholds.append(nodes["num_threshold"][node])
            trees.append(number)
            masks.append(int(_EVERY) & ~((1 << end) - (1 << first)))
    order = np.lexsort((np.array(trees, int), np.array(thresholds, float), np.array(features, int)))
    counts = np.bincount(np.array(features, int), minlength=n_features)
    return Trees(
        freeze(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
        freeze(np.array(thresholds, np.float64)[order]),
        freeze(np.array(trees, np.int32)[order]),
        freeze(np.array(masks, np.uint32)[order]),
        freeze(values),
    )


def _leaves_in_order(nodes: Any) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """Leaves from left to right, and for every node which of them (from, to) are below it."""
    leaves: list[int] = []
    below: dict[int, tuple[int, int]] = {}

    def walk(node: int) -> None:
        first = len(leaves)
        if nodes["is_leaf"][node]:
            leaves.append(node)
        else:
            walk(int(nodes["left"][node]))
            walk(int(nodes["right"][node]))
        below[node] = (first, len(leaves))

    walk(0)
    return leaves, below


@njit(cache=True, nogil=True)
def sum_of_trees(row, tables, alive):
    """What all trees together say of one row of features; `alive` is room for the leaves of a group of trees."""
    starts, thresholds, left, leaf_values = tables
    n_trees = leaf_values.shape[0]
    total = leaf_values[0, 0]
    for group in range((n_trees - 1 + GROUP - 1) // GROUP):
        alive[:] = _EVERY
        for feature in range(row.size):
            cell = group * row.size + feature
            n_false = first_at_least(thresholds, starts[cell], starts[cell + 1], row[feature])
            stay = left[n_false + cell]
            for tree in range(GROUP):
                alive[tree] &= stay[tree]
        first = 1 + group * GROUP
        for tree in range(first, min(first + GROUP, n_trees)):
            kept = np.int64(alive[tree - first]) | _LAST
            total += leaf_values[tree, _PLACES[((kept & -kept) * _DE_BRUIJN & 0xFFFF) >> 12]]
    return total
