"""Similarity of documents and tags through all that relates them: the SimFusion baseline of PMM."""

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_csr
from tagcore.baselines.popular import document_shares, require_shares
from tagcore.features.rows import Rows, load_all
from tagcore.parameters import POSITIVE, Whole, limits
from tagcore.scikit import normalize
from tagcore.tag_model import TagModel
from tagcore.training import FitContext

_BLOCK_CELLS = 4_000_000  # things × rows that are held at once


class SimFusion(TagModel):
    """Documents, words and tags are alike where what they are related to is alike (Xi et al. 2005).

    Every thing spreads a weight of 1 over what it is related to: a document over itself, its words and its tags, a word
    or tag over itself and its documents. With L the matrix of these weights, S = I at first and S ← L S Lᵀ in every
    round; a tag scores its share of the similarity of a document to all tags. S is never formed: a document's row of
    Lᵗ (Lᵗ)ᵀ takes 2t sparse products. A document none of whose words is known gets the shares of `Popular`.

    With ever more rounds all things become equally alike, so their number is a choice and not a matter of convergence.

    Parameters
    ----------
    max_iter : rounds; one alone finds nothing in common, as words and documents are not yet related to each other.
    own, words, tags : what a thing's relation to itself, the relation of documents and words, and that of documents and
        tags weigh against one another. Without `own` no document would be like any tag: they are an odd number of
        steps apart.
    """

    _arrays = ("link_starts_", "link_ids_", "link_weights_", "shares_")
    _rounds = ("max_iter",)
    _limits = limits(max_iter=Whole(1, 1000), own=POSITIVE, words=POSITIVE, tags=POSITIVE)

    link_starts_: np.ndarray  # L, things × things: documents, then words, then tags
    link_ids_: np.ndarray
    link_weights_: np.ndarray
    shares_: np.ndarray

    def __init__(self, max_iter: int = 5, own: float = 1.0, words: float = 1.0, tags: float = 1.0) -> None:
        self.max_iter = max_iter
        self.own = own
        self.words = words
        self.tags = tags

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _fit(self, rows: Rows, context: FitContext) -> None:
        X, Y = load_all(rows)
        if X.nnz and X.data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to SimFusion: X holds {X.data.min()}, expected weights of at least 0"
            )
        links = related(X, Y, self.own, self.words, self.tags)
        self.link_starts_ = links.indptr.astype(np.int64)
        self.link_ids_ = links.indices.astype(np.int32)
        self.link_weights_ = links.data.astype(np.float32)
        self.shares_ = document_shares(Y)

    def _check_state(self) -> None:
        super()._check_state()
        things = self.link_starts_.size - 1
        require_csr(self.link_starts_, self.link_ids_, self.link_weights_, things, things, "the links")
        require_array(self.link_weights_, self.link_weights_.shape, np.float32, "link_weights_", 0, 1 + 1e-6)
        require_shares(self.shares_, self.n_labels_)
        if things <= self.n_features_in_ + self.n_labels_:
            raise ValueError("there is no document to be like")

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        scores = np.empty((X.shape[0], self.n_labels_))
        step = max(1, _BLOCK_CELLS // (self.link_starts_.size - 1))
        links = self._links()
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            scores[rows] = self._similarity_to_tags(X[rows], links)
        totals = scores.sum(axis=1, keepdims=True)
        return np.where(totals > 0, np.divide(scores, totals, where=totals > 0, out=scores), self.shares_)

    def _similarity_to_tags(self, X: sp.csr_matrix, links: sp.csr_matrix) -> np.ndarray:
        """A new document's row of Lᵗ (Lᵗ)ᵀ; it is related to itself and its words, and nothing is to it."""
        things, first_tag = links.shape[0], links.shape[0] - self.n_labels_
        first_word = first_tag - self.n_features_in_
        own = self.own / (self.own + self.words)
        at_words = normalize(X, norm="l1").T.astype(np.float32).toarray() * np.float32(1 - own)
        reached = np.zeros((things, X.shape[0]), np.float32)
        for step in range(self.max_iter):  # what the document reaches; it keeps own^step for itself
            reached = links.T @ reached if step else reached
            reached[first_word:first_tag] += np.float32(own**step) * at_words
        for _ in range(self.max_iter - 1):  # and which things reach the same
            reached = links @ reached
        return np.asarray(links[first_tag:] @ reached).T

    def _links(self) -> sp.csr_matrix:
        things = self.link_starts_.size - 1
        return sp.csr_matrix((self.link_weights_, self.link_ids_, self.link_starts_), shape=(things, things))


def related(X: sp.csr_matrix, Y: sp.csr_matrix, own: float, words: float, tags: float) -> sp.csr_matrix:
    """Gives the unified relationship matrix: rows of documents, words and tags, each with the sum 1.

    What a thing is not related to at all leaves its weight to the others.
    """
    selves = sp.identity(sum(X.shape) + Y.shape[1], format="csr") * own
    between = [
        [None, normalize(X, norm="l1") * words, normalize(Y, norm="l1") * tags],
        [normalize(X.T.tocsr(), norm="l1") * words, None, None],
        [normalize(Y.T.tocsr(), norm="l1") * tags, None, None],
    ]
    return sp.csr_matrix(normalize(sp.csr_matrix(selves + sp.bmat(between, format="csr")), norm="l1"))
