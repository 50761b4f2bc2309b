"""BOMC in shards of classes, which share nothing but the hub.

Every shard reads all rows in one order and keeps its columns. Independent classes are exact. Coupled ones
learn a block of rows with the hub as it was, then their evidence on it is added up: that of other shards arrives a
block late, which hardly matters once the hub is sure, so the first rows are learnt by all shards together.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import XY, InMemory, Rows, load_part_once
from tagcore.models.bomc.kernel import INDEPENDENT
from tagcore.models.bomc.stream import StreamSettings, learn_stream, stream_order
from tagcore.numeric.normalise import normalise_rows
from tagcore.shards import Arrays, Shard, Shards, row_shards
from tagcore.training import FitContext, Measures, train

BY_CLASS = ("mean", "variance", "positives", "exposures")
BIASES = ("bias_mean", "bias_variance")
_SHARD_TAGS = 64  # that share a hub; fewer would read all rows for little
_SHARD_TAGS_APART = 192  # that share nothing: over more classes loops run faster, but fewer shards busy fewer cores
_FEWEST_APART = 2
_ROUNDS = 10  # of progress through independent classes, at most
_ROWS_A_WORD = 0.5  # of a round at least: it copies the state, which is small beside the learning of so many
_MERGE_ROWS = 2000
_MERGE_SHARE = 4  # the more rows the hub has seen, the less it minds a block: of up to a quarter of them


@dataclass(frozen=True)
class Documents:
    """Rows in the weights' type and their labels, flat."""

    X: sp.csr_matrix
    labels: sp.csr_matrix


@dataclass(frozen=True)
class ClassRows:
    """Data of a shard of classes: all rows with their labels of these classes, and the first rows with all labels."""

    own: Documents
    warm: Documents
    classes: slice
    whole: Documents  # held, so that shards of one process share their rows


@dataclass(frozen=True)
class DocumentPreparation:
    """How rows are scaled and typed wherever they are read, and which of them are learnt by all shards first."""

    dtype: str
    normalise: bool
    seed: int | None
    warm_up: int = 0

    def documents(self, XY: XY) -> Documents:
        X, Y = XY
        present = sp.csr_matrix((np.ones(Y.nnz, np.int8), Y.indices, Y.indptr), Y.shape)
        return Documents(sp.csr_matrix(normalise_rows(X, self.normalise), dtype=self.dtype), present)

    def class_rows(self, part: tuple[Any, slice]) -> ClassRows:
        row_part, cut = part
        documents = load_part_once(row_part, self.documents)
        warm = stream_order(documents.X.shape[0], self.seed)[: self.warm_up]
        own = Documents(documents.X, documents.labels[:, cut].tocsr())
        return ClassRows(own, Documents(documents.X[warm], documents.labels[warm]), cut, documents)


Gaussian = tuple[Any, Any]  # mean and variance


def merged_hub(before: Gaussian, gained: tuple[Any, Any]) -> Gaussian:
    """Gives (mean, variance) of the hub after shards gained (precision, precision · mean) on the same one."""
    precision, weighted = 1.0 / before[1] + gained[0], before[0] / before[1] + gained[1]
    return weighted / precision, 1.0 / precision


def gained_evidence(before: Gaussian, after: Gaussian) -> tuple[Any, Any]:
    """Gives the evidence between two Gaussians, in natural parameters: precision and precision · mean."""
    return 1.0 / after[1] - 1.0 / before[1], after[0] / after[1] - before[0] / before[1]


class ClassShardsLearner:
    """Learner over shards of classes. `start` is the state before the first row.

    `order` is that of the rows; `edges` are the places in it where rounds begin, and where the last one ends.
    Independent classes have no first rows in common: they take their part of the start as the first round begins.
    """

    def __init__(
        self, settings: StreamSettings, start: Arrays, margins: np.ndarray, order: np.ndarray, edges: list[int]
    ) -> None:
        self.settings = settings
        self.start = start
        self.margins = margins
        self.order = order
        self.edges = edges

    @property
    def rounds(self) -> int:
        return len(self.edges) - 1

    def init(self, shards: Shards) -> Arrays:
        """Lets every shard learn the first rows for all classes and keep its own classes; gives the hub."""
        if self.settings.variant == INDEPENDENT:
            return {"hub": np.zeros(2)}
        shards.update(begin_step, settings=self.settings, margins=self.margins, **self.start)
        return {"hub": shards.collect(hub_of_shard)[0]}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        first, last = self.edges[number : number + 2]
        shared = {"settings": self.settings, "margins": self.margins, "order": self.order[first:last]}
        if self.settings.variant == INDEPENDENT:
            shards.update(advance_alone_step, **shared, **({} if number else self.start))
            return arrays, {"rows": float(last)}
        gained = shards.update(advance_step, hub=arrays["hub"], **shared)
        mean, variance = merged_hub((arrays["hub"][0], arrays["hub"][1]), (gained["precision"], gained["weighted"]))
        return {"hub": np.array([mean, variance])}, {"rows": float(last), "bias": float(mean)}

    def done(self, history: list[Measures]) -> bool:
        return len(history) >= self.rounds


def merge_edges(first: int, n: int, every: int | None) -> list[int]:
    """Lists where rounds begin, and the end: `every` so many rows from `first` on, or further and further apart."""
    edges = [first]
    while edges[-1] < n or len(edges) < 2:
        edges.append(min(n, edges[-1] + (every or max(_MERGE_ROWS, edges[-1] // _MERGE_SHARE))))
    return edges


def begin_step(
    shard: Shard[ClassRows], state: Arrays, *, settings: StreamSettings, margins: np.ndarray, **start: Any
) -> tuple[Arrays, Arrays]:
    """Step: the first rows learnt for all classes, of which the shard keeps its own."""
    warm = shard.data.warm
    if warm.X.shape[0]:
        start = {k: v.copy() for k, v in start.items()}
        learn_flat(start, warm, np.arange(warm.X.shape[0]), settings, margins)
    return _own_part(start, BY_CLASS, shard.data.classes), {}


def advance_step(
    shard: Shard[ClassRows],
    state: Arrays,
    *,
    settings: StreamSettings,
    margins: np.ndarray,
    order: np.ndarray,
    hub: np.ndarray,
) -> tuple[Arrays, Arrays]:
    """Step: a block of rows learnt with the hub as it was; the sum is the evidence on the hub."""
    state = {k: v.copy() for k, v in state.items()}
    state["bias_mean"][0], state["bias_variance"][0] = hub
    learn_flat(state, shard.data.own, order, settings, margins[shard.data.classes])
    mean, variance = hub_of_shard(shard, state)
    precision, weighted = gained_evidence((hub[0], hub[1]), (mean, variance))
    return state, {"precision": np.array(precision), "weighted": np.array(weighted)}


def advance_alone_step(
    shard: Shard[ClassRows],
    state: Arrays,
    *,
    settings: StreamSettings,
    margins: np.ndarray,
    order: np.ndarray,
    **start: Any,
) -> tuple[Arrays, Arrays]:
    """Step: a block of rows learnt by classes that share nothing; the first goes on from their part of the start."""
    classes = shard.data.classes
    state = _own_part(start, BY_CLASS + BIASES, classes) if start else {k: v.copy() for k, v in state.items()}
    learn_flat(state, shard.data.own, order, settings, margins[classes])
    return state, {}


def _own_part(start: Arrays, by_class: tuple[str, ...], classes: slice) -> Arrays:
    """Gives a copy of the state, of what stands by class that of these classes."""
    return {k: np.array(v[..., classes] if k in by_class else v, order="C") for k, v in start.items()}


def hub_of_shard(shard: Shard, state: Arrays) -> np.ndarray:
    """Step: mean and variance of the hub as this shard knows it."""
    return np.array([state["bias_mean"][0], state["bias_variance"][0]])


def state_of_shard(shard: Shard, state: Arrays) -> Arrays:
    return state


def learn_flat(
    state: Arrays, documents: Documents, order: np.ndarray, settings: StreamSettings, margins: np.ndarray
) -> None:
    """Moves the state on through the rows in that order, for tags without a hierarchy."""
    classes = documents.labels.shape[1]
    flat = np.array([0, classes]), np.full(classes, -1)
    learn_stream(state, documents.X, documents.labels, order, flat, settings, margins.copy())


def learn_by_classes(
    state: Arrays,
    rows: Rows,
    preparation: DocumentPreparation,
    settings: StreamSettings,
    margins: np.ndarray,
    context: FitContext,
    *,
    n_shards: int | None,
    merge_every: int | None,
) -> None:
    """Moves the state on through all rows, spread over shards of classes."""
    if isinstance(rows, InMemory):  # made ready once, for all shards of this process
        rows, preparation = (
            InMemory(preparation.documents((rows.X, rows.Y)).X, rows.Y),
            replace(preparation, normalise=False),
        )
    exact = settings.variant == INDEPENDENT
    count = _shards_apart(margins.size) if exact else n_shards or -(-margins.size // _SHARD_TAGS)
    cuts = row_shards(margins.size, count)
    preparation = replace(preparation, warm_up=0 if exact else min(preparation.warm_up, rows.n_rows))
    order = stream_order(rows.n_rows, preparation.seed)
    every = _rows_a_round(rows) if exact else merge_every
    learner = ClassShardsLearner(settings, state, margins, order, merge_edges(preparation.warm_up, rows.n_rows, every))
    everything = rows.part(slice(0, rows.n_rows))
    shards = Shards([(everything, cut) for cut in cuts], preparation.class_rows, context.executor)
    trained = train(
        learner, shards, max_rounds=learner.rounds, progress=context.progress, checkpoints=context.checkpoints
    )
    learnt = shards.collect(state_of_shard)
    for name in BY_CLASS + BIASES if exact else BY_CLASS:
        state[name] = np.concatenate([shard_state[name] for shard_state in learnt], axis=-1)
    if not exact:
        state["bias_mean"][0], state["bias_variance"][0] = trained.arrays["hub"]
    state |= {name: learnt[0][name].copy() for name in ("last_seen", "seen")}


def _shards_apart(classes: int) -> int:
    """How many shards classes are cut into that share nothing, however many there are to learn them."""
    return max(_FEWEST_APART, -(-classes // _SHARD_TAGS_APART))


def _rows_a_round(rows: Rows) -> int:
    """How many rows classes that share nothing learn between two words of progress: of all rounds about as many."""
    least = max(1, _ROWS_A_WORD * rows.n_features)
    rounds = max(1, min(_ROUNDS, int(rows.n_rows / least)))
    return max(1, -(-rows.n_rows // rounds))
