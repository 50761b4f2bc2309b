"""A stream of documents through BOMC's kernel."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.base import Progress, silent
from tagcore.kernels.bomc import count_rows, learn_rows, skew_margin
from tagcore.kernels.truncated import make_table
from tagcore.shards import Arrays, freeze, row_shards

COUPLED, INDEPENDENT, MULTI_CLASS = range(3)
VARIANTS = {"coupled": COUPLED, "independent": INDEPENDENT, "multi-class": MULTI_CLASS}
_STEPS = 50  # of progress

Tree = tuple[np.ndarray, np.ndarray]  # starts of the groups of siblings; the group below each class, or -1


@dataclass(frozen=True)
class Plan:
    """What decides how a document is learnt, beside the state."""

    variant: int
    noise: float  # variance
    margin: float
    running: bool
    prior_var: float
    drift: float
    bias_drift: float
    bias_var: float
    tol: float
    max_sweeps: int
    damping: float
    flips: tuple[float, float]  # that an absent tag is wrong, that a present one is

    @property
    def model(self) -> tuple:
        """as `learn_rows` takes it."""
        biases = self.bias_drift, self.bias_var
        return self.variant, self.noise, self.margin, self.running, self.prior_var, self.drift, *biases

    @property
    def rule(self) -> tuple[float, float, float, tuple[float, float]]:
        return self.tol, float(self.max_sweeps), self.damping, self.flips


def margins_of(ratios: np.ndarray, margin: float) -> np.ndarray:
    """The margin of positives of classes with these ratios of positives to negatives."""
    return margin * np.log(np.e + 1.0 / ratios)


def counted_margins(state: Arrays, margin: float) -> np.ndarray:
    counts = zip(state["positives"], state["exposures"], strict=True)
    return np.array([skew_margin(float(p), float(n), margin) for p, n in counts])


def count(state: Arrays, labels: sp.csr_matrix, tree: Tree) -> None:
    """Adds these rows to positives and exposures."""
    tags, starts = freeze((labels.indices, labels.indptr))
    count_rows(tags, starts, freeze(tree), state["positives"], state["exposures"])


def learn(
    state: Arrays,
    X: sp.csr_matrix,
    labels: sp.csr_matrix,
    order: np.ndarray,
    tree: Tree,
    plan: Plan,
    margins: np.ndarray,
    progress: Progress = silent,
) -> None:
    """The state moves on through the rows in that order."""
    rows = freeze((X.data, X.indices, X.indptr))
    own = freeze((labels.indices, labels.indptr))
    table = freeze(make_table())
    now = tuple(state[k] for k in ("mean", "variance", "bias_mean", "bias_variance", "last_seen"))
    counts = tuple(state[k] for k in ("positives", "exposures", "seen"))
    for cut in row_shards(order.size, _STEPS):
        learn_rows(rows, own, order[cut], freeze(tree), plan.model, plan.rule, margins, table, now, counts)
        progress(cut.stop, order.size, {})
