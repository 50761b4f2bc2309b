"""Low-rank empirical risk minimisation (LEML) for many tags."""

import numpy as np
import scipy.sparse as sp

from tagcore.baselines.leml.alternation import Alternation, GramHalfSteps, HalfSteps, NewtonHalfSteps
from tagcore.baselines.low_rank.base import RANK, _LowRank
from tagcore.baselines.low_rank.shards import shards_with_cells
from tagcore.numeric.logistic import expit
from tagcore.numeric.losses import LOSSES
from tagcore.parameters import FLAG, POSITIVE, ROUNDS, SEED, Choice, Real, limits
from tagcore.scikit import check_random_state
from tagcore.shards import Arrays
from tagcore.training import FitContext, train

_UNSEEN_LOG_ODDS = -10.0


class LEML(_LowRank):
    """Linear scores whose matrix of weights has low rank, W·Hᵀ (Yu, Jain, Kar and Dhillon, 2014).

    min over W, H, b of Σ loss(y, x·W·h + b) + ½·alpha·(‖W‖² + ‖H‖²), alternately in W and in (H, b), each half by
    conjugate gradients. The sum runs over all n × L cells, or over the `observed` ones of `fit`. An iteration with
    the squared loss over all cells costs the words and tags that documents have, times the rank; the other losses
    visit every cell of the sum, at cells × rank each conjugate gradient, in blocks that are never kept.

    The defaults had the best AUC per document on a fifth of the training documents of bibtex, rank 0.4 (alpha 0.3 to
    20; 2 to 30 conjugate gradients, 3 to 30 alternations). The logistic loss does best there with the same alpha, the
    squared hinge with 20; more documents, or more tags each, want a larger one.

    Parameters
    ----------
    rank : dimensions, a whole number or a share of the tags; never more than documents, words or tags.
    loss : "squared" ½(y - z)², "logistic" log(1 + exp(∓z)), "squared_hinge" max(0, 1 ∓ z)².
    alpha : weight of the penalty.
    max_iter : alternations; fewer are made when the objective falls by less than `tol` of itself.
    cg_iter : most conjugate gradients in each half of an alternation.
    normalise : bring rows to unit length first.
    fit_intercept : learn a constant for each tag.
    random_state : seed of the first W.
    """

    _rounds = ("max_iter",)
    _limits = limits(
        rank=RANK,
        loss=Choice(*LOSSES),
        alpha=POSITIVE,
        max_iter=ROUNDS,
        cg_iter=ROUNDS,
        tol=Real(least=0),
        normalise=FLAG,
        fit_intercept=FLAG,
        random_state=SEED,
    )
    _uses_observed = True

    def __init__(
        self,
        rank: int | float = 100,
        loss: str = "squared",
        alpha: float = 5.0,
        max_iter: int = 10,
        cg_iter: int = 4,
        tol: float = 1e-4,
        normalise: bool = True,
        fit_intercept: bool = True,
        random_state: int = 0,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.alpha = alpha
        self.max_iter = max_iter
        self.cg_iter = cg_iter
        self.tol = tol
        self.normalise = normalise
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Cuts scores to [0, 1] for the squared loss; gives their logistic function for the others."""
        return np.clip(scores, 0.0, 1.0) if self.loss == "squared" else expit(scores)

    def _untagged_score(self) -> float:
        return 0.0 if self.loss == "squared" else _UNSEEN_LOG_ODDS

    def _learn(self, X: sp.csr_matrix, Y: sp.csr_matrix, context: FitContext) -> None:
        trained = train(
            Alternation(self._half_steps(X, Y, context), self._start(X, Y), self.tol),
            shards_with_cells(X, Y, context),
            max_rounds=self.max_iter,
            progress=context.progress,
            checkpoints=context.checkpoints,
        )
        words, tags = trained.arrays["words"], trained.arrays["tags"]
        self.word_factors_, self.tag_factors_ = words, np.ascontiguousarray(tags[:, :-1])
        self.intercept_ = tags[:, -1].copy()

    def _half_steps(self, X: sp.csr_matrix, Y: sp.csr_matrix, context: FitContext) -> HalfSteps:
        penalty, intercept = float(self.alpha), bool(self.fit_intercept)
        if self.loss != "squared" or context.observed is not None:
            return NewtonHalfSteps(self.loss, penalty, intercept, self.cg_iter)
        squares = np.asarray(X.multiply(X).sum(axis=0), np.float32).ravel()
        return GramHalfSteps(squares, Y.nnz, penalty, intercept, self.cg_iter)

    def _start(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> Arrays:
        """Draws random words, so that embedded rows have about unit variance; tags are zero."""
        rank = self._dimensions(X, Y)
        size = np.sqrt(X.multiply(X).sum() / X.shape[0]) or 1.0
        words = check_random_state(self.random_state).standard_normal((X.shape[1], rank)) / size
        return {"words": words.astype(np.float32), "tags": np.zeros((Y.shape[1], rank + 1), np.float32)}
