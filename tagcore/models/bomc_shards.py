"""BOMC in parts: by classes, which share nothing but the hub, or by rows, whose learners meet often as a committee.

By classes every shard reads all rows in one order and keeps its columns. Independent classes are exact. Coupled ones
learn a block of rows with the hub as it was, then their evidence on it is added up: that of other shards arrives a
block late, which hardly matters once the hub is sure, so the first rows are learnt by all shards together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from tagcore.base import Progress
from tagcore.models.bomc_stream import INDEPENDENT, Plan, learn
from tagcore.shards import Arrays, Executor, Shard, Shards, row_shards
from tagcore.training import Measures, train

BY_CLASS = ("mean", "variance", "positives", "exposures")
BIASES = ("bias_mean", "bias_variance")
_SHARD_TAGS = 64  # of independent classes
_ROUNDS = 10  # of progress through them
_MERGE_CLASSES, _MERGE_ROWS = 2000, 100


@dataclass(frozen=True)
class Documents:
    """Rows of unit length, in the weights' type; all labels, flat; the margin of each class."""

    X: sp.csr_matrix
    labels: sp.csr_matrix
    margins: np.ndarray

    def part(self, rows: slice) -> "Documents":
        return Documents(self.X[rows], self.labels[rows], self.margins)


def stream_order(n: int, seed: int | None) -> np.ndarray:
    """The order in which n rows are learnt: drawn, or as they are."""
    return np.arange(n) if seed is None else check_random_state(seed).permutation(n)


Gaussian = tuple[Any, Any]  # mean and variance


def merged_hub(before: Gaussian, gained: tuple[Any, Any]) -> Gaussian:
    """(mean, variance) of the hub when shards gained (precision, precision · mean) on the same one."""
    precision, weighted = 1.0 / before[1] + gained[0], before[0] / before[1] + gained[1]
    return weighted / precision, 1.0 / precision


def gained_evidence(before: Gaussian, after: Gaussian) -> tuple[Any, Any]:
    """What was learnt between two Gaussians, in natural parameters: precision and precision · mean."""
    return 1.0 / after[1] - 1.0 / before[1], after[0] / after[1] - before[0] / before[1]


class ByClasses:
    """The learner over shards of classes. `start` is the state before the first row, by class; `order` that of rows."""

    def __init__(self, plan: Plan, start: Arrays, order: np.ndarray, *, merge_every: int, warm_up: int) -> None:
        self.plan = plan
        self.start = start
        self.order = order
        self.warm_up = 0 if plan.variant == INDEPENDENT else min(warm_up, order.size)
        self.merge_every = merge_every

    @property
    def rounds(self) -> int:
        return max(1, -(-(self.order.size - self.warm_up) // self.merge_every))

    def init(self, shards: Shards) -> Arrays:
        """Every shard learns the first rows for all classes and keeps its own."""
        shards.update(begin, plan=self.plan, order=self.order[: self.warm_up], **self.start)
        if self.plan.variant == INDEPENDENT:
            return {"hub": np.zeros(2)}
        return {"hub": shards.collect(hub_of)[0]}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        first = self.warm_up + number * self.merge_every
        order = self.order[first : first + self.merge_every]
        gained = shards.update(advance, plan=self.plan, order=order, hub=arrays["hub"])
        if self.plan.variant == INDEPENDENT:
            return arrays, {"rows": float(first + order.size)}
        mean, variance = merged_hub((arrays["hub"][0], arrays["hub"][1]), (gained["precision"], gained["weighted"]))
        return {"hub": np.array([mean, variance])}, {"rows": float(first + order.size), "bias": float(mean)}

    def done(self, history: list[Measures]) -> bool:
        return len(history) >= self.rounds


def begin(
    shard: Shard[tuple[Documents, slice]], state: Arrays, *, plan: Plan, order: np.ndarray, **start: Any
) -> tuple[Arrays, Arrays]:
    documents, cut = shard.data
    if order.size:
        whole = {k: v.copy() for k, v in start.items()}
        learn_flat(whole, documents, order, plan)
        start = whole
    kept = BY_CLASS + BIASES if plan.variant == INDEPENDENT else BY_CLASS
    return {k: np.array(v[..., cut] if k in kept else v, order="C") for k, v in start.items()}, {}


def advance(
    shard: Shard[tuple[Documents, slice]], state: Arrays, *, plan: Plan, order: np.ndarray, hub: np.ndarray
) -> tuple[Arrays, Arrays]:
    documents, cut = shard.data
    state = {k: v.copy() for k, v in state.items()}
    if plan.variant != INDEPENDENT:
        state["bias_mean"][0], state["bias_variance"][0] = hub
    own = Documents(documents.X, documents.labels[:, cut], documents.margins[cut])
    learn_flat(state, own, order, plan)
    precision = weighted = 0.0
    if plan.variant != INDEPENDENT:
        mean, variance = hub_of(shard, state)
        precision, weighted = gained_evidence((hub[0], hub[1]), (mean, variance))
    return state, {"precision": np.array(precision), "weighted": np.array(weighted)}


def hub_of(shard: Shard, state: Arrays) -> np.ndarray:
    return np.array([state["bias_mean"][0], state["bias_variance"][0]])


def own_state(shard: Shard, state: Arrays) -> Arrays:
    return state


class Committee:
    """The learner over shards of rows: all begin a round from the common state, and their evidence is added up.

    Each linearises without knowing of the others: let a round be short (about a hundred rows a shard).
    """

    def __init__(self, plan: Plan, start: Arrays, longest: int, merge_every: int, seed: int | None) -> None:
        self.plan = plan
        self.start = start
        self.rounds = max(1, -(-longest // merge_every))
        self.merge_every = merge_every
        self.seed = seed

    def init(self, shards: Shards) -> Arrays:
        return {k: self.start[k] for k in ("mean", "variance", *BIASES)}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        rows = slice(number * self.merge_every, (number + 1) * self.merge_every)
        given = {"start": rows.start, "stop": rows.stop, "seed": self.seed}
        gained = shards.sum(contribute, plan=self.plan, **given, **arrays)
        merged: Arrays = {}
        for mean, variance in (("mean", "variance"), BIASES):
            dtype = arrays[mean].dtype
            precision = 1.0 / arrays[variance].astype(np.float64) + gained[variance]
            weighted = arrays[mean].astype(np.float64) / arrays[variance] + gained[mean]
            merged |= {mean: (weighted / precision).astype(dtype), variance: (1.0 / precision).astype(dtype)}
        return merged, {"rows": float(gained["rows"])}

    def done(self, history: list[Measures]) -> bool:
        return len(history) >= self.rounds


def contribute(
    shard: Shard[Documents], _: Arrays, *, plan: Plan, start: int, stop: int, seed: int | None, **common: Any
) -> Arrays:
    documents = shard.data
    order = stream_order(documents.X.shape[0], None if seed is None else seed + shard.number)[start:stop]
    state = {k: v.copy() for k, v in common.items()}
    classes = state["mean"].shape[1]
    state |= {"positives": np.zeros(classes, np.int64), "exposures": np.zeros(classes, np.int64)}
    state |= {"last_seen": np.zeros(0, np.int64), "seen": np.zeros(1, np.int64)}
    learn_flat(state, documents, order, plan)
    gained: Arrays = {"rows": np.array(float(order.size))}
    for mean, variance in (("mean", "variance"), BIASES):
        before = common[mean].astype(np.float64), common[variance].astype(np.float64)
        after = state[mean].astype(np.float64), state[variance].astype(np.float64)
        gained[variance], gained[mean] = gained_evidence(before, after)
    return gained


def learn_flat(state: Arrays, documents: Documents, order: np.ndarray, plan: Plan) -> None:
    """Through the rows in that order, tags without a hierarchy."""
    classes = documents.labels.shape[1]
    flat = np.array([0, classes]), np.full(classes, -1)
    learn(state, documents.X, documents.labels.tocsr(), order, flat, plan, documents.margins.copy())


def learn_by_classes(
    state: Arrays,
    documents: Documents,
    order: np.ndarray,
    plan: Plan,
    cuts: tuple[int, int | None, int],
    executor: Executor,
    progress: Progress,
) -> None:
    """The state moves on in parts; `cuts` are the number of shards, rows between merges and of the warm-up."""
    n_shards, merge_every, warm_up = cuts
    exact = plan.variant == INDEPENDENT
    classes = documents.margins.size
    parts = row_shards(classes, -(-classes // _SHARD_TAGS) if exact else n_shards)
    every = max(1, -(-order.size // _ROUNDS)) if exact else merge_every or _MERGE_CLASSES
    learner = ByClasses(plan, state, order, merge_every=every, warm_up=warm_up)
    shards = Shards(parts, lambda part: (documents, part), executor)
    trained = train(learner, shards, max_rounds=learner.rounds, progress=progress)
    learnt = shards.collect(own_state)
    for part, own in zip(parts, learnt, strict=True):
        for name in BY_CLASS + BIASES if exact else BY_CLASS:
            state[name][..., part] = own[name]
    if not exact:
        state["bias_mean"][0], state["bias_variance"][0] = trained.arrays["hub"]
    state |= {name: learnt[0][name].copy() for name in ("last_seen", "seen")}


def learn_as_committee(
    state: Arrays,
    documents: Documents,
    plan: Plan,
    cuts: tuple[int, int | None, int | None],
    executor: Executor,
    progress: Progress,
) -> None:
    """The same by rows; `cuts` are the number of shards, rows between merges, and the seed of their orders or None."""
    if plan.running or plan.drift:
        raise ValueError('parallel="rows" has no order of all rows: take skew="counted" and drift=0')
    n_shards, merge_every, seed = cuts
    parts = row_shards(documents.X.shape[0], n_shards)
    shards = Shards(parts, documents.part, executor, firsts=[part.start for part in parts])
    longest = max(part.stop - part.start for part in parts)
    learner = Committee(plan, state, longest, merge_every or _MERGE_ROWS, seed)
    state |= train(learner, shards, max_rounds=learner.rounds, progress=progress).arrays
    state["seen"] = state["seen"] + documents.X.shape[0]
