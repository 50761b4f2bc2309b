"""How long one document takes, from its row of words to its best tags, on one core."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from tagcore.features.rows import Rows
from tagcore.metrics.intervals import Estimate, bootstrap_interval

_WARM_UP = 20  # documents that are asked for first: the first ones load tables


@dataclass(frozen=True, eq=False)
class TaggingTimes:
    """Microseconds of processor time of single documents: what else the machine does meanwhile is not counted."""

    microseconds: np.ndarray

    def median(self) -> Estimate:
        """The time that half of the documents stay below."""
        return self._quantile(0.5)

    def slowest(self) -> Estimate:
        """The time that 99 in 100 documents stay below."""
        return self._quantile(0.99)

    def mean(self) -> Estimate:
        return bootstrap_interval(self.microseconds)

    def _quantile(self, share: float) -> Estimate:
        """A quantile, between the two documents that its rank lies between with a probability of 95 %."""
        ordered = np.sort(self.microseconds)
        low, high = np.clip(binom.ppf([0.025, 0.975], ordered.size, share), 0, ordered.size - 1).astype(int)
        return Estimate(float(np.quantile(ordered, share)), float(ordered[low]), float(ordered[high]))


def time_single_documents(model: Any, rows: Rows, k: int, documents: int) -> TaggingTimes:
    """Asks for the k best tags of the first documents, one by one; fewer where there are fewer."""
    X, _ = rows.load(slice(0, min(documents, rows.n_rows)))
    questions = [X[i] for i in range(X.shape[0])]
    for question in questions[:_WARM_UP]:
        model.top_k(question, k)
    taken = np.empty(len(questions))
    for i, question in enumerate(questions):
        start = time.thread_time_ns()
        model.top_k(question, k)
        taken[i] = (time.thread_time_ns() - start) / 1000
    return TaggingTimes(taken)
