"""Tags of the documents that are most alike."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from tagcore.base import best_k, require_csr, restore_on_failure
from tagcore.baselines.knn.index import Columns, Postings, columns_of, inverted_index
from tagcore.baselines.knn.kernel import score_rows, similarities, suggest, suggest_rows
from tagcore.baselines.popular import document_shares, require_shares
from tagcore.features.rows import Rows, load_all
from tagcore.kernels.neighbours import nearest
from tagcore.numeric.read_only import freeze, frozen_arrays_of, frozen_rows
from tagcore.parameters import Choice, Real, Whole, limits
from tagcore.scikit import normalize
from tagcore.tag_model import TagModel
from tagcore.training import FitContext


class KNN(TagModel):
    """Weighted k nearest neighbours under the cosine, exact, on an inverted index.

    A tag scores Σ simᵖ·w / Σ simᵖ over the nearest documents of positive similarity, which lies in [0, 1]; w is 1
    where the neighbour carries the tag. A document that is like no other (no words, no shared word) gets the shares
    of `Popular`. Rows are brought to unit length here; weigh them (tf-idf) before. Documents that come later are
    appended to the index: `partial_fit` over batches in order equals one `fit` over all, bit for bit.

    Parameters
    ----------
    n_neighbors : how many documents vote.
    power : p above; larger trusts the nearest more, 0 lets all vote alike.
    weighting : "presence" lets a neighbour give 1 to each of its tags, "share" the tag's part of its counts.

    Examples
    --------
    >>> model = KNN(n_neighbors=1).fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
    >>> model.top_k([[2.0, 1.0]], 1)
    (array([[0]]), array([[1.]]))
    """

    _arrays = (
        "word_starts_",
        "documents_",
        "weights_",
        "tag_starts_",
        "tag_ids_",
        "tag_weights_",
        "shares_",
    )
    _limits = limits(n_neighbors=Whole(), power=Real(least=0), weighting=Choice("presence", "share"))

    word_starts_: np.ndarray  # the postings of word w are documents_[word_starts_[w] : word_starts_[w + 1]]
    documents_: np.ndarray
    weights_: np.ndarray
    tag_starts_: np.ndarray
    tag_ids_: np.ndarray
    tag_weights_: np.ndarray
    shares_: np.ndarray

    def __init__(self, n_neighbors: int = 30, power: float = 2.0, weighting: str = "presence") -> None:
        self.n_neighbors = n_neighbors
        self.power = power
        self.weighting = weighting

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Appends documents to those that vote; the first call is a fit."""
        if not hasattr(self, "word_starts_"):
            return self.fit(X, y)
        self._check_params()
        with restore_on_failure(self):
            X, Y = self._checked_batch(X, y)
            self._append(X, Y)
        return self

    def grow(self, words: int, tags: int) -> Self:
        """Makes room for words and tags that were appended since; no document has them yet."""
        new_words, new_tags = self._new_words_and_tags(words, tags)
        self.word_starts_ = np.pad(self.word_starts_, (0, new_words), mode="edge")
        self.shares_ = np.pad(self.shares_, (0, new_tags))
        self.n_features_in_, self.n_labels_ = words, tags
        return self

    def query(self, words: ArrayLike, values: ArrayLike, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Gives (tags, scores) of one document, as distinct word ids and their values: the fast way to ask.

        It answers as `top_k` for that row, without the cost of checking a matrix.
        """
        row = _query_row(words, values)
        k = min(k, self.n_labels_)
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        tags, scores = np.empty(k, np.int64), np.empty(k)
        voters = suggest(*row, *self._kernel_arguments(1), tags, scores)
        if voters < 0:
            raise self._bad_word(words, values, -1 - voters)
        if voters == 0:
            popular = best_k(self.shares_[None], k)
            return popular[0][0], popular[1][0]
        return tags, scores

    def neighbours(self, words: ArrayLike, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Gives (documents, similarities) that vote on one document, best first, ties to the lower number."""
        row = _query_row(words, values)
        sims = np.empty(self.tag_starts_.size - 1, np.float32)
        nearby = np.empty(min(self.n_neighbors, sims.size), np.int64)
        bad = similarities(*row, self._kernel_arguments(1)[0], sims)
        if bad >= 0:
            raise self._bad_word(words, values, bad)
        voters = nearby[: nearest(sims, nearby)]
        return voters, sims[voters]

    def _fit(self, rows: Rows, context: FitContext) -> None:
        X, Y = load_all(rows)
        self.word_starts_, self.documents_, self.weights_ = inverted_index(X)
        self.tag_starts_, self.tag_ids_, self.tag_weights_ = self._tag_lists(Y)
        self.shares_ = document_shares(Y)

    def _append(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        """Puts documents behind the others in the lists of their words, and their tags behind those of the others."""
        n, new = self.tag_starts_.size - 1, X.shape[0]
        before = sp.csr_matrix((self.weights_, self.documents_, self.word_starts_), shape=(X.shape[1], n))
        starts, documents, weights = inverted_index(X)
        both = sp.hstack([before, sp.csr_matrix((weights, documents, starts), shape=(X.shape[1], new))], format="csr")
        self.word_starts_, self.documents_ = both.indptr.astype(np.int64), both.indices.astype(np.int32)
        self.weights_ = both.data
        starts, ids, tag_weights = self._tag_lists(Y)
        self.tag_starts_ = np.concatenate([self.tag_starts_, self.tag_starts_[-1] + starts[1:]])
        self.tag_ids_ = np.concatenate([self.tag_ids_, ids])
        self.tag_weights_ = np.concatenate([self.tag_weights_, tag_weights])
        carriers = np.rint(self.shares_ * n) + np.bincount(Y.indices, minlength=Y.shape[1])
        self.shares_ = carriers / (n + new)

    def _tag_lists(self, Y: sp.csr_matrix) -> Postings:
        """What every document gives to each of its tags."""
        weights = np.ones(Y.nnz) if self.weighting == "presence" else normalize(Y, norm="l1").data
        return Y.indptr.astype(np.int64), Y.indices.astype(np.int32), weights.astype(np.float32)

    def _check_state(self) -> None:
        super()._check_state()
        n = self.tag_starts_.size - 1
        postings = (self.word_starts_, self.documents_, self.weights_)
        require_csr(*postings, self.n_features_in_, n, "the index")
        require_csr(self.tag_starts_, self.tag_ids_, self.tag_weights_, n, self.n_labels_, "the tags")
        require_shares(self.shares_, self.n_labels_)
        if n < 1:
            raise ValueError("there is no document to be like")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        scores, voters = np.zeros((X.shape[0], self.n_labels_)), np.empty(X.shape[0], np.int64)
        score_rows(*frozen_rows(X, np.float64), *self._kernel_arguments(X.shape[0]), scores, voters)
        if not voters.all():
            scores[voters == 0] = self.shares_
        return scores

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = np.empty((X.shape[0], k), np.int64), np.empty((X.shape[0], k))
        voters = np.empty(X.shape[0], np.int64)
        suggest_rows(*frozen_rows(X, np.float64), *self._kernel_arguments(X.shape[0]), tags, scores, voters)
        if not voters.all():
            tags[voters == 0], scores[voters == 0] = best_k(self.shares_[None], k)
        return tags, scores

    def _kernel_arguments(self, questions: int) -> tuple[tuple[*Postings, *Columns], Postings, int, float]:
        n, postings = self.tag_starts_.size - 1, (self.word_starts_, self.documents_, self.weights_)
        frozen: Any = frozen_arrays_of(self, *postings, self.tag_starts_, self.tag_ids_, self.tag_weights_)
        columns = columns_of(self, frozen[:3], n, questions)
        return (*frozen[:3], *columns), frozen[3:], min(self.n_neighbors, n), float(self.power)

    def _bad_word(self, words: ArrayLike, values: ArrayLike, at: int) -> ValueError:
        return ValueError(
            f"word {np.asarray(words)[at]} with value {np.asarray(values)[at]} at position {at}: "
            f"expected a word from 0 to {self.n_features_in_ - 1} and a finite value"
        )


def _query_row(words: ArrayLike, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    words, values = np.asarray(words), np.asarray(values, np.float64)
    if words.ndim != 1 or words.shape != values.shape:
        raise ValueError(f"words and values must be two arrays of one length, got {words.shape} and {values.shape}")
    if words.dtype != np.int32:  # a number that this type has not is no word
        words = np.clip(np.asarray(words, np.int64), -1, np.iinfo(np.int32).max).astype(np.int32)
    return freeze((words, values))
