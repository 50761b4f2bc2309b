"""BMLPL: Bayesian multi-label learning via positive labels (Rai, Hu, Henao and Carin, NIPS 2015)."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagcore.base import block_rows, restore_on_failure
from tagcore.features.rows import Rows
from tagcore.models.bmlpl.checks import LIMITS, check_state, check_together
from tagcore.models.bmlpl.learning import FittedState, learn, learn_batch, scaled
from tagcore.models.bmlpl.scores import Draws, scores, screened_top_k
from tagcore.scikit import check_random_state
from tagcore.shards import Executor, InProcess
from tagcore.tag_model import TagModel
from tagcore.training import FitContext


class BMLPL(TagModel):
    """Topics over tags, chosen by words: for thousands of tags of which a document has few.

    A document's tags come from K topics, each a distribution v_k over tags, with weights u_k ≥ 0 that are gamma
    distributed around a log-linear function of its words: P(tag l) = 1 - exp(-Σ_k u_k v_lk). A cell of y that is zero
    surely has latent counts of zero, so learning visits positives only. The topics say which tags go together;
    `tagcore.models.topics` shows and compares them.

    Take it where tags are many, related and incompletely assigned, and where the order of all tags matters (AUC);
    where only the first few matter, a one-vs-rest linear machine is often better. An iteration of EM costs
    K · (3 positives + (3 + 2 cg_steps) stored words) multiplications, a prediction K per tag. Memory: the stored words
    twice, and K numbers for each row (twice), word (five times) and tag (three times), 4 bytes each in float32.

    Inference: "em" (default) visits all rows each iteration; "online" learns from minibatches, as `partial_fit` does,
    and is rougher; "gibbs" samples, is slowest, and averages predictions over draws.

    Parameters
    ----------
    n_topics : K, a whole number up to the number of tags, or a share of it; None is the paper's 0.4, held between 32
        and 512.
    max_iter : most iterations of EM, or passes of online EM over the rows.
    tol : EM ends when the objective moved by a smaller share than this over five iterations.
    inference : "em", "online" or "gibbs".
    objective : "mean" maximises over weights u, "geo" integrates over them (slower; needed to learn r).
    solver : "cg" takes `cg_steps` conjugate-gradient steps for the regression, "exact" factorises a matrix of
        words × words for every topic (up to 2048 words).
    cg_steps : 1 to 5; more make an iteration dearer and better.
    eta : Dirichlet parameter of topics over tags; smaller makes topics of fewer tags.
    r : shape of the gamma distributions of weights; smaller makes documents of fewer topics.
    tau : precision of the regression weights: larger shrinks them. None means 0.2 × the mean squared length of rows.
    intercept_tau : the same for the constant.
    learn_tau, learn_r : estimate a precision for each word, a shape for each topic.
    normalise : bring rows to unit length first.
    fit_intercept : add a constant to the words; it carries how common topics are.
    missing : what cells outside `observed` (an argument of fit) mean: "zeros" takes them as negative, "mask" leaves
        them out, at a cost that grows with the cells observed.
    observed_rate : the share of true tags that y shows; probabilities are raised to what they would be for all.
    batch_rows, kappa, t0, inner : online EM takes minibatches of so many rows, the t-th with weight (t + t0)^-kappa,
        and looks for its counts in `inner` rounds.
    burn_in, n_draws, thin : Gibbs keeps each `thin`-th of thin · n_draws sweeps after the first burn_in.
    early_stopping : keep the iteration with the best mean AUC of documents on `validation_fraction` of the rows; end
        after `patience` iterations without a better one.
    screen : `top_k` with more tags than this evaluates that many candidates of a fast upper bound first, and
        a whole row only where they do not prove to hold the best.
    n_shards : parts of the rows (of 256 at least), worked on in parallel. Results depend on it in the last digits,
        never on threads.
    dtype : "float32" or "float64" of training.
    warm_start : `fit` goes on from what is known; tags and words may have been added at the end.
    max_weights : refuse to make larger matrices of words × topics or tags × topics.
    random_state : seed.

    Attributes
    ----------
    topics_ : (tags, K), columns sum to one.
    weights_ : (words, K), with a last row for the constant if there is one.
    shapes_ : (K,), r.
    tau_ : precision of every row of weights_.
    history_ : the objective before each iteration (Gibbs: the log-likelihood).

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]] * 20
    >>> Y = [[1, 0, 0], [1, 1, 1], [0, 0, 1]] * 20
    >>> model = BMLPL(n_topics=2).fit(X, Y)
    >>> model.top_k([[1.0, 0.0], [0.0, 1.0]], 1)[0].ravel().tolist()
    [0, 2]
    """

    _arrays = ("topic_draws_", "weight_draws_", "shape_draws_", "tau_", "label_counts_", "curvature_")
    _facts = ("history_", "n_iter_", "rows_seen_", "updates_")
    _rounds = ("max_iter",)
    _sweeps = ("burn_in", "n_draws")
    _limits = LIMITS
    _uses_observed = True

    topic_draws_: np.ndarray  # (draws, topics, tags)
    weight_draws_: np.ndarray  # (draws, words, topics)
    shape_draws_: np.ndarray  # (draws, topics)
    tau_: np.ndarray
    label_counts_: np.ndarray  # (tags, topics): how often a tag came from a topic
    curvature_: np.ndarray  # (words, topics): the diagonal of X' Ω X
    history_: list[float]
    n_iter_: int
    rows_seen_: int  # to which the two statistics are scaled
    updates_: int  # minibatches, of which a batch iteration counts as a pass

    def __init__(
        self,
        n_topics: int | float | None = None,
        max_iter: int = 100,
        tol: float = 1e-5,
        inference: str = "em",
        objective: str = "mean",
        solver: str = "cg",
        cg_steps: int = 2,
        eta: float = 0.01,
        r: float = 1.0,
        tau: float | None = None,
        intercept_tau: float = 0.01,
        learn_tau: bool = False,
        learn_r: bool = False,
        normalise: bool = True,
        fit_intercept: bool = True,
        missing: str = "zeros",
        observed_rate: float = 1.0,
        batch_rows: int = 256,
        kappa: float = 0.6,
        t0: float = 10.0,
        inner: int = 3,
        burn_in: int = 50,
        n_draws: int = 10,
        thin: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        screen: int = 128,
        n_shards: int = 8,
        dtype: str = "float32",
        warm_start: bool = False,
        max_weights: int = 2**30,
        random_state: int = 0,
    ) -> None:
        self.n_topics = n_topics
        self.max_iter = max_iter
        self.tol = tol
        self.inference = inference
        self.objective = objective
        self.solver = solver
        self.cg_steps = cg_steps
        self.eta = eta
        self.r = r
        self.tau = tau
        self.intercept_tau = intercept_tau
        self.learn_tau = learn_tau
        self.learn_r = learn_r
        self.normalise = normalise
        self.fit_intercept = fit_intercept
        self.missing = missing
        self.observed_rate = observed_rate
        self.batch_rows = batch_rows
        self.kappa = kappa
        self.t0 = t0
        self.inner = inner
        self.burn_in = burn_in
        self.n_draws = n_draws
        self.thin = thin
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.screen = screen
        self.n_shards = n_shards
        self.dtype = dtype
        self.warm_start = warm_start
        self.max_weights = max_weights
        self.random_state = random_state

    @property
    def topics_(self) -> np.ndarray:
        return self.topic_draws_.mean(axis=0).T

    @property
    def weights_(self) -> np.ndarray:
        return self.weight_draws_.mean(axis=0)

    @property
    def shapes_(self) -> np.ndarray:
        return self.shape_draws_.mean(axis=0)

    def partial_fit(self, X: Any, y: Any, *, executor: Executor | None = None) -> Self:
        """Takes one step of online EM with these rows as its minibatch; the first call fixes words, tags and topics.

        Of the regression's second moments only the diagonal is kept, whatever `solver` says.
        """
        self._check_params()
        previous = self._fitted() if hasattr(self, "tau_") else None
        with restore_on_failure(self):
            X, Y = self._checked_batch(X, y)
            self._keep(learn_batch(self, X, Y, previous, self._seed(), executor or InProcess()))
        return self

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Gives 1 - exp(-score)."""
        return -np.expm1(-scores)

    def _fit(self, rows: Rows, context: FitContext) -> None:
        previous = self._fitted() if self.warm_start and hasattr(self, "tau_") else None
        if previous and self.tau_.size != self.n_features_in_ + bool(self.fit_intercept):
            raise ValueError("warm_start: fit_intercept is not what it was when the model was fitted")
        self._keep(learn(self, rows, previous, self._seed(), context))

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        return scores(self._scaled(X), self._draws(), self.observed_rate)

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        if self.n_labels_ <= max(self.screen, k):
            return super()._top_k(X, k)
        tags, best = np.empty((X.shape[0], k), np.int64), np.empty((X.shape[0], k))
        step = block_rows(self.n_labels_)
        for first in range(0, X.shape[0], step):
            rows = slice(first, min(first + step, X.shape[0]))
            candidates = max(self.screen, k)
            tags[rows], best[rows], sure = screened_top_k(
                self._scaled(X[rows]), self._draws(), self.observed_rate, k, candidates
            )
            unsure = first + np.flatnonzero(~sure)
            if unsure.size:
                tags[unsure], best[unsure] = super()._top_k(X[unsure], k)
        return tags, best

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _scaled(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return scaled(self, X).astype(self.weight_draws_.dtype, copy=False)  # `dtype` may have been set since

    def _draws(self) -> Draws:
        return Draws(self.topic_draws_, self.weight_draws_, self.shape_draws_)

    def _fitted(self) -> FittedState:
        progress = self.rows_seen_, self.updates_, tuple(self.history_)
        return FittedState(self._draws(), self.tau_, self.label_counts_, self.curvature_, *progress)

    def _keep(self, learnt: FittedState) -> None:
        self.topic_draws_, self.weight_draws_, self.shape_draws_ = learnt.draws
        self.tau_, self.label_counts_, self.curvature_ = learnt.tau, learnt.counts, learnt.curvature
        self.rows_seen_, self.updates_, self.history_ = learnt.n_rows, learnt.updates, list(learnt.history)
        self.n_iter_ = len(learnt.history)

    def _check_params(self) -> None:
        super()._check_params()
        check_together(self)

    def _check_state(self) -> None:
        super()._check_state()
        check_state(self)
