"""Precision and nDCG that allow for tags which annotators forgot: hits weighted by inverse propensity.

Jain, Prabhu, Varma: Extreme multi-label loss functions for recommendation, tagging, ranking and other missing label
applications, KDD 2016. Values are normalised by those of a perfect ranking, as in the tables of the Extreme
Classification repository; documents without a true tag weigh nothing.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tagcore.label_matrix import label_matrix
from tagcore.metrics.intervals import Ratio
from tagcore.metrics.kernels import hits as kernels
from tagcore.metrics.ranking import mark_hits
from tagcore.numeric.read_only import freeze


class PropensityCurve(NamedTuple):
    """How fast propensity rises with frequency: A and B of the paper's equation 2."""

    a: float
    b: float


DEFAULT_CURVE = PropensityCurve(0.55, 1.5)
PUBLISHED_CURVES = {
    "wikipedia": PropensityCurve(0.5, 0.4),
    "amazon": PropensityCurve(0.6, 2.6),
}  # sets of these names; all others the default


def propensities(train_counts: np.ndarray, n_documents: int, curve: PropensityCurve = DEFAULT_CURVE) -> np.ndarray:
    """Estimates the chance that a tag which fits was given, from how often it was among n training documents.

    With fewer than three documents the paper's C is negative; 0 is taken, and every propensity is 1.
    """
    counts = np.asarray(train_counts, np.float64)
    if n_documents < 1:
        raise ValueError(f"n_documents is {n_documents}, expected at least 1")
    if not curve.a >= 0 or not curve.b > 0:
        raise ValueError(f"the propensity curve is a = {curve.a}, b = {curve.b}, expected a ≥ 0 and b > 0")
    wrong = ~((counts >= 0) & (counts <= n_documents))
    if counts.ndim != 1 or wrong.any():
        at = f"tag {int(wrong.argmax())} has {counts[wrong][0]:g}" if counts.ndim == 1 else f"shape {counts.shape}"
        raise ValueError(f"train_counts: {at}, expected one count per tag, 0 to {n_documents} documents")
    c = max(0.0, np.log(n_documents) - 1) * (curve.b + 1) ** curve.a
    return 1 / (1 + c * (counts + curve.b) ** -curve.a)


@dataclass(frozen=True, eq=False)
class PropensityHits:
    """1 / propensity of every right suggestion, else 0, and the best that any ranking could hold, (n, columns) each."""

    gain: np.ndarray
    best: np.ndarray
    n_true: np.ndarray

    def precision(self, k: int) -> Ratio:
        """PSP@k; the factor 1 / k is the same above and below."""
        self._check(k)
        return Ratio(self.gain[:, :k].sum(axis=1), self.best[:, :k].sum(axis=1))

    def ndcg(self, k: int) -> Ratio:
        """PSnDCG@k: gains discounted by place, per document against as many unweighted hits as k places allow."""
        self._check(k)
        discount = 1.0 / np.log2(np.arange(2, k + 2))
        ideal = np.cumsum(discount)[np.clip(self.n_true, 1, k) - 1]
        return Ratio(self.gain[:, :k] @ discount / ideal, self.best[:, :k] @ discount / ideal)

    def padded(self, columns: int) -> "PropensityHits":
        """Gives the hits as if the ranking went on with suggestions that are wrong."""
        extra = ((0, 0), (0, max(0, columns - self.gain.shape[1])))
        return PropensityHits(np.pad(self.gain, extra), np.pad(self.best, extra), self.n_true)

    def _check(self, k: int) -> None:
        if not 1 <= k <= self.gain.shape[1]:
            raise ValueError(f"k is {k}, expected 1 to {self.gain.shape[1]}, the columns of the ranking")


def propensity_hits(Y: Any, top: np.ndarray, propensity: np.ndarray) -> PropensityHits:
    """Compares a ranking (n, columns), best first, with the truth Y (n × L), given the propensity of every tag."""
    hits = mark_hits(Y, top)
    truth = label_matrix(Y, len(top))
    propensity = np.asarray(propensity, np.float64)
    if propensity.shape != (truth.shape[1],) or not ((propensity > 0) & (propensity <= 1)).all():
        raise ValueError(f"propensity must be one number above 0, at most 1, for each of {truth.shape[1]} tags")
    gain, best = np.empty(hits.right.shape), np.empty(hits.right.shape)
    ranked = freeze(np.ascontiguousarray(top, np.int64)), freeze(hits.right)
    kernels.weigh_hits(freeze(truth.indptr), freeze(truth.indices), *ranked, freeze(1 / propensity), gain, best)
    return PropensityHits(gain, best, hits.n_true)
