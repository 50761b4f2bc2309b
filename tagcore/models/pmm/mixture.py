"""EM of the two-way Poisson mixture. Labels are fixed, so classes are independent: shards hold whole classes, and no
word count leaves its shard."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import Part, Rows, load_part
from tagcore.kernels.random.splitmix import GOLDEN, mix
from tagcore.models.pmm.kernel import expect, log_rates, maximise
from tagcore.shards import Arrays, Executor, Shard, Shards
from tagcore.training import Measures

LENGTHS = ("exposure", "raw")
CLUSTER_IDS = np.int16  # what the word clusters of a class are kept as
MOST_WORD_CLUSTERS = int(np.iinfo(CLUSTER_IDS).max)
_REFRESH_SHARE = 0.05  # of the documents of a class that an empty component starts again from
_DROPPED, _FRESH = 0, 2  # lives of a component: it may start again once


@dataclass(frozen=True)
class MixtureSettings:
    """What EM needs beside its rows."""

    n_word_clusters: int = 30
    length: str = "exposure"
    mean_length: float = 1.0  # of all training documents
    a: float = 0.1  # the gamma prior of the rates: shape a + 1, rate b
    b: float = 1.0
    pseudo: float = 1.0  # documents that every component has on top of its own
    tol: float = 1e-5
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The documents of some classes, grouped by class; words are numbered by slots, the seen words of each class."""

    values: np.ndarray
    slots: np.ndarray
    starts: np.ndarray
    row_numbers: np.ndarray  # of the documents, among all rows
    slot_words: np.ndarray
    layout: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    n_words: int
    n_used: int  # words that the mixture looks at
    lengths: np.ndarray  # of every document, in all its words

    @property
    def n_documents(self) -> int:
        return self.starts.size - 1

    def component_counts(self, blocks: np.ndarray) -> sp.csr_matrix:
        """Gives S of the blocks of slots × components as a matrix of components × words, with all slots of a class."""
        _, components, slots, starts = self.layout
        counts, sizes = np.diff(components), np.diff(slots)
        parts = [blocks[starts[k] : starts[k + 1]].reshape(sizes[k], counts[k]).T.ravel() for k in range(counts.size)]
        words = [np.tile(self.slot_words[slots[k] : slots[k + 1]], counts[k]) for k in range(counts.size)]
        rows = np.concatenate(([0], np.cumsum(np.repeat(sizes, counts))))
        shape = (int(components[-1]), self.n_words)
        return sp.csr_matrix((np.concatenate(parts), np.concatenate(words), rows), shape=shape)


def share_components(sizes: np.ndarray, n_components: int) -> np.ndarray:
    """Shares components out among classes: one each, the others by size, at most one to eight documents."""
    if n_components < sizes.size:
        raise ValueError(f"n_components is {n_components}, expected at least one for each of {sizes.size} classes")
    extra = n_components - sizes.size
    quota = extra * sizes / max(sizes.sum(), 1)
    counts = 1 + np.floor(quota).astype(np.int64)
    order = np.lexsort((np.arange(sizes.size), -(quota - np.floor(quota))))
    counts[order[: int(extra - np.floor(quota).sum())]] += 1
    return np.minimum(counts, np.maximum(1, sizes // 8))


def class_shards(
    rows: Rows,
    labels: np.ndarray,
    components: np.ndarray,
    n_shards: int,
    executor: Executor,
    used: np.ndarray | None = None,
) -> Shards:
    """Cuts classes into runs of about equal numbers of documents, in their order; of words only those `used` count."""
    used = np.ones(rows.n_features, bool) if used is None else used
    sizes = np.bincount(labels[labels >= 0], minlength=components.size)
    ends = np.cumsum(sizes)
    shard_of_class = ((ends - sizes / 2) * n_shards // max(int(ends[-1]), 1)).astype(np.int64)
    groups = [group for g in range(n_shards) if (group := np.flatnonzero(shard_of_class == g)).size]
    parts, firsts = [], []
    for group in groups:
        numbers = np.flatnonzero((labels >= group[0]) & (labels <= group[-1]))
        selected = rows.select(numbers)
        part = selected.part(slice(0, selected.n_rows))
        parts.append((part, labels[numbers] - group[0], numbers, components[group], used))
        firsts.append(int(group[0]))
    return Shards(parts, _load_class_rows, executor, firsts)


def _load_class_rows(part: tuple[Part, np.ndarray, np.ndarray, np.ndarray, np.ndarray]) -> ClassRows:
    row_part, labels, numbers, components, used = part
    return group_by_class(load_part(row_part)[0], labels, numbers, components, used)


def group_by_class(
    X: sp.csr_matrix, labels: np.ndarray, numbers: np.ndarray, components: np.ndarray, used: np.ndarray
) -> ClassRows:
    """Orders rows by class and numbers the used words of each class."""
    order, n_words = np.argsort(labels, kind="stable"), used.size
    X = sp.csr_matrix(X[order], dtype=np.float64)
    lengths = np.asarray(X.sum(axis=1)).ravel()
    X = used_words(X, used)
    documents = np.searchsorted(labels[order], np.arange(components.size + 1))
    classes = np.repeat(labels[order], np.diff(X.indptr)).astype(np.int64)
    keys = classes * n_words + X.indices
    seen, slots = np.unique(keys, return_inverse=True)
    slot_starts = np.searchsorted(seen, np.arange(components.size + 1) * n_words)
    component_starts = np.concatenate(([0], np.cumsum(components))).astype(np.int64)
    blocks = np.concatenate(([0], np.cumsum(np.diff(slot_starts) * components))).astype(np.int64)
    layout = documents.astype(np.int64), component_starts, slot_starts.astype(np.int64), blocks
    return ClassRows(
        X.data,
        slots.astype(np.int64),
        X.indptr.astype(np.int64),
        numbers[order],
        seen % n_words,
        layout,
        n_words,
        int(used.sum()),
        lengths,
    )


def used_words(X: sp.csr_matrix, used: np.ndarray) -> sp.csr_matrix:
    """Gives the rows without the words that are not used, which keep their columns."""
    if used.all():
        return X
    X = X.copy()
    X.data[~used[X.indices]] = 0.0
    X.eliminate_zeros()
    return X


class MixtureLearner:
    """Learner of EM: every round moves all classes on; shards keep the state of their own.

    `first` is the component of its class that each document begins in; None draws it.
    """

    def __init__(self, settings: MixtureSettings, first: np.ndarray | None = None) -> None:
        self.settings, self.first = settings, first

    def init(self, shards: Shards) -> Arrays:
        shards.update(begin_step, settings=self.settings, first=self.first)
        return {"emptied": np.zeros(1)}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        sums = shards.update(em_step, settings=self.settings)
        measures = {"objective": float(sums["objective"]), "emptied": float(sums["emptied"])}
        return {"emptied": arrays["emptied"] + sums["emptied"]}, measures

    def done(self, history: list[Measures]) -> bool:
        if len(history) < 2 or history[-1]["emptied"] or history[-2]["emptied"]:  # then objectives are of two mixtures
            return False
        before, now = history[-2]["objective"], history[-1]["objective"]
        return abs(now - before) < self.settings.tol * abs(now)


def begin_step(
    shard: Shard[ClassRows], state: Arrays, settings: MixtureSettings, first: np.ndarray | None = None
) -> tuple[Arrays, Arrays]:
    """Step: documents go to their first components or by chance, words to clusters by how often the class has them."""
    rows = shard.data
    _, components, slots, _ = rows.layout
    n_classes, n_components = components.size - 1, int(components[-1])
    clusters = np.zeros(rows.slot_words.size, np.int64)
    totals = np.bincount(rows.slots, rows.values, rows.slot_words.size)
    for k in range(n_classes):
        own = slice(slots[k], slots[k + 1])
        clusters[own] = first_word_clusters(totals[own], settings.n_word_clusters)
    unseen = np.column_stack([rows.n_used - np.diff(slots), np.zeros(n_classes, np.int64)]).astype(np.int64)
    state = {
        "rates": np.ones((n_components, settings.n_word_clusters)),
        "shares": np.full(n_components, 1.0),
        "mass": np.ones(n_components),
        "clusters": clusters,
        "unseen": unseen,
        "lives": np.full(n_components, _FRESH, np.int64),
    }
    forced = random_components(rows, settings.seed) if first is None else first[rows.row_numbers]
    _em_round(rows, state, settings, forced)
    return state, {}


def first_word_clusters(totals: np.ndarray, n_clusters: int) -> np.ndarray:
    """Clusters 1 and up by total: one for each where they are few, else bins of equal width of its logarithm.

    Cluster 0 begins with the words that the class does not have.
    """
    if n_clusters == 1 or not totals.size:
        return np.zeros(totals.size, np.int64)
    different, which = np.unique(totals, return_inverse=True)
    if different.size <= n_clusters - 1:
        return which + 1
    logs = np.log(totals)
    low, high = logs.min(), logs.max()
    bins = ((logs - low) / (high - low) * (n_clusters - 1)).astype(np.int64)
    return 1 + np.minimum(bins, n_clusters - 2)


def random_components(rows: ClassRows, seed: int) -> np.ndarray:
    """Draws a component of its class for every document, by its number among all rows."""
    documents, components, _, _ = rows.layout
    counts = np.repeat(np.diff(components), np.diff(documents))
    drawn = mix.py_func(rows.row_numbers.astype(np.uint64) * GOLDEN + np.uint64(seed % 2**32))
    return (drawn % counts.astype(np.uint64)).astype(np.int64)


def em_step(shard: Shard[ClassRows], state: Arrays, settings: MixtureSettings) -> tuple[Arrays, Arrays]:
    """Step: one iteration; its objective is that of the state it began with."""
    state = {name: values.copy() for name, values in state.items()}
    objective, emptied = _em_round(shard.data, state, settings, None)
    return state, {"objective": np.array(objective), "emptied": np.array(float(emptied))}


def _em_round(
    rows: ClassRows, state: Arrays, settings: MixtureSettings, forced: np.ndarray | None
) -> tuple[float, int]:
    """Moves the state on, in place; gives the objective it had and how many components were found empty: these begin
    anew, or are dropped."""
    exposure = exposures(rows, settings)
    nobody = np.full(rows.n_documents, -1, np.int64)
    sums, log_likelihood = expected_sums(rows, state, exposure, nobody if forced is None else forced)
    alive = state["lives"] > _DROPPED
    objective = float(log_likelihood.sum())
    with np.errstate(divide="ignore"):
        objective += float((settings.a * np.log(state["rates"][alive]) - settings.b * state["rates"][alive]).sum())
        objective += settings.pseudo * float(np.log(state["shares"][alive]).sum())
    empty = np.flatnonzero(alive & (sums[0] < 1.0) & _has_siblings(rows)) if forced is None else np.empty(0, int)
    if empty.size:
        again = empty[state["lives"][empty] == _FRESH]
        state["lives"][empty] -= 1
        if again.size:
            sums, _ = expected_sums(rows, state, exposure, _worst_explained(rows, log_likelihood, again))
        dropped = state["lives"] == _DROPPED
        state["shares"] = np.where(dropped, 0.0, state["shares"])
    words, learnt = (state["clusters"], state["unseen"]), (state["rates"], state["shares"], state["mass"])
    maximise(rows.layout, *words, sums, (settings.a, settings.b), settings.pseudo, *learnt)
    return objective, empty.size


def exposures(rows: ClassRows, settings: MixtureSettings) -> np.ndarray:
    """Gives s of every document: its length as a share of the mean one, or 1."""
    return np.ones(rows.n_documents) if settings.length == "raw" else rows.lengths / settings.mean_length


def expected_sums(
    rows: ClassRows, state: Arrays, exposure: np.ndarray, forced: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Gives the sums R, N and S of an E-step, and how likely each document is."""
    n_components, cells = int(rows.layout[1][-1]), int(rows.layout[3][-1])
    table, log_likelihood = np.empty(cells), np.empty(rows.n_documents)
    log_rates(rows.layout, state["clusters"], state["rates"], table)
    sums = np.zeros(n_components), np.zeros(n_components), np.zeros(cells)
    with np.errstate(divide="ignore"):
        log_shares = np.log(state["shares"])
    data = rows.values, rows.slots, rows.starts
    expect(rows.layout, data, exposure, forced, log_shares, state["mass"], table, sums, log_likelihood)
    return sums, log_likelihood


def _has_siblings(rows: ClassRows) -> np.ndarray:
    counts = np.diff(rows.layout[1])
    return np.repeat(counts > 1, counts)


def _worst_explained(rows: ClassRows, log_likelihood: np.ndarray, again: np.ndarray) -> np.ndarray:
    """Gives each of these components the documents of its class that are explained worst, for their length."""
    documents, components, _, _ = rows.layout
    forced = np.full(rows.n_documents, -1, np.int64)
    fit = log_likelihood / np.maximum(rows.lengths, 1.0)
    for m in again:
        k = int(np.searchsorted(components, m, side="right")) - 1
        own = np.arange(documents[k], documents[k + 1])
        free = own[forced[own] < 0]
        number = int(np.ceil(_REFRESH_SHARE * own.size))
        forced[free[np.argsort(fit[free], kind="stable")[:number]]] = m - components[k]
    return forced


def learnt_classes(shard: Shard[ClassRows], state: Arrays) -> Arrays:
    """Step: what a shard learnt of its classes: rates, shares, and the cluster of every word in each class."""
    rows = shard.data
    _, _, slots, _ = rows.layout
    n_classes = slots.size - 1
    clusters = np.repeat(state["unseen"][:, 1][None], rows.n_words, axis=0)
    classes = np.repeat(np.arange(n_classes), np.diff(slots))
    clusters[rows.slot_words, classes] = state["clusters"]
    return {name: state[name] for name in ("rates", "shares", "mass", "lives")} | {"word_clusters": clusters}


def statistics(shard: Shard[ClassRows], state: Arrays, settings: MixtureSettings) -> dict[str, Any]:
    """Step: the sums of an E-step under what was learnt, and the clusters of words that a class has not."""
    rows = shard.data
    nobody = np.full(rows.n_documents, -1, np.int64)
    (weights, exposed, counts), _ = expected_sums(rows, state, exposures(rows, settings), nobody)
    found = {"weights": weights, "exposures": exposed, "unseen": state["unseen"][:, 1]}
    return found | {"counts": rows.component_counts(counts)}
