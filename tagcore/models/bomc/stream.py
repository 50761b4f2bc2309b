"""A stream of documents through BOMC's kernel, read block by block in an order that needs no more than a block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.models.bomc.kernel import COUPLED, INDEPENDENT, MULTI_CLASS, count_rows, learn_rows, skew_margin
from tagcore.models.bomc.truncated import make_table
from tagcore.numeric.read_only import freeze
from tagcore.scikit import check_random_state
from tagcore.shards import Arrays

VARIANTS = {"coupled": COUPLED, "independent": INDEPENDENT, "multi-class": MULTI_CLASS}
BLOCK = 32_768  # rows that are read, shuffled and learnt together
_STEP = 4096  # rows between two words of progress

Tree = tuple[np.ndarray, np.ndarray]  # starts of the groups of siblings; the group below each class, or -1


@dataclass(frozen=True)
class StreamSettings:
    """Settings by which a document is learnt, beside the state."""

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
    def plan(self) -> tuple:
        """The tuple `plan` of the kernel `learn_rows`."""
        biases = self.bias_drift, self.bias_var
        return self.variant, self.noise, self.margin, self.running, self.prior_var, self.drift, *biases

    @property
    def rule(self) -> tuple[float, float, float, tuple[float, float]]:
        """The tuple `rule` of the kernel `learn_rows`."""
        return self.tol, float(self.max_sweeps), self.damping, self.flips


def margins_from_ratios(ratios: np.ndarray, margin: float) -> np.ndarray:
    """Gives the margins of positives of classes with these ratios of positives to negatives."""
    return margin * np.log(np.e + 1.0 / ratios)


def margins_from_counts(state: Arrays, margin: float) -> np.ndarray:
    """Gives the margins of positives of classes with the positives and exposures of the state."""
    counts = zip(state["positives"], state["exposures"], strict=True)
    return np.array([skew_margin(float(p), float(n), margin) for p, n in counts])


def count_labels(state: Arrays, labels: sp.csr_matrix, tree: Tree) -> None:
    """Adds the labels of these rows to the positives and exposures of the state."""
    tags, starts = freeze((labels.indices, labels.indptr))
    count_rows(tags, starts, freeze(tree), state["positives"], state["exposures"])


def stream_blocks(n: int, seed: int | None) -> Iterator[tuple[slice, np.ndarray]]:
    """Yields (block of rows, order within it) of n rows: both drawn or, without a seed, as the rows are."""
    blocks = [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
    if seed is None:
        yield from ((block, np.arange(block.stop - block.start)) for block in blocks)
        return
    rng = check_random_state(seed)
    for number in rng.permutation(len(blocks)):
        yield blocks[number], rng.permutation(blocks[number].stop - blocks[number].start)


def stream_order(n: int, seed: int | None) -> np.ndarray:
    """Gives the order of `stream_blocks` as one order of all n rows."""
    return np.concatenate([block.start + order for block, order in stream_blocks(n, seed)] or [np.arange(0)])


def learn_stream(
    state: Arrays,
    X: sp.csr_matrix,
    labels: sp.csr_matrix,
    order: np.ndarray,
    tree: Tree,
    settings: StreamSettings,
    margins: np.ndarray,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Moves the state on through the rows in that order; `progress` hears how many are done."""
    rows = freeze((X.data, X.indices, X.indptr))
    tags = freeze((labels.indices, labels.indptr))
    table = freeze(make_table())
    posterior = tuple(state[k] for k in ("mean", "variance", "bias_mean", "bias_variance", "last_seen"))
    counts = tuple(state[k] for k in ("positives", "exposures", "seen"))
    for first in range(0, order.size, _STEP):
        part = freeze(order[first : first + _STEP])  # as shards get it: one compiled kernel for both
        learn_rows(rows, tags, part, freeze(tree), settings.plan, settings.rule, margins, table, posterior, counts)
        if progress:
            progress(first + part.size)
