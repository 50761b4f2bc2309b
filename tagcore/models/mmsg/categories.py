"""The category of a document is its foremost tag; what tags the documents of a category have makes its shares."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Categories:
    """Which tags are categories, and the category of every document that has one."""

    tags: np.ndarray  # of category c the tag, rising
    documents: np.ndarray  # numbers of the documents that have a category, rising
    of_document: np.ndarray  # of each of them the category


def choose_categories(Y: sp.csr_matrix, most: int | None, min_docs: int) -> Categories:
    """Gives every document the category that it has most of, among the `most` common tags.

    Of equal counts the tag goes first that is more common, then that of the lower id. A category of fewer than
    `min_docs` documents hands them to the foremost of their other tags that is a category, where there is one; where
    no category would be left, small ones stay.
    """
    entries = _ranked_entries(Y, most)
    documents, tags = _foremost(*entries)
    sizes = np.bincount(tags, minlength=Y.shape[1])
    large = sizes >= min_docs
    if large.any():
        rows, of_row = entries
        documents, tags = _foremost(rows[large[of_row]], of_row[large[of_row]])
    kept, codes = np.unique(tags, return_inverse=True)
    return Categories(kept, documents, codes.astype(np.int64))


def tag_shares(Y: sp.csr_matrix, categories: Categories, weights: str) -> sp.csr_matrix:
    """Gives s(t|c), CSR (C, T), rows of sum 1: the mean over documents of a category of how each parts its tags.

    `weights` "counts" gives a document with more taggings more to say.
    """
    own = Y[categories.documents].astype(np.float64)
    if weights == "documents":
        own = sp.diags_array(1.0 / np.asarray(own.sum(axis=1)).ravel()) @ own
    n, C = categories.documents.size, categories.tags.size
    members = sp.csr_matrix((np.ones(n), (categories.of_document, np.arange(n))), shape=(C, n))
    sums = members @ own
    shares = sp.csr_matrix(sp.diags_array(1.0 / np.asarray(sums.sum(axis=1)).ravel()) @ sums)
    shares.sort_indices()
    return shares


def _ranked_entries(Y: sp.csr_matrix, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(documents, tags) of all taggings with tags that may be categories; of a document the foremost first."""
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    known = Y.data > 0
    rows, tags, counts = rows[known], Y.indices[known], Y.data[known]
    total = np.bincount(tags, counts, minlength=Y.shape[1])
    if most is not None and most < total.size:
        common = np.zeros(total.size, bool)
        common[np.argsort(-total, kind="stable")[:most]] = True
        rows, tags, counts = rows[common[tags]], tags[common[tags]], counts[common[tags]]
    order = np.lexsort((tags, -total[tags], -counts, rows))
    return rows[order], tags[order]


def _foremost(rows: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    documents, first = np.unique(rows, return_index=True)
    return documents, tags[first]
