"""Multi-label learning by Bayesian compressed sensing (BCS)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array
from tagcore.baselines.leml.steps import gram_product
from tagcore.baselines.low_rank.base import RANK, _LowRank
from tagcore.baselines.low_rank.kernels.bcs import infer_tags
from tagcore.baselines.low_rank.shards import label_rows, project_rows, shards_with_cells, sum_by_word
from tagcore.features.rows import Rows
from tagcore.numeric.conjugate_gradients import conjugate_gradients, inner_products, residuals_fall_to
from tagcore.numeric.read_only import freeze
from tagcore.parameters import FLAG, POSITIVE, SEED, Whole, limits
from tagcore.scikit import check_random_state
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import FitContext, Measures, train

_CG_STEPS, _CG_TOL = 100, 1e-4
_BLOCK_ROWS = 256
_MOST_INFERENCE = 100  # rounds for one document: ten settle it, and each costs rank² × tags
_MOST_ALTERNATIONS = 1000


class BCS(_LowRank):
    """Regression onto random projections of the tags, decoded by sparse Bayesian inference (Kapoor, Viswanathan and
    Jain, 2012).

    Φ·y ~ N(Wᵀ·x + c, noise), Φ random (rank × L); y_j ~ N(0, 1/a_j) with a precision of its own for each tag of each
    document, so that most tags of a document become zero. The compressed tags between Wᵀ·x and Φ·y are integrated
    out. W is a ridge regression; cells of y that were not `observed` are inferred together with it. Scores are
    posterior means, from `rounds` of variational inference for each document, rank² × tags each: this is what
    makes the model slow, in `predict` too. `predict_proba` is the score, cut to [0, 1].

    The defaults had about the best AUC per document on a fifth of the training documents of bibtex, rank 0.4 (alpha
    1.5 and 5, noise 0.01 to 0.5, 1 to 10 rounds).

    Parameters
    ----------
    rank : dimensions, a whole number or a share of the tags; never more than documents, words or tags.
    alpha : weight of the penalty of the regression.
    noise : variance of compressed tags about the regression.
    rounds : of inference for a document, up to 100.
    max_iter : alternations of inference and regression, where cells are unobserved.
    normalise : bring rows to unit length first.
    random_state : seed of the projection.
    """

    _arrays = ("word_factors_", "tag_factors_", "centre_")
    _rounds = ("max_iter",)
    _limits = limits(
        rank=RANK,
        alpha=POSITIVE,
        noise=POSITIVE,
        rounds=Whole(1, _MOST_INFERENCE),
        max_iter=Whole(1, _MOST_ALTERNATIONS),
        normalise=FLAG,
        random_state=SEED,
    )
    _uses_observed = True

    centre_: np.ndarray  # c; tag_factors_ is Φᵀ

    def __init__(
        self,
        rank: int | float = 100,
        alpha: float = 1.5,
        noise: float = 0.05,
        rounds: int = 5,
        max_iter: int = 5,
        normalise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.rank = rank
        self.alpha = alpha
        self.noise = noise
        self.rounds = rounds
        self.max_iter = max_iter
        self.normalise = normalise
        self.random_state = random_state

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Cuts the scores to [0, 1]."""
        return np.clip(scores, 0.0, 1.0)

    def _check_constants(self, rank: int) -> None:
        require_array(self.centre_, (rank,), np.float32, "centre_")

    def _fit(self, rows: Rows, context: FitContext) -> None:
        X, Y = self._prepared(rows)
        rank = self._dimensions(X, Y)
        normal = check_random_state(self.random_state).standard_normal((Y.shape[1], rank))
        tags = (normal / np.sqrt(rank)).astype(np.float32)
        learner = CompressedRegression(_CentredRidge(X, float(self.alpha)), tags, float(self.noise), self.rounds)
        trained = train(
            learner,
            shards_with_cells(X, Y, context),
            max_rounds=0 if context.observed is None else self.max_iter,
            progress=context.progress,
            checkpoints=context.checkpoints,
        )
        self.word_factors_, self.tag_factors_, self.centre_ = trained.arrays["words"], tags, trained.arrays["centre"]

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        nothing = np.zeros(0, np.int32), np.zeros(X.shape[0] + 1, np.int32), np.zeros(0, np.float32)
        scores = np.empty((X.shape[0], self.n_labels_), np.float32)
        projection = np.ascontiguousarray(self.tag_factors_.T)
        guesses = self._embedded(X) + self.centre_
        infer_tags(guesses, freeze(projection), float(self.noise), int(self.rounds), *freeze(nothing), scores)
        return scores


class _CentredRidge:
    """Ridge regression on centred rows: (XᵀX - n·m·mᵀ + alpha)·W = XᵀZ - n·m·z̄ᵀ for targets Z, m and z̄ the means."""

    def __init__(self, X: sp.csr_matrix, alpha: float) -> None:
        self.n, self.alpha = X.shape[0], np.float32(alpha)
        self.means = np.asarray(X.mean(axis=0), np.float32).ravel()
        squares = np.asarray(X.multiply(X).sum(axis=0), np.float32).ravel()
        self.diagonal = (np.maximum(squares - self.n * self.means**2, 0) + self.alpha)[:, None]

    def solve(self, shards: Shards, targets: Arrays) -> Arrays:
        """Gives W, by conjugate gradients, and the centre z̄ - Wᵀm, from the sums over all rows of their targets."""

        def product(direction: np.ndarray) -> np.ndarray:
            image = shards.sum(gram_product, direction=direction)["product"]
            return image - self.n * np.outer(self.means, self.means @ direction) + self.alpha * direction

        centre = targets["sum"] / np.float32(self.n)
        right = targets["cross"] - self.n * np.outer(self.means, centre)
        stop = residuals_fall_to(_CG_TOL)
        words, _ = conjugate_gradients(product, right, self.diagonal, _CG_STEPS, inner_products(axis=0), stop)
        return {"words": words, "centre": centre - self.means @ words}


@dataclass(frozen=True)
class CompressedRegression:
    """Learner of a regression onto the projected tags.

    Each round infers the cells that were not observed from the regression, and fits it again.
    """

    ridge: _CentredRidge
    tags: np.ndarray  # Φᵀ
    noise: float
    inference_rounds: int

    def init(self, shards: Shards) -> Arrays:
        return self.ridge.solve(shards, shards.sum(compress, tags=self.tags))

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        infer = partial(infer_and_compress, noise=self.noise, rounds=self.inference_rounds)
        return self.ridge.solve(shards, shards.sum(infer, tags=self.tags, **arrays)), {}

    def done(self, history: list[Measures]) -> bool:
        return False


def compress(shard: Shard[Arrays], state: Arrays, *, tags: np.ndarray) -> Arrays:
    """Step: sums over the rows of a shard of their projected tags, Φ·y."""
    return _sums(shard.data, label_rows(shard.data) @ tags)


def infer_and_compress(
    shard: Shard[Arrays],
    state: Arrays,
    *,
    noise: float,
    rounds: int,
    words: np.ndarray,
    tags: np.ndarray,
    centre: np.ndarray,
) -> Arrays:
    """Step: sums as those of `compress`, where some cells are observed and the regression infers the others."""
    part = shard.data
    guesses = project_rows(part, words) + centre
    targets, projection = np.empty_like(guesses), np.ascontiguousarray(tags.T)
    for first in range(0, guesses.shape[0], _BLOCK_ROWS):
        rows = slice(first, min(first + _BLOCK_ROWS, guesses.shape[0]))
        observed = part["cell_ids"], part["cell_starts"][rows.start : rows.stop + 1], part["cell_truth"]
        means = np.empty((rows.stop - rows.start, tags.shape[0]), np.float32)
        infer_tags(guesses[rows], freeze(projection), noise, rounds, *freeze(observed), means)
        targets[rows] = means @ tags
    return _sums(part, targets)


def _sums(part: Arrays, targets: np.ndarray) -> Arrays:
    return {"cross": sum_by_word(part, targets), "sum": targets.sum(axis=0)}
