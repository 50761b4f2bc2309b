"""How good the first k suggestions are: precision, recall, F1, nDCG, accuracies, and how many are right.

One value per document; without any true tag it is 0 in all of them.

A measure of the first k is a method of `Hits` here and an entry of `MEASURES` in `catalogue.py`, or nobody asks for it;
one of the order of all tags, such as the ranking loss: `row_ranking.py`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagcore.label_matrix import present_labels
from tagcore.metrics.intervals import Ratio
from tagcore.metrics.kernels import hits as kernels
from tagcore.numeric.read_only import freeze


@dataclass(frozen=True, eq=False)
class Hits:
    """Which suggestions are right, (n, columns) best first, and how many tags each document truly has."""

    right: np.ndarray
    n_true: np.ndarray

    def precision(self, k: int) -> np.ndarray:
        """The share of the first k that is right."""
        return self._count(k) / k

    def recall(self, k: int) -> np.ndarray:
        """The share of the true tags that is among the first k."""
        return self._count(k) / np.maximum(self.n_true, 1)

    def f1(self, k: int) -> np.ndarray:
        """The harmonic mean of precision and recall."""
        return 2 * self._count(k) / (k + self.n_true)

    def ndcg(self, k: int) -> np.ndarray:
        """Binary gains with discount 1 / log2(place + 1), as a share of what the best order of k places has."""
        self._check(k)
        discount = 1.0 / np.log2(np.arange(2, k + 2))
        ideal = np.cumsum(discount)[np.clip(self.n_true, 1, k) - 1]
        gain = np.zeros(len(self.right))
        for place in range(k):  # by column: no (n, k) float copy of the hits
            gain += discount[place] * self.right[:, place]
        return gain / ideal

    def average_precision(self, k: int) -> np.ndarray:
        """Precision at the place of every right one of the first k, summed, as a share of what k places can have."""
        self._check(k)
        found, gain = np.zeros(len(self.right)), np.zeros(len(self.right))
        for place in range(k):
            found += self.right[:, place]
            gain += self.right[:, place] * found / (place + 1)
        return gain / np.clip(self.n_true, 1, k)

    def accuracy(self, k: int) -> np.ndarray:
        """1 where any of the first k is right."""
        return (self._count(k) > 0).astype(np.float64)

    def exact(self, k: int) -> np.ndarray:
        """1 where the k-th suggestion is right."""
        self._check(k)
        return self.right[:, k - 1].astype(np.float64)

    def histogram(self, k: int) -> np.ndarray:
        """How many documents have 0, 1, ... k right suggestions among the first k."""
        return np.bincount(self._count(k), minlength=k + 1)

    def tag_recall(self, k: int) -> Ratio:
        """All right suggestions among all true tags (micro); `recall` has the mean over documents."""
        return Ratio(self._count(k), self.n_true)

    def padded(self, columns: int) -> "Hits":
        """Gives the hits as if the ranking went on with wrong suggestions: what k means beyond the number of tags."""
        extra = max(0, columns - self.right.shape[1])
        return Hits(np.pad(self.right, ((0, 0), (0, extra))), self.n_true)

    def _count(self, k: int) -> np.ndarray:
        self._check(k)
        counts = np.zeros(len(self.right), np.int64)
        for place in range(k):  # by column: several times as fast as a sum over rows of few columns
            counts += self.right[:, place]
        return counts

    def _check(self, k: int) -> None:
        if not 1 <= k <= self.right.shape[1]:
            raise ValueError(f"k is {k}, expected 1 to {self.right.shape[1]}, the columns of the ranking")


def mark_hits(Y: Any, top: np.ndarray) -> Hits:
    """Compares a ranking, label ids (n, columns) best first, with the truth Y (n × L, a label present iff > 0)."""
    top = np.asarray(top)
    if top.ndim != 2 or top.dtype.kind not in "iu":
        raise ValueError(f"a ranking is a table of label ids, got {top.ndim} dimensions of {top.dtype}")
    if np.shape(Y)[0] != len(top):
        raise ValueError(f"the ranking has {len(top)} rows, the truth {np.shape(Y)[0]}")
    truth = present_labels(Y, len(top))
    top = np.ascontiguousarray(top, np.int64)
    right = np.zeros(top.shape, np.bool_)
    fault = kernels.mark_hits(freeze(truth.indptr), freeze(truth.indices), freeze(top), truth.shape[1], right)
    if fault >= 0:
        row, place = divmod(int(fault), top.shape[1])
        raise ValueError(
            f"row {row} of the ranking holds label {top[row, place]} in column {place}: "
            f"expected ids from 0 to {truth.shape[1] - 1}, each once"
        )
    return Hits(right, np.diff(truth.indptr).astype(np.int64))
