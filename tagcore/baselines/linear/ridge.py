"""Ridge regression on all tags at once."""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from tagcore.baselines.linear.dense import _DenseLinear
from tagcore.baselines.linear.newton import NewtonSettings, solve_by_newton
from tagcore.baselines.linear.tag_blocks import rows_with_constant
from tagcore.features.rows import Rows, load_all
from tagcore.kernels.sparse import lower_gram
from tagcore.numeric.read_only import frozen_rows
from tagcore.parameters import FLAG, POSITIVE, ROUNDS, SIZE, Choice, limits
from tagcore.scikit import warn_of_convergence
from tagcore.shards import Arrays, Shard, Shards, row_shards
from tagcore.training import FitContext

Step = Callable[..., Arrays]

_SHARD_TAGS = 256
_INNER_TOL = 1e-3  # as far as float32 takes conjugate gradients before they start anew from the exact gradient
_CHOLESKY_WORDS = 6000  # up to here XᵀX fits (288 MB) and its factor takes seconds


class Ridge(_DenseLinear):
    """Least squares with an L2 penalty: a tag's score is the expectation of its 0/1 indicator, linear in the words.

    min over W, b of ‖Y - X·W - b‖² + alpha ‖W‖², b free: scikit-learn's `Ridge`, without a dense Y. All tags share
    XᵀX, so with few words one Cholesky factor solves any number of them; with many, conjugate gradients need only
    products with X. The weights are a dense float32 matrix, 4 bytes × words × tags; the factor takes 8 bytes × words².
    `predict_proba` is the score, cut to [0, 1].

    The default alpha had the best precision at 1 in 5-fold cross-validation on the training documents of bibtex, tf-idf
    (0.3 to 10).

    Parameters
    ----------
    alpha : weight of the penalty; larger shrinks the weights more.
    solver : "cholesky", "cg", or "auto", which takes "cholesky" up to 6000 words.
    normalise : bring rows to unit length first.
    fit_intercept : learn a constant beside the words.
    tol, max_iter : when "cg" ends: the gradient of a tag as a share of what it was, and how often the conjugate
        gradients start anew from the exact one.
    max_weights : refuse to make a larger matrix of weights.
    """

    _rounds = ("max_iter",)
    _limits = limits(
        alpha=POSITIVE,
        solver=Choice("auto", "cholesky", "cg"),
        normalise=FLAG,
        fit_intercept=FLAG,
        tol=POSITIVE,
        max_iter=ROUNDS,
        max_weights=SIZE,
    )

    _boundary = 0.5  # it learns 0 and 1

    def __init__(
        self,
        alpha: float = 1.5,
        solver: str = "auto",
        normalise: bool = True,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 100,
        max_weights: int = 2**30,
    ) -> None:
        self.alpha = alpha
        self.solver = solver
        self.normalise = normalise
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_weights = max_weights

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Cuts the scores to [0, 1]."""
        return np.clip(scores, 0.0, 1.0)

    def _fit(self, rows: Rows, context: FitContext) -> None:
        self._require_room(rows.n_features, rows.n_labels)
        X, Y = load_all(rows)
        X = self._scaled(X)
        exact = self.solver == "cholesky" or (self.solver == "auto" and X.shape[1] <= _CHOLESKY_WORDS)
        step, shared = self._factored(X) if exact else self._iterated(X)
        context.progress(1, 2, {})
        tags = sp.csr_matrix(Y.T)
        cuts = row_shards(Y.shape[1], -(-Y.shape[1] // _SHARD_TAGS))
        parts = [{"indices": tags[cut].indices, "indptr": tags[cut].indptr} for cut in cuts]
        solved = Shards(parts, dict, context.executor, [cut.start for cut in cuts]).collect(step, **shared)
        self.coef_ = np.ascontiguousarray(np.concatenate([part["weights"] for part in solved], axis=1))
        self.intercept_ = np.concatenate([part["intercepts"] for part in solved])
        unsolved = sum(int(np.count_nonzero(part["gaps"] > self.tol)) for part in solved)
        if unsolved:
            told = f"{unsolved} of {Y.shape[1]} tags did not converge within max_iter={self.max_iter} restarts"
            warn_of_convergence(told, stacklevel=4)
        context.progress(2, 2, {})

    def _factored(self, X: sp.csr_matrix) -> tuple[Step, Arrays]:
        n, words = X.shape
        columns = X.tocsc()
        gram = np.zeros((words, words))
        lower_gram(*frozen_rows(X), *frozen_rows(columns), gram)
        means = np.asarray(X.mean(axis=0), np.float64).ravel() * bool(self.fit_intercept)
        gram -= n * np.outer(means, means)
        gram[np.diag_indices(words)] += self.alpha
        factor, _ = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        rows = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        return partial(_solve_factored, intercept=bool(self.fit_intercept)), {**rows, "factor": factor, "means": means}

    def _iterated(self, X: sp.csr_matrix) -> tuple[Step, Arrays]:
        settings = NewtonSettings(
            tol=self.tol,
            max_iter=self.max_iter,
            prune=0.0,
            loss="squared",
            cost=1.0 / self.alpha,
            intercept=bool(self.fit_intercept),
            inner_tol=_INNER_TOL,
        )
        return partial(_solve_iterated, settings=settings), rows_with_constant(X, settings.intercept)


def _solve_factored(
    shard: Shard[Arrays],
    state: Arrays,
    *,
    intercept: bool,
    factor: np.ndarray,
    means: np.ndarray,
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
) -> Arrays:
    """Step: the weights W of the tags of one shard from the Cholesky factor.

    (XᵀX - n·m·mᵀ + alpha)·W = Xᵀ·Y - n·m·ȳ, m the means of the words, ȳ of the tags.
    """
    n = indptr.size - 1
    X = sp.csr_matrix((data, indices, indptr), shape=(n, means.size))
    starts = shard.data["indptr"]
    ones = np.ones(shard.data["indices"].size)
    tags = sp.csr_matrix((ones, shard.data["indices"], starts), shape=(starts.size - 1, n))
    shares = np.diff(starts) / n * intercept
    right = (tags @ X).toarray().T - n * np.outer(means, shares)
    weights = cho_solve((factor, True), right, overwrite_b=True, check_finite=False)
    intercepts = (shares - means @ weights).astype(np.float32)
    return {"weights": weights.astype(np.float32), "intercepts": intercepts, "gaps": np.zeros(starts.size - 1)}


def _solve_iterated(shard: Shard[Arrays], state: Arrays, *, settings: NewtonSettings, **rows: np.ndarray) -> Arrays:
    """Step: the weights of the tags of one shard by conjugate gradients."""
    starts = shard.data["indptr"]
    carriers = [shard.data["indices"][start:stop] for start, stop in itertools.pairwise(starts)]
    weights, gaps = np.empty((int(rows["width"]) + 1, len(carriers)), np.float32), np.zeros(len(carriers))
    for t, w, _, gap in solve_by_newton(settings, np.arange(len(carriers)), carriers, rows):
        weights[:, t], gaps[t] = w, gap
    return {"weights": weights[:-1], "intercepts": weights[-1], "gaps": gaps}
