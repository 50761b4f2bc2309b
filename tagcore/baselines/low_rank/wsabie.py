"""WSABIE: words and tags in one space, learnt by sampled ranking."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array
from tagcore.baselines.low_rank.base import RANK, _LowRank
from tagcore.baselines.low_rank.kernels.wsabie import learn_documents
from tagcore.features.rows import InMemory, Rows, load_all
from tagcore.kernels.random.streams import branch
from tagcore.parameters import FLAG, POSITIVE, ROUNDS, SEED, limits
from tagcore.scikit import check_random_state
from tagcore.scoring.calibration import PlattCalibrator
from tagcore.shards import Arrays, Shard, Shards
from tagcore.training import FitContext, Measures, train

_CALIBRATED_CELLS = 1_000_000


class WSABIE(_LowRank):
    """Embeddings of words and tags that rank a document's tags first (Weston, Bengio and Usunier, 2011).

    A step takes a tag of a document and draws other tags until one scores within `margin` of it; the more draws that
    took, the better the tag is ranked already and the smaller the step (the WARP loss, Σ 1/j up to the estimated
    rank). Each word and each tag stays in a ball of radius `max_norm`. The step size falls in a straight line to zero
    over the passes. One step depends on the one before, so a pass is one step of one shard that holds all rows.
    `predict_proba` is a logistic curve of the score, fitted to training documents.

    The defaults had the best AUC per document on a fifth of the training documents of bibtex, rank 0.4 (learning_rate
    0.005 to 0.1, max_norm 1 to 3, 10 or 30 passes); more documents need fewer passes.

    Parameters
    ----------
    rank : dimensions, a whole number or a share of the tags; never more than documents, words or tags.
    learning_rate : size of the first steps.
    max_iter : passes over the documents.
    margin : by how much a tag must outscore the others.
    max_norm : longest embedding of a word or a tag.
    normalise : bring rows to unit length first.
    fit_intercept : give every document one more word, the same for all, so that common tags can be known.
    random_state : seed of the start, of the orders and of the draws.
    """

    _arrays = (*_LowRank._arrays, "curve_")
    _rounds = ("max_iter",)
    _limits = limits(
        rank=RANK,
        learning_rate=POSITIVE,
        max_iter=ROUNDS,
        margin=POSITIVE,
        max_norm=POSITIVE,
        normalise=FLAG,
        fit_intercept=FLAG,
        random_state=SEED,
    )

    curve_: np.ndarray  # of a PlattCalibrator

    def __init__(
        self,
        rank: int | float = 100,
        learning_rate: float = 0.005,
        max_iter: int = 30,
        margin: float = 1.0,
        max_norm: float = 2.0,
        normalise: bool = True,
        fit_intercept: bool = True,
        random_state: int = 0,
    ) -> None:
        self.rank = rank
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.margin = margin
        self.max_norm = max_norm
        self.normalise = normalise
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Gives the logistic curve of the scores."""
        return PlattCalibrator.from_arrays({"curve": self.curve_})(scores)

    def _check_state(self) -> None:
        super()._check_state()
        require_array(self.curve_, (4,), np.float64, "curve_")
        PlattCalibrator.from_arrays({"curve": self.curve_})

    def _fit(self, rows: Rows, context: FitContext) -> None:
        X, Y = load_all(rows)
        super()._fit(InMemory(X, Y), context)
        count = min(X.shape[0], -(-_CALIBRATED_CELLS // Y.shape[1]))
        sample = np.linspace(0, X.shape[0] - 1, count).astype(int)
        hits = (Y[sample].toarray() > 0).astype(float)
        self.curve_ = PlattCalibrator().fit(self._scores(X[sample]), hits).curve_

    def _learn(self, X: sp.csr_matrix, Y: sp.csr_matrix, context: FitContext) -> None:
        rank, random = self._dimensions(X, Y), check_random_state(self.random_state)
        seed = random.randint(2**31 - 1)
        words = np.zeros((X.shape[1] + 1, rank), np.float32)  # words that training does not know say nothing
        tags = (random.standard_normal((Y.shape[1], rank)) / np.sqrt(rank)).astype(np.float32)
        orders = [random.permutation(X.shape[0]) for _ in range(self.max_iter)]
        learner = RankingLearner(
            {"words": words, "tags": tags}, orders, seed, self.learning_rate, self.margin, self.max_norm
        )
        shards = Shards([self._documents(X, Y)], dict, context.executor)
        trained = train(
            learner, shards, max_rounds=self.max_iter, progress=context.progress, checkpoints=context.checkpoints
        )
        words, tags = trained.arrays["words"], trained.arrays["tags"]
        self.word_factors_, self.tag_factors_ = words[:-1].copy(), tags
        self.intercept_ = tags @ words[-1]

    def _documents(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> Arrays:
        """Gives all rows, each with the constant as a last word, their tags, and the losses of ranks 0 to L."""
        constant = np.full((X.shape[0], 1), float(self.fit_intercept), np.float32)
        rows = sp.hstack([X, sp.csr_matrix(constant)], format="csr")
        rank_losses = np.append(0.0, np.cumsum(1.0 / np.arange(1, Y.shape[1] + 1))).astype(np.float32)
        documents = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        return documents | {"tag_ids": Y.indices, "tag_starts": Y.indptr, "rank_losses": rank_losses}


@dataclass(frozen=True)
class RankingLearner:
    """Learner whose round is a pass over the documents, in an order and with draws of its own."""

    start: Arrays  # words and tags
    orders: list[np.ndarray]  # of the documents, one for each pass
    seed: int
    learning_rate: float
    margin: float
    max_norm: float

    def init(self, shards: Shards) -> Arrays:
        return self.start

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        rate = self.learning_rate * (1 - number / len(self.orders))
        draws = np.uint64(branch(np.uint64(self.seed), number))
        settings = {"seed": draws, "rate": rate, "margin": self.margin, "max_norm": self.max_norm}
        (moved,) = shards.collect(pass_step, order=self.orders[number], **settings, **arrays)
        return moved, {}

    def done(self, history: list[Measures]) -> bool:
        return False


def pass_step(
    shard: Shard[Arrays],
    state: Arrays,
    *,
    order: np.ndarray,
    seed: np.uint64,
    rate: float,
    margin: float,
    max_norm: float,
    words: np.ndarray,
    tags: np.ndarray,
) -> Arrays:
    """Step: words and tags as one pass over the documents leaves them."""
    part, moved = shard.data, {"words": words.copy(), "tags": tags.copy()}
    csr, tag_rows = (part["data"], part["indices"], part["indptr"]), (part["tag_ids"], part["tag_starts"])
    learn_documents(*csr, order, *tag_rows, part["rank_losses"], seed, rate, margin, max_norm, *moved.values())
    return moved
