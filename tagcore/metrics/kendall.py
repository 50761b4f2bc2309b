"""Whether suggestions come in the order in which users gave the tags: Kendall's τ-b, one value per document.

0 where it is undefined: fewer than two tags, or all with the same count, so also where no user gave any tag.
"""

from typing import Any, NamedTuple

import numpy as np

from tagcore.label_matrix import label_matrix
from tagcore.metrics.kernels import kendall as kernels
from tagcore.metrics.ranking import mark_hits
from tagcore.numeric.read_only import freeze


class SuggestedOrder(NamedTuple):
    """A ranking, label ids (n, columns) best first, and the user counts of labels (n × L) to compare its order with.

    A k beyond the columns of the ranking is as far as they go.
    """

    counts: Any
    top: np.ndarray

    def kendall(self, k: int) -> np.ndarray:
        """Kendall's τ-b of the first k."""
        return kendall_at(self.counts, self.top, min(k, self.top.shape[1]))

    def kendall_union(self, k: int) -> np.ndarray:
        """Kendall's τ-b of the first k and all tags of users."""
        return kendall_union_at(self.counts, self.top, min(k, self.top.shape[1]))


def kendall_at(Y: Any, top: np.ndarray, k: int) -> np.ndarray:
    """Compares the places of the first k suggestions with their user counts in Y, 0 for tags that no user gave."""
    return _kendall(Y, top, k, union=False)


def kendall_union_at(Y: Any, top: np.ndarray, k: int) -> np.ndarray:
    """Compares as `kendall_at`, over the first k and all tags of users; those not suggested are tied behind the k-th.

    With few tags per document it is negative by construction: every tag that was missed is out of order with every
    wrong suggestion.
    """
    return _kendall(Y, top, k, union=True)


def _kendall(Y: Any, top: np.ndarray, k: int, *, union: bool) -> np.ndarray:
    mark_hits(Y, top).exact(k)  # names a bad ranking or k
    truth = label_matrix(Y, len(top))
    first = freeze(np.ascontiguousarray(np.asarray(top)[:, :k], np.int64))
    tau = np.empty(len(first))
    counts = freeze(truth.indptr), freeze(truth.indices), freeze(truth.data)
    kernels.kendall(*counts, first, truth.shape[1], union, tau)
    return tau
