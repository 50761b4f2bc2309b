"""Kernel support vector machines that learn from one document after the other."""

import itertools
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_csr
from tagcore.baselines.lasvm.kernel import learn_tag
from tagcore.baselines.margin import MarginModel
from tagcore.features.rows import Rows, load_all
from tagcore.kernels.sparse import add_sparse_product
from tagcore.numeric.logistic import expit
from tagcore.numeric.normalise import normalise_rows
from tagcore.numeric.read_only import freeze, frozen_rows
from tagcore.numeric.row_orders import pass_orders
from tagcore.parameters import FLAG, MOST_BYTES, POSITIVE, ROUNDS, SEED, Choice, Whole, limits
from tagcore.scikit import warn_of_convergence
from tagcore.shards import Arrays, row_shards
from tagcore.training import FitContext

_SHARD_TAGS = 64  # tags that share a cache of inner products
_SEEDS = 5  # rows with and rows without the tag that a machine starts from, as in the paper
_CERTAIN = 10.0  # the score of a tag that every training document has; minus it, of one that none has
_BLOCK_CELLS = 4_000_000  # kernel values that are formed together


class LaSVMSettings(NamedTuple):
    """Settings of every machine; gamma is 0 for a linear one."""

    cost: float
    gamma: float
    tau: float
    max_support: int
    cache_bytes: int


class LaSVM(MarginModel):
    """One-vs-rest LaSVM (Bordes, Ertekin, Weston and Bottou, 2005): the support vector machine, learnt online.

    Each document is processed once: where it makes a pair with a support vector that violates the conditions of
    optimality, both move; then the worst pair of the support vectors moves, and those that became idle leave. At the
    end the worst pairs move until none violates by more than `tau`. One pass comes near the batch machine, further
    passes reach it: `sklearn.svm.SVC` with the same C. No package keeps the algorithm; this is written from the paper.

    A machine at work holds the kernel among its support vectors; rows of inner products with all documents are shared
    by the tags of a shard, as many as fit `cache_bytes`. Shards of tags are spread over the executor. Linear machines
    are kept as their weights, words × tags; others as the support vectors of all tags together. `predict_proba` is the
    logistic function of the score, which orders tags but is not calibrated.

    Parameters
    ----------
    C : weight of the loss; larger fits the training documents more closely.
    kernel : "linear" or "rbf", exp(-gamma · ‖x - v‖²).
    gamma : of the rbf kernel.
    tau : violations up to this size are let be.
    max_iter : passes over the documents.
    shuffle : each pass in a new order drawn from random_state, or always in the order given.
    normalise : bring rows to unit length first.
    max_support : a machine with this many support vectors turns further documents away, with a warning; one at work
        takes up to 4 · max_support² bytes.
    cache_bytes : memory of each shard at work for rows of inner products, 4 bytes × documents each.
    random_state : seed of the orders.
    """

    _arrays = (
        "word_starts_",
        "vector_ids_",
        "vector_values_",
        "dual_starts_",
        "dual_tags_",
        "dual_values_",
        "intercept_",
    )
    _facts = ("n_support_",)
    _rounds = ("max_iter",)
    _limits = limits(
        C=POSITIVE,
        kernel=Choice("linear", "rbf"),
        gamma=POSITIVE,
        tau=POSITIVE,
        max_iter=ROUNDS,
        shuffle=FLAG,
        normalise=FLAG,
        max_support=Whole(2 * _SEEDS),
        cache_bytes=Whole(0, MOST_BYTES),
        random_state=SEED,
    )

    word_starts_: np.ndarray  # word w is in the vectors vector_ids_[word_starts_[w] : word_starts_[w + 1]]
    vector_ids_: np.ndarray
    vector_values_: np.ndarray
    dual_starts_: np.ndarray  # the coefficients vector by vector; of a linear machine 1, for its vector of weights
    dual_tags_: np.ndarray
    dual_values_: np.ndarray
    intercept_: np.ndarray
    n_support_: int  # support vectors of all machines, counted for each

    def __init__(
        self,
        C: float = 1.0,
        kernel: str = "linear",
        gamma: float = 1.0,
        tau: float = 1e-3,
        max_iter: int = 1,
        shuffle: bool = True,
        normalise: bool = True,
        max_support: int = 2**13,
        cache_bytes: int = 2**28,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.tau = tau
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.normalise = normalise
        self.max_support = max_support
        self.cache_bytes = cache_bytes
        self.random_state = random_state

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Gives the logistic function of the scores."""
        return expit(scores)

    def _settings(self) -> LaSVMSettings:
        gamma = float(self.gamma) if self.kernel == "rbf" else 0.0
        return LaSVMSettings(float(self.C), gamma, float(self.tau), int(self.max_support), int(self.cache_bytes))

    def _fit(self, rows: Rows, context: FitContext) -> None:
        settings = self._settings()
        X, Y = load_all(rows)
        X = self._scaled(X)
        carriers = np.bincount(Y.indices, minlength=Y.shape[1])
        learnable = np.flatnonzero((carriers > 0) & (carriers < Y.shape[0]))
        learnable = learnable[np.argsort(-carriers[learnable], kind="stable")]  # the longest first: shards end together
        learnt = self._learn(settings, X, sp.csr_matrix(Y.T)[learnable], context)
        self.intercept_ = np.where(carriers > 0, _CERTAIN, -_CERTAIN).astype(np.float32)
        self.intercept_[learnable] = learnt["intercepts"]
        self.n_support_ = int(learnt["support"].sum())
        tags = np.repeat(learnable, learnt["counts"])
        if settings.gamma == 0.0:
            vectors = sp.csr_matrix((learnt["values"], (learnt["ids"], tags)), shape=(X.shape[1], Y.shape[1]))
            duals = sp.identity(Y.shape[1], np.float32, format="csr")
        else:
            duals = sp.csr_matrix((learnt["values"], (learnt["ids"], tags)), shape=(X.shape[0], Y.shape[1]))
            used = np.flatnonzero(np.diff(duals.indptr))
            vectors, duals = sp.csr_matrix(X[used].T), duals[used]
        self.word_starts_, self.vector_ids_, self.vector_values_ = _parts(vectors)
        self.dual_starts_, self.dual_tags_, self.dual_values_ = _parts(duals)

    def _learn(self, settings: LaSVMSettings, X: sp.csr_matrix, carriers: sp.csr_matrix, context: FitContext) -> Arrays:
        """Learns the machines of all tags, one after the other; no result depends on how tags are cut into shards."""
        rows = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "width": np.array(X.shape[1])}
        orders = pass_orders(X.shape[0], self.max_iter, self.shuffle, self.random_state)  # the same for all tags
        shared = context.executor.share(rows | {"orders": orders})
        cuts = row_shards(carriers.shape[0], -(-carriers.shape[0] // _SHARD_TAGS) or 1)
        calls = []
        for cut in cuts:
            part = freeze({"rows": carriers[cut].indices, "starts": carriers[cut].indptr})
            calls.append(context.executor.call(learn_machines, settings, part, shared))
        solved = []
        for done, call in enumerate(calls, start=1):
            solved += context.executor.get([call])
            context.progress(done, len(calls), {})
        learnt = {key: np.concatenate([part[key] for part in solved]) for key in solved[0]}
        self._warn(settings, learnt)
        return learnt

    def _warn(self, settings: LaSVMSettings, learnt: Arrays) -> None:
        violated = int(np.count_nonzero(learnt["gaps"] > settings.tau))
        if violated:
            message = f"{violated} tags ended with violations above tau={self.tau!r}"
            warn_of_convergence(message, stacklevel=6)
        full = int(np.count_nonzero(learnt["turned_away"]))
        if full:
            message = f"{full} tags reached max_support={self.max_support!r} and turned documents away"
            warn_of_convergence(message, stacklevel=6)

    def _scaled(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return normalise_rows(X, self.normalise)

    def _check_state(self) -> None:
        super()._check_state()
        Whole(0, MOST_BYTES).check("n_support_", self.n_support_)
        vectors = self.dual_starts_.size - 1
        index = self.word_starts_, self.vector_ids_, self.vector_values_
        require_csr(*index, self.n_features_in_, vectors, "the support vectors")
        duals = self.dual_starts_, self.dual_tags_, self.dual_values_
        require_csr(*duals, vectors, self.n_labels_, "the dual coefficients")
        require_array(self.intercept_, (self.n_labels_,), np.float32, "intercept_")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        X = self._scaled(X)
        vectors = self.dual_starts_.size - 1
        duals = sp.csr_matrix((self.dual_values_, self.dual_tags_, self.dual_starts_), shape=(vectors, self.n_labels_))
        scores = np.tile(self.intercept_.astype(np.float64), (X.shape[0], 1))
        step = max(1, _BLOCK_CELLS // max(vectors, 1))
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            products = np.zeros((part.shape[0], vectors))
            index = self.vector_values_, self.vector_ids_, self.word_starts_
            add_sparse_product(*frozen_rows(part), *freeze(index), products)
            scores[start : start + step] += self._kernel_values(part, products) @ duals
        return scores

    def _kernel_values(self, X: sp.csr_matrix, products: np.ndarray) -> np.ndarray:
        if self.kernel == "linear":
            return products
        squares = np.bincount(self.vector_ids_, self.vector_values_.astype(np.float64) ** 2, products.shape[1])
        row_squares = np.asarray(X.multiply(X).sum(axis=1))
        return np.exp(-self.gamma * np.maximum(row_squares + squares - 2 * products, 0))


def learn_machines(settings: LaSVMSettings, tags: Arrays, rows: Arrays) -> Arrays:
    """Learns machines of the tags given by their documents: `ids` are words of linear ones, support rows of others.

    Beside the ids stand their values, how many each machine has, intercepts, numbers of support rows, the violations
    left and the documents turned away.
    """
    orders, n, width = rows["orders"], rows["indptr"].size - 1, int(rows["width"])
    X = sp.csr_matrix((rows["data"], rows["indices"], rows["indptr"]), shape=(n, width))
    csr = X.data, X.indices, X.indptr
    index = X.tocsc()
    postings = index.data.astype(np.float32), index.indices, index.indptr
    kernel = csr, postings, np.asarray(X.multiply(X).sum(axis=1)).ravel(), settings.gamma
    cache = _empty_cache(n, settings.cache_bytes)
    room = min(n, settings.max_support)
    gram, weights = np.empty((room, room), np.float32), np.zeros(width)
    ids, values, facts = [np.empty(0, np.int64)], [np.empty(0, np.float32)], []
    for start, stop in itertools.pairwise(tags["starts"]):
        signs = np.full(n, -1, np.int8)
        signs[tags["rows"][start:stop]] = 1
        first = orders[0]
        seeds = np.concatenate([first[signs[first] == sign][:_SEEDS] for sign in (1, -1)])
        machine = np.empty(room, np.int64), *np.empty((4, room)), gram, np.full(n, -1, np.int64)
        count, *ended = learn_tag(orders, seeds, signs, settings.cost, settings.tau, kernel, cache, machine, weights)
        support, alpha = machine[0][:count], machine[1][:count]
        used = alpha != 0
        ids_kept = np.flatnonzero(weights) if settings.gamma == 0.0 else support[used]
        ids.append(ids_kept)
        values.append((weights[ids_kept] if settings.gamma == 0.0 else alpha[used]).astype(np.float32))
        facts.append((ids_kept.size, np.count_nonzero(used), *ended))
    columns = np.array(facts, np.float64).reshape(-1, 5).T
    names = ("counts", "support", "intercepts", "gaps", "turned_away")
    facts_by_name = dict(zip(names, columns, strict=True)) | {"counts": columns[0].astype(np.int64)}
    return freeze({"ids": np.concatenate(ids), "values": np.concatenate(values), **facts_by_name})


def _empty_cache(n: int, size: int) -> tuple[np.ndarray, ...]:
    """(rows of inner products, slot of each row, row in each slot, whether asked for lately, hand of the clock)."""
    slots = min(n, max(1, size // (4 * n)))
    table, slot_of = np.empty((slots, n), np.float32), np.full(n, -1, np.int64)
    return table, slot_of, np.full(slots, -1, np.int64), np.zeros(slots, bool), np.zeros(1, np.int64)


def _parts(matrix: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)
