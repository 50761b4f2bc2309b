"""The few best tags of the few most similar documents: the vector similarity baseline of PMM."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.base import best_k, require_array, require_csr
from tagcore.baselines.knn.index import Columns, Postings, columns_of, inverted_index
from tagcore.baselines.knn.kernel import score_rows, suggest_rows
from tagcore.baselines.popular import document_shares, require_shares
from tagcore.features.rows import Rows, load_all
from tagcore.numeric.read_only import freeze, frozen_arrays_of, frozen_rows
from tagcore.parameters import Choice, Whole, WholeOrShare, limits
from tagcore.tag_model import TagModel
from tagcore.text.selection import SelectWords
from tagcore.training import FitContext

_BLOCK_CELLS = 4_000_000  # comparisons of tags that are held at once
_EPSILON = 1e-6  # what the share of documents may add to a score: it decides ties and orders what no one suggests


class VectorSimilarity(TagModel):
    """The s nearest training documents under the cosine suggest their t top tags each.

    Top are the tags with most counts, ties to the tag on more training documents, then to the lower id. A tag scores
    the similarities of the documents that suggest it, divided by those of all s: the order is that of summed
    similarity, and ties go to the more common tag. The at most s · t suggested tags are followed by the others, most
    common first, so that `top_k` always gives k. A document that is like no other gets the shares of `Popular`. Rows
    are brought to unit length here; weigh them (tf-idf) before.

    Parameters
    ----------
    n_documents : s, the documents that suggest tags.
    n_tags : t, the tags that each of them suggests.
    select : None takes all words, "information_gain" only those that tell most about the tags.
    keep : how many of the words that is, or as a float which share.
    """

    _arrays = ("words_", "word_starts_", "documents_", "weights_", "tag_starts_", "tag_ids_", "shares_")
    _limits = limits(
        n_documents=Whole(),
        n_tags=Whole(),
        select=Choice(None, "information_gain"),
        keep=WholeOrShare("the words"),
    )

    words_: np.ndarray  # the selected columns; word_starts_ numbers them from 0
    word_starts_: np.ndarray
    documents_: np.ndarray
    weights_: np.ndarray
    tag_starts_: np.ndarray
    tag_ids_: np.ndarray
    shares_: np.ndarray

    def __init__(self, n_documents: int = 3, n_tags: int = 3, select: str | None = None, keep: float = 0.05) -> None:
        self.n_documents = n_documents
        self.n_tags = n_tags
        self.select = select
        self.keep = keep

    def _fit(self, rows: Rows, context: FitContext) -> None:
        X, Y = load_all(rows)
        if self.select is None:
            self.words_ = np.arange(X.shape[1])
        else:
            self.words_ = SelectWords("information_gain", self.keep).fit(X, Y).get_support(indices=True)
        self.shares_ = document_shares(Y)
        self.word_starts_, self.documents_, self.weights_ = inverted_index(self._selected(X))
        self.tag_starts_, self.tag_ids_ = _top_tags(Y, self.shares_, self.n_tags)

    def _check_state(self) -> None:
        super()._check_state()
        words, n = self.words_, self.tag_starts_.size - 1
        require_array(words, (words.size,), np.int64, "words_", 0, self.n_features_in_ - 1)
        if (np.diff(words) < 1).any():
            raise ValueError("words_ must be rising numbers of columns")
        require_csr(self.word_starts_, self.documents_, self.weights_, words.size, n, "the index")
        require_csr(*self._tagging(), n, self.n_labels_, "the tags")
        require_shares(self.shares_, self.n_labels_)
        if n < 1:
            raise ValueError("there is no document to be like")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        votes, voters = np.zeros((X.shape[0], self.n_labels_)), np.empty(X.shape[0], np.int64)
        score_rows(*frozen_rows(self._selected(X), np.float64), *self._kernel_arguments(X.shape[0]), votes, voters)
        return np.where(voters[:, None] > 0, _with_shares(votes, self.shares_), self.shares_)

    def _top_k(self, X: sp.csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        tags, scores = np.empty((X.shape[0], k), np.int64), np.empty((X.shape[0], k))
        width = min(self.n_documents * self.n_tags, self.n_labels_)
        step = max(1, _BLOCK_CELLS // (width * (width + k)))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            tags[rows], scores[rows] = self._suggest(X[rows], k, width)
        return tags, scores

    def _suggest(self, X: sp.csr_matrix, k: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Gives the k best of at most `width` suggested tags and of the most common others."""
        n = X.shape[0]
        suggested, votes, voters = np.zeros((n, width), np.int64), np.zeros((n, width)), np.empty(n, np.int64)
        suggest_rows(*frozen_rows(self._selected(X), np.float64), *self._kernel_arguments(n), suggested, votes, voters)
        most_common = best_k(self.shares_[None], k + width)[0]  # k of these at least are not suggested
        common_tags = np.repeat(most_common, n, axis=0)
        repeated = (common_tags[:, :, None] == np.where(votes > 0, suggested, -1)[:, None, :]).any(axis=2)
        tags = np.concatenate([suggested, common_tags], axis=1)
        scores = _with_shares(np.concatenate([votes, np.zeros(repeated.shape)], axis=1), self.shares_[tags])
        scores[voters == 0] = self.shares_[tags[voters == 0]]
        scores[np.concatenate([votes == 0, repeated], axis=1)] = -1.0
        best = np.lexsort((tags, -scores))[:, :k]
        return np.take_along_axis(tags, best, axis=1), np.take_along_axis(scores, best, axis=1)

    def _selected(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return X if self.words_.size == X.shape[1] else X[:, self.words_]

    def _kernel_arguments(self, questions: int) -> tuple[tuple[*Postings, *Columns], Postings, int, float]:
        n = self.tag_starts_.size - 1
        frozen: Any = frozen_arrays_of(self, self.word_starts_, self.documents_, self.weights_)
        index = (*frozen, *columns_of(self, frozen, n, questions))
        return index, freeze(self._tagging()), min(self.n_documents, n), 1.0

    def _tagging(self) -> Postings:
        return self.tag_starts_, self.tag_ids_, np.ones(self.tag_ids_.size, np.float32)


def _with_shares(votes: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Gives scores in [0, 1] whose order is that of (votes, shares), and every vote above none."""
    return np.where(votes > 0, (1 - 2 * _EPSILON) * votes + _EPSILON, 0.0) + _EPSILON * shares


def _top_tags(Y: sp.csr_matrix, shares: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Gives (starts, ids) of at most t tags of each document, those with most counts."""
    tags_per_document = np.diff(Y.indptr)
    documents = np.repeat(np.arange(Y.shape[0]), tags_per_document)
    order = np.lexsort((Y.indices, -shares[Y.indices], -Y.data, documents))
    place = np.arange(Y.nnz) - np.repeat(Y.indptr[:-1], tags_per_document)
    starts = np.concatenate(([0], np.cumsum(np.minimum(tags_per_document, t))))
    return starts.astype(np.int64), Y.indices[order][place < t].astype(np.int32)
