"""Conditional principal label space transformation (CPLST)."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, eigh, solve_triangular

from tagcore.baselines.low_rank.base import RANK, _LowRank, on_one_thread
from tagcore.kernels.sparse import lower_gram
from tagcore.numeric.read_only import frozen_rows
from tagcore.parameters import FLAG, POSITIVE, Whole, limits
from tagcore.shards import Arrays, row_shards
from tagcore.training import FitContext

_BLOCK_TAGS = 256

Block = tuple[slice, np.ndarray]


class CPLST(_LowRank):
    """Ridge regression onto the principal directions of the tags that words can tell (Chen and Lin, 2012).

    With Z = Y less its means, and H the hat matrix of the ridge regression, the columns of V are the leading
    eigenvectors of Zᵀ·H·Z: directions in which tags vary much and are predicted well. Each is regressed on the words,
    and decoded by the transpose: score = x·W·Vᵀ + ȳ. With all directions it is `Ridge`. The hat matrix needs a
    Cholesky factor of words × words, 8 bytes each, and time of words³ and of the smaller of words and tags cubed.
    `predict_proba` is the score, cut to [0, 1].

    The default alpha is a compromise: on a fifth of the training documents of bibtex 1.5 had the best precision at 1
    and 5 the best AUC per document.

    Parameters
    ----------
    rank : directions, a whole number or a share of the tags; never more than documents, words or tags.
    alpha : weight of the penalty of the regression.
    normalise : bring rows to unit length first.
    max_words : refuse to factor a larger matrix.
    """

    _limits = limits(rank=RANK, alpha=POSITIVE, normalise=FLAG, max_words=Whole())

    def __init__(
        self, rank: int | float = 100, alpha: float = 3.0, normalise: bool = True, max_words: int = 20_000
    ) -> None:
        self.rank = rank
        self.alpha = alpha
        self.normalise = normalise
        self.max_words = max_words

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Cuts the scores to [0, 1]."""
        return np.clip(scores, 0.0, 1.0)

    def _learn(self, X: sp.csr_matrix, Y: sp.csr_matrix, context: FitContext) -> None:
        if X.shape[1] > self.max_words:
            raise ValueError(
                f"{X.shape[1]} words need a factor of {8 * X.shape[1] ** 2 / 2**30:.1f} GiB, more than "
                f"max_words={self.max_words!r} allows: select words, or take LEML, which needs none"
            )
        step = partial(_transform, rank=self._dimensions(X, Y), alpha=float(self.alpha))
        rows = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "width": np.array(X.shape[1])}
        tags = sp.csr_matrix(Y.T)
        rows |= {"carriers": tags.indices, "starts": tags.indptr}
        learnt = on_one_thread(context.executor, step, **rows)
        self.word_factors_, self.tag_factors_ = learnt["words"], learnt["tags"]
        self.intercept_ = learnt["intercept"]


def _transform(
    *,
    rank: int,
    alpha: float,
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    width: np.ndarray,
    carriers: np.ndarray,
    starts: np.ndarray,
) -> Arrays:
    """Gives words, tags and intercepts from the singular vectors of F = R⁻¹·C.

    With C = Xᵀ·Z and R·Rᵀ = XᵀX + alpha, X centred: FᵀF = Zᵀ·H·Z.
    """
    X = sp.csr_matrix((data.astype(np.float64), indices, indptr), shape=(indptr.size - 1, int(width)))
    T = sp.csr_matrix((np.ones(carriers.size), carriers, starts), shape=(starts.size - 1, X.shape[0]))
    means, shares = np.asarray(X.mean(axis=0)).ravel(), np.diff(starts) / X.shape[0]
    factor = _factor(X, means, alpha)

    def blocks() -> Iterator[Block]:
        for cut in row_shards(T.shape[0], -(-T.shape[0] // _BLOCK_TAGS)):
            cross = (T[cut] @ X).toarray().T - X.shape[0] * np.outer(means, shares[cut])
            yield cut, solve_triangular(factor, cross, lower=True, check_finite=False)

    directions = _directions_of_few_tags if T.shape[0] <= X.shape[1] else _directions_of_few_words
    tags, targets = directions(blocks, X.shape[1], T.shape[0], rank)
    words = solve_triangular(factor, targets, lower=True, trans="T", check_finite=False)
    intercept = shares - (means @ words) @ tags.T
    out = {"words": words, "tags": tags, "intercept": intercept}
    return {name: np.ascontiguousarray(values, np.float32) for name, values in out.items()}


def _factor(X: sp.csr_matrix, means: np.ndarray, alpha: float) -> np.ndarray:
    columns = X.tocsc()
    gram = np.zeros((X.shape[1], X.shape[1]))
    lower_gram(*frozen_rows(X), *frozen_rows(columns), gram)
    gram -= X.shape[0] * np.outer(means, means)
    gram[np.diag_indices(X.shape[1])] += alpha
    return cholesky(gram, lower=True, overwrite_a=True, check_finite=False)


def _directions_of_few_tags(
    blocks: Callable[[], Iterator[Block]], words: int, tags: int, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gives (V, F·V) from FᵀF: tags × tags."""
    F = np.empty((words, tags))
    for cut, block in blocks():
        F[:, cut] = block
    V = _leading(F.T @ F, rank)[1]
    return V, F @ V


def _directions_of_few_words(
    blocks: Callable[[], Iterator[Block]], words: int, tags: int, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gives (V, F·V) from F·Fᵀ: words × words, so that F is never whole."""
    square = np.zeros((words, words))
    for _, block in blocks():
        square += block @ block.T
    values, U = _leading(square, rank)
    sizes = np.sqrt(np.maximum(values, 0.0))
    scaled = np.divide(U, sizes, out=np.zeros_like(U), where=sizes > 1e-7 * sizes.max(initial=0.0))
    V = np.empty((tags, rank))
    for cut, block in blocks():
        V[cut] = block.T @ scaled
    return V, U * sizes


def _leading(square: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Gives the largest eigenvalues, largest first, and their eigenvectors."""
    size = square.shape[0]
    values, vectors = eigh(square, subset_by_index=[size - rank, size - 1], overwrite_a=True, check_finite=False)
    return values[::-1], vectors[:, ::-1]
