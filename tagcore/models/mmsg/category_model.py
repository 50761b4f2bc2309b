"""What models share that say a document's category first and then its tags by the shares of that category."""

import numpy as np
import scipy.sparse as sp

from tagcore.base import require_array, require_lists
from tagcore.features.rows import Rows
from tagcore.models.mmsg.categories import Categories, choose_categories, tag_shares
from tagcore.parameters import FLAG, MOST_IDS, Choice, Real, Whole, check_limits, limits
from tagcore.tag_model import TagModel
from tagcore.training import FitContext

CATEGORY_LIMITS = limits(
    n_categories=Whole(none=True), min_docs=Whole(), weights=Choice("documents", "counts"), normalise=FLAG
)


class CategoryModel(TagModel, abstract=True):
    """A model whose score of a tag is Σ_c p(c | text) s(t | c), s being how documents of category c part their tags.

    The category of a document is its foremost tag. A subclass writes `_fit_categories(rows, categories, context)`,
    which is given the documents that have a category, and `_category_proba(X)`, whose rows add up to 1. It has the
    parameters of `CATEGORY_LIMITS`.
    """

    _common_arrays = ("category_tags_", "share_starts_", "share_tags_", "shares_")
    _common_facts = (*TagModel._common_facts, "mean_tags_", "n_untagged_", "n_uncategorised_")

    category_tags_: np.ndarray
    share_starts_: np.ndarray  # s(tag | category), CSR
    share_tags_: np.ndarray
    shares_: np.ndarray
    mean_tags_: float  # of a document that has any
    n_untagged_: int
    n_uncategorised_: int

    def category_proba(self, X: object) -> np.ndarray:
        """Probabilities of the categories, (n, C), rows of sum 1."""
        return self._category_proba(self._checked(X))

    def proba(self, scores: np.ndarray) -> np.ndarray:
        """Scores add up to one over all tags of a document; it has `mean_tags_` of them."""
        return np.minimum(scores * self.mean_tags_, 1.0)

    def _fit_categories(self, rows: Rows, categories: np.ndarray, context: FitContext) -> None:
        """Learns the category, a number from 0, of every row."""
        raise NotImplementedError  # abstract

    def _category_proba(self, X: sp.csr_matrix) -> np.ndarray:
        raise NotImplementedError  # abstract

    def _fit(self, rows: Rows, context: FitContext) -> None:
        Y = rows.labels(slice(0, rows.n_rows)).astype(np.float64)
        Y.eliminate_zeros()
        tagged = np.diff(Y.indptr) > 0
        if tagged.any():
            categories = choose_categories(Y, self.n_categories, self.min_docs)
            shares = tag_shares(Y, categories, self.weights)
        else:  # nothing to suggest: one category of no tags
            categories = Categories(np.zeros(1, np.int64), np.arange(rows.n_rows), np.zeros(rows.n_rows, np.int64))
            shares = sp.csr_matrix((1, rows.n_labels))
        whole = categories.documents.size == rows.n_rows
        documents = rows if whole else rows.select(categories.documents)
        self._fit_categories(documents, categories.of_document, context)
        self.category_tags_ = categories.tags.astype(np.int64)
        self.share_starts_, self.share_tags_ = shares.indptr.astype(np.int64), shares.indices.astype(np.int32)
        self.shares_ = shares.data
        self.mean_tags_ = Y.nnz / max(1, int(tagged.sum()))
        self.n_untagged_ = int(rows.n_rows - tagged.sum())
        self.n_uncategorised_ = int(tagged.sum()) - categories.documents.size if tagged.any() else 0

    def _scores(self, X: sp.csr_matrix) -> np.ndarray:
        shape = self.category_tags_.size, self.n_labels_
        shares = sp.csr_matrix((self.shares_, self.share_tags_, self.share_starts_), shape=shape, copy=False)
        return np.ascontiguousarray((shares.T @ self._category_proba(X).T).T)

    def _check_state(self) -> None:
        super()._check_state()
        C, T = self.category_tags_.size, self.n_labels_
        check_limits({"mean_tags_": Real(least=0, most=T), "n_untagged_": Whole(0), "n_uncategorised_": Whole(0)}, self)
        require_array(self.category_tags_, (C,), np.int64, "category_tags_", 0, min(T - 1, MOST_IDS))
        require_lists(self.share_starts_, self.share_tags_, C, T, "shares_")
        require_array(self.shares_, self.share_tags_.shape, np.float64, "shares_", 0, 1 + 1e-9)
