"""Passive-aggressive machines: linear, online, one per tag."""

from typing import Any, Self

import numpy as np

from tagcore.base import restore_on_failure
from tagcore.baselines.linear.dense import _DenseLinear
from tagcore.baselines.linear.kernels.passive_aggressive import learn_rows
from tagcore.features.rows import Rows, load_all
from tagcore.numeric.logistic import expit
from tagcore.numeric.read_only import freeze, frozen_rows
from tagcore.numeric.row_orders import pass_orders
from tagcore.parameters import FLAG, POSITIVE, ROUNDS, SEED, SIZE, Choice, limits
from tagcore.shards import Arrays, row_shards
from tagcore.training import FitContext

_SHARD_TAGS = 128  # weights of a few thousand words × this stay in the cache
_INTERCEPT_DECAY = 0.01  # scikit-learn's for sparse rows: the constant, present in every row, moves less


class PassiveAggressive(_DenseLinear):
    """One-vs-rest passive-aggressive classifiers (Crammer et al., 2006), which learn from one document at a time.

    A machine that gives a document a margin of at least 1 stays as it is; any other moves along the document just so
    far that the margin becomes 1, held back by C. It is scikit-learn's `SGDClassifier` with `learning_rate` "pa1" or
    "pa2", weight for weight, for all tags in one pass: a row is read once, and tags are spread over the executor.

    Use `partial_fit` for a stream: it costs the words of the new documents times the tags, whatever came before. With
    one pass only, a larger C (0.3) learns better. The weights are a dense float32 matrix, 4 bytes × words × tags (twice
    that while `fit` ends). `predict_proba` is the logistic function of the score, which orders tags but is not
    calibrated.

    The defaults had the best precision at 1 in 5-fold cross-validation on the training documents of bibtex, tf-idf
    (C 0.02 to 1, 1 to 20 passes, both losses).

    Parameters
    ----------
    C : how far a document may move a machine; smaller trusts single documents less and needs more passes.
    loss : "hinge" cuts steps at C (PA-I), "squared_hinge" shortens all of them (PA-II).
    max_iter : passes of `fit` over the documents.
    shuffle : each pass in a new order drawn from random_state, or always in the order given.
    normalise : bring rows to unit length first.
    fit_intercept : learn a constant beside the words.
    max_weights : refuse to make a larger matrix of weights.
    random_state : seed of the orders.

    Examples
    --------
    >>> model = PassiveAggressive(C=10.0)
    >>> for x, y in [([1.0, 0.0], [1, 0]), ([0.0, 1.0], [0, 1])]:
    ...     model = model.partial_fit([x], [y])
    >>> model.top_k([[2.0, 1.0]], 1)[0]
    array([[0]])
    """

    _rounds = ("max_iter",)
    _limits = limits(
        C=POSITIVE,
        loss=Choice("squared_hinge", "hinge"),
        max_iter=ROUNDS,
        shuffle=FLAG,
        normalise=FLAG,
        fit_intercept=FLAG,
        max_weights=SIZE,
        random_state=SEED,
    )

    def __init__(
        self,
        C: float = 0.03,
        loss: str = "squared_hinge",
        max_iter: int = 10,
        shuffle: bool = True,
        normalise: bool = True,
        fit_intercept: bool = True,
        max_weights: int = 2**30,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.normalise = normalise
        self.fit_intercept = fit_intercept
        self.max_weights = max_weights
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Goes on from what is known, through these documents once, in their order; the first call fixes the tags."""
        self._check_params()
        settings = self._settings()
        with restore_on_failure(self):
            X, Y = self._checked_batch(X, y)
            X = self._scaled(X)
            if not hasattr(self, "coef_"):
                self._require_room(X.shape[1], Y.shape[1])
                self.coef_ = np.zeros((X.shape[1], Y.shape[1]), np.float32)
                self.intercept_ = np.zeros(Y.shape[1], np.float32)
        self.coef_, self.intercept_ = (np.require(a, requirements="W") for a in (self.coef_, self.intercept_))
        order, *tags = freeze((np.arange(X.shape[0]), Y.indices, Y.indptr))
        learn_rows(*frozen_rows(X), order, *tags, 0, *settings, self.coef_, self.intercept_)
        return self

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Gives the logistic function of the scores."""
        return expit(scores)

    def _settings(self) -> tuple[float, bool, float]:
        """Gives (cost, whether the loss is squared, share of a step that the intercept moves)."""
        return float(self.C), self.loss == "squared_hinge", _INTERCEPT_DECAY * bool(self.fit_intercept)

    def _fit(self, rows: Rows, context: FitContext) -> None:
        settings = self._settings()
        self._require_room(rows.n_features, rows.n_labels)
        X, Y = load_all(rows)
        X = self._scaled(X)
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "width": np.array(X.shape[1])}
        orders = pass_orders(X.shape[0], self.max_iter, self.shuffle, self.random_state)  # the same for all tags
        arrays |= {"tag_ids": Y.indices, "tag_starts": Y.indptr, "orders": orders}
        shared = context.executor.share(arrays)
        cuts = row_shards(Y.shape[1], -(-Y.shape[1] // _SHARD_TAGS))
        calls = [context.executor.call(learn_tags, settings, cut.start, cut.stop, shared) for cut in cuts]
        coef, intercept = np.empty((X.shape[1], Y.shape[1]), np.float32), np.empty(Y.shape[1], np.float32)
        for done, cut in enumerate(cuts, start=1):
            (learnt,) = context.executor.get([calls.pop(0)])
            coef[:, cut], intercept[cut] = learnt["weights"], learnt["intercept"]
            context.progress(done, len(cuts), {})
        self.coef_, self.intercept_ = coef, intercept


def learn_tags(settings: tuple[float, bool, float], first: int, last: int, rows: Arrays) -> Arrays:
    """Makes all passes for the tags first to last - 1."""
    weights = np.zeros((int(rows["width"]), last - first), np.float32)
    intercept = np.zeros(last - first, np.float32)
    csr = rows["data"], rows["indices"], rows["indptr"]
    for order in rows["orders"]:
        learn_rows(*csr, order, rows["tag_ids"], rows["tag_starts"], first, *settings, weights, intercept)
    return freeze({"weights": weights, "intercept": intercept})
