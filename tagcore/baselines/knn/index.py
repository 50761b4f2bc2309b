"""The inverted index, and how kernels read it: postings of rare words, columns of common ones.

To add a column of weights to the similarities of all documents takes vector registers, where postings take a jump
each: of a word that an eighth of the documents have, or more, the column is quicker, up to some ten times, and at most
four times as large. What is added is the same, in the same order, so the bits are. Columns are made once somebody has
asked so much that they are worth it, and are not stored.
"""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.read_only import freeze
from tagcore.scikit import normalize

COMMON = 8  # a word of one in so many documents is common
_WORTH = 16  # questions that take longer without columns than it takes to make these
_MOST_CELLS = 2**26  # of columns, a quarter of a gigabyte: the most common words have one

Postings = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts, ids, weights
Columns = tuple[np.ndarray, np.ndarray]  # numbers of the common words, rising; (words, documents) their weights


def inverted_index(X: sp.csr_matrix) -> Postings:
    """Lists the documents of every word with their weights, rows brought to unit length."""
    index = normalize(X).tocsc()
    return index.indptr.astype(np.int64), index.indices.astype(np.int32), index.data.astype(np.float32)


def common_columns(postings: Postings, n_documents: int) -> Columns:
    """Gives the columns of the common words.

    >>> words, columns = common_columns(inverted_index(sp.csr_matrix([[3.0, 4.0], [1.0, 0.0]])), 2)
    >>> words.tolist(), columns.tolist()
    ([0, 1], [[0.6000000238418579, 1.0], [0.800000011920929, 0.0]])
    """
    starts, documents, weights = postings
    counts = np.diff(starts)
    words = np.flatnonzero(counts * COMMON >= max(n_documents, 1))
    most = _MOST_CELLS // max(n_documents, 1)
    words = np.sort(words[np.argsort(-counts[words], kind="stable")[:most]])
    columns = np.zeros((words.size, n_documents), np.float32)
    for column, word in zip(columns, words, strict=True):
        of_word = slice(starts[word], starts[word + 1])
        column[documents[of_word]] = weights[of_word]
    return freeze((words.astype(np.int32), columns))


class _Asked:
    """The columns of one index, and how many questions came before they were made."""

    def __init__(self, postings: Postings, n_documents: int) -> None:
        self.postings, self.n_documents, self.questions = postings, n_documents, 0
        self.columns: Columns = freeze((np.empty(0, np.int32), np.empty((0, n_documents), np.float32)))

    def are_of(self, postings: Postings) -> bool:
        return all(now is before for now, before in zip(postings, self.postings, strict=True))

    def ask(self, questions: int) -> Columns:
        before, self.questions = self.questions, min(self.questions + questions, _WORTH)
        if before < _WORTH <= self.questions:
            self.columns = common_columns(self.postings, self.n_documents)
        return self.columns


_asked: WeakKeyDictionary[Any, _Asked] = WeakKeyDictionary()


def columns_of(owner: Any, postings: Postings, n_documents: int, questions: int) -> Columns:
    """Gives the columns of the common words of a model's index, as it is asked so many more questions; no columns as
    long as these are few."""
    known = _asked.get(owner)
    if known is None or not known.are_of(postings):
        known = _asked[owner] = _Asked(postings, n_documents)
    return known.ask(questions)
