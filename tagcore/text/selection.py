"""Which words tell most about tags: mutual information with classes, information gain over tags, in nats.

A word or tag is present in a document where its value is above 0; nothing else of the values matters.
"""

import numbers
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import xlogy
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from tagcore.kernels.text.selection import add_meetings, document_frequencies, keep_columns, postings, sum_never_met
from tagcore.label_matrix import label_matrix

MIN_TAG_DF = 20
_MANY = 2**16 - 1  # numbers of 16 bits sort by radix


def information_gain(X: sp.csr_matrix, Y: sp.csr_matrix, min_tag_df: int = MIN_TAG_DF) -> np.ndarray:
    """Gives IG(w) = Σ_t MI(presence of w; presence of t) over the tags t on at least `min_tag_df` documents.

    A word and a tag that never meet contribute what their document frequencies alone decide, so that is summed once
    for each pair of frequencies; only pairs that meet are looked at, and no words × tags array exists. The gain of a
    word depends on no other word: a corpus too large for memory can be given some columns at a time.
    """
    X, Y = _canonical(X), _canonical(Y)
    n = _same_rows(X, Y)
    word_df = document_frequencies(X.data, X.indices, X.shape[1])
    tag_df = document_frequencies(Y.data, Y.indices, Y.shape[1])
    kept = np.flatnonzero(tag_df >= max(min_tag_df, 1))
    renumbered = np.full(Y.shape[1], -1, np.int32)
    renumbered[kept] = np.arange(kept.size, dtype=np.int32)
    tag_starts, tag_ids = keep_columns(Y.data, Y.indices, Y.indptr, renumbered)
    # equally many tags from row to row: the processor then foresees where the loop over them ends
    order = np.argsort(np.minimum(np.diff(tag_starts), _MANY).astype(np.uint16), kind="stable")
    starts, rows = postings(X.data, X.indices, X.indptr, word_df, order)
    xlogx = _xlogx(np.arange(n + 1))
    gains = _never_together(word_df, tag_df[kept], xlogx)
    add_meetings(starts, rows, tag_starts, tag_ids, tag_df[kept], xlogx, gains)
    return np.maximum(gains, 0.0) / max(n, 1)


def mutual_information(X: sp.csr_matrix, labels: ArrayLike | sp.csr_matrix) -> np.ndarray:
    """Gives MI(w) = MI(presence of w; class), for one class per document: a vector of labels, or one-hot rows."""
    classes, class_of_row = np.unique(_label_vector(labels), return_inverse=True)
    sizes = np.bincount(class_of_row, minlength=classes.size)
    return mutual_information_of_counts(class_counts(X, class_of_row, classes.size), sizes)


def class_counts(X: sp.csr_matrix, classes: np.ndarray, n_classes: int) -> sp.csr_matrix:
    """Counts the documents of each class (a number below `n_classes`) that hold each word, K × words, sparse.

    Counts of row blocks add up to those of the whole.
    """
    X, classes = _canonical(X), np.asarray(classes)
    if classes.size and not 0 <= classes.min() <= classes.max() < n_classes:
        raise ValueError(f"classes run from {classes.min()} to {classes.max()}, expected 0 to {n_classes - 1}")
    presence = sp.csr_matrix(((X.data > 0).astype(np.int64), X.indices, X.indptr), shape=X.shape)
    n = len(classes)
    one_hot = sp.csr_matrix((np.ones(n, np.int64), classes, np.arange(n + 1)), shape=(n, n_classes))
    _same_rows(X, one_hot)
    return sp.csr_matrix(one_hot.T @ presence)


def mutual_information_of_counts(counts: sp.csr_matrix, sizes: np.ndarray) -> np.ndarray:
    """Gives MI of every word from summed `class_counts` and the number of documents of each class."""
    n = int(np.sum(sizes))
    df = np.asarray(counts.sum(axis=0)).ravel()
    cells = counts.tocoo()
    size = np.asarray(sizes)[cells.row]
    # a class without the word adds only its size to both entropies, and that cancels
    joint = _xlogx(cells.data) + _xlogx(size - cells.data) - _xlogx(size)
    total = np.bincount(cells.col, weights=joint, minlength=df.size) + _xlogx(n) - _xlogx(df) - _xlogx(n - df)
    return np.maximum(total, 0.0) / max(n, 1)


class SelectWords(SelectorMixin, BaseEstimator):
    """Keeps the words that tell most about the tags; ties go to the lower column.

    Parameters
    ----------
    measure : "information_gain" over the tags of a matrix y (n × L), or "mutual_information" with the classes of a
        vector or one-hot y.
    keep : how many words, or as a float which share of them (at least one).
    min_tag_df : information gain leaves out tags on fewer documents.

    Fitted: `scores_`, one per word.

    >>> X, Y = [[2, 1, 0], [1, 0, 0], [0, 1, 3], [0, 2, 1]], [[1, 0], [1, 0], [0, 2], [0, 1]]
    >>> SelectWords(keep=2, min_tag_df=2).fit(X, Y).get_support(indices=True)
    array([0, 2])
    """

    scores_: np.ndarray

    def __init__(self, measure: str = "information_gain", keep: float = 0.05, min_tag_df: int = MIN_TAG_DF) -> None:
        self.measure = measure
        self.keep = keep
        self.min_tag_df = min_tag_df

    def fit(self, X: Any, y: Any) -> Self:
        """Scores the words of rows X (n × D)."""
        X = sp.csr_matrix(validate_data(self, X, accept_sparse="csr", dtype=np.float64))
        if not _is_count(self.keep) and not (isinstance(self.keep, float) and 0 < self.keep <= 1):
            raise ValueError(f"keep must be an integer of at least 1 or a share above 0 up to 1, got {self.keep!r}")
        if self.measure == "information_gain":
            self.scores_ = self._gains(X, y)
        elif self.measure == "mutual_information":
            self.scores_ = mutual_information(X, y)
        else:
            raise ValueError(f'measure must be "information_gain" or "mutual_information", got {self.measure!r}')
        return self

    def _gains(self, X: sp.csr_matrix, y: Any) -> np.ndarray:
        if not _is_count(self.min_tag_df):
            raise ValueError(f"min_tag_df must be an integer of at least 1, got {self.min_tag_df!r}")
        Y = label_matrix(y, X.shape[0])
        if np.bincount(Y.indices, minlength=1).max() < self.min_tag_df:
            raise ValueError(
                f"no tag is on {self.min_tag_df} documents or more: information gain needs a lower min_tag_df"
            )
        return information_gain(X, Y, self.min_tag_df)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        share = self.keep if _is_count(self.keep) else max(1, round(self.keep * self.scores_.size))
        mask = np.zeros(self.scores_.size, bool)
        mask[np.argsort(-self.scores_, kind="stable")[: int(share)]] = True
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.target_tags.required = True
        return tags


def _never_together(word_df: np.ndarray, tag_df: np.ndarray, xlogx: np.ndarray) -> np.ndarray:
    """Gives n · Σ_t MI(w; t) of every word if it met no tag, computed once for each document frequency."""
    tags_with = np.bincount(tag_df, minlength=1)
    b = np.flatnonzero(tags_with)
    a = np.flatnonzero(np.bincount(word_df, minlength=1))
    of_df = np.zeros(xlogx.size)
    of_df[a] = sum_never_met(a, b, tags_with[b], xlogx)
    return of_df[word_df]


def _xlogx(counts: ArrayLike) -> np.ndarray:
    return xlogy(counts, counts)


def _canonical(matrix: Any) -> sp.csr_matrix:
    """Gives CSR, every column of a row once; the caller's matrix stays as it is."""
    if not (sp.issparse(matrix) and matrix.format == "csr"):
        matrix = sp.csr_matrix(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _same_rows(X: sp.csr_matrix, Y: Any) -> int:
    if X.shape[0] != Y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y has {Y.shape[0]}: inconsistent numbers of samples")
    return X.shape[0]


def _label_vector(labels: Any) -> np.ndarray:
    if labels is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if not sp.issparse(labels):
        labels = np.asarray(labels)
    if labels.ndim == 1:
        return labels
    one_hot = sp.csr_matrix(labels, copy=True)
    one_hot.sum_duplicates()
    one_hot.eliminate_zeros()
    classes_of_row = np.diff(one_hot.indptr)
    if (classes_of_row != 1).any():
        row = int((classes_of_row != 1).argmax())
        raise ValueError(f"row {row} of y has {classes_of_row[row]} classes, expected exactly one")
    return one_hot.indices


def _is_count(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1
