"""In how many documents each term is, and how often: counted in parts, wherever the documents are, that add up."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tagcore.kernels.text import tfidf as kernel
from tagcore.text.ngrams import GramTable
from tagcore.text.string_arrays import from_buffers
from tagcore.text.terms import TermTable
from tagcore.text.tokens import Sequences

Arrays = dict[str, np.ndarray]


class TermCounts(NamedTuple):
    """Counts of the terms of some documents, by id."""

    n_documents: int
    df: np.ndarray
    tf: np.ndarray
    strings: Callable[[np.ndarray], pa.Array]  # the terms with these ids


class Frequencies:
    """Document and term frequencies by id; nothing is kept per document."""

    def __init__(self, tf_type: type = np.int64) -> None:
        self.n_documents = 0
        self._df = np.empty(0, np.int64)
        self._tf: np.ndarray = np.empty(0, tf_type)
        self._n_terms = 0

    def grow(self, n_terms: int) -> None:
        """Makes room for `n_terms` terms."""
        if n_terms > self._df.size:
            room = max(n_terms, 2 * self._df.size) - self._df.size
            self._df, self._tf = (np.concatenate([a, np.zeros(room, a.dtype)]) for a in (self._df, self._tf))
        self._n_terms = n_terms

    def add(self, ids: np.ndarray, df: np.ndarray, tf: np.ndarray, n_documents: int) -> None:
        """Adds frequencies that were counted elsewhere; every id once."""
        self._df[ids] += df
        self._tf[ids] += tf
        self.n_documents += n_documents

    @property
    def df(self) -> np.ndarray:
        return self._df[: self._n_terms]

    @property
    def tf(self) -> np.ndarray:
        return self._tf[: self._n_terms]


class TextFrequencies(Frequencies):
    """Frequencies of the terms of texts, counted block by block."""

    def __init__(self) -> None:
        super().__init__()
        self._last_text = np.empty(0, np.int64)  # the last text with the term

    def add_texts(self, sequences: Sequences, n_terms: int) -> None:
        """Counts one block of texts; `n_terms` are known by now."""
        self.grow(n_terms)
        unseen = np.full(self._df.size - self._last_text.size, -1)
        self._last_text = np.concatenate([self._last_text, unseen]) if unseen.size else self._last_text
        kernel.tally(*sequences, self.n_documents, self._df, self._tf, self._last_text)
        self.n_documents += sequences.indptr.size - 1


class MergedFrequencies:
    """Frequencies of parts of the documents, added up: by the ids of `fixed` terms, or by the terms themselves.

    Counts of texts are integers and add up to the same in any order; sums of real values are those of the order given.
    """

    def __init__(self, fixed: pa.Array | None, tf_type: type) -> None:
        self._fixed = fixed
        self._words = TermTable()
        self._grams: GramTable | None = None
        self._frequencies = Frequencies(tf_type)
        self._frequencies.grow(0 if fixed is None else len(fixed))

    def add(self, part: Arrays) -> None:
        """Adds one part: `ids` of fixed terms, or `words` as strings, or also `grams` as runs of words, with counts."""
        ids = part["ids"] if "ids" in part else self._ids_of_terms(part)
        self._frequencies.add(ids, part["df"], part["tf"], int(part["n_documents"]))

    @property
    def counts(self) -> TermCounts:
        frequencies = self._frequencies
        return TermCounts(frequencies.n_documents, frequencies.df, frequencies.tf, self._strings)

    def _ids_of_terms(self, part: Arrays) -> np.ndarray:
        ids = self._words.add(from_buffers(part["words"], part["offsets"]))
        if "grams" in part:
            self._grams = self._grams or GramTable()
            ids = self._grams.plant(Sequences(ids[part["grams"]], part["indptr"]))
        self._frequencies.grow(len(self._words if self._grams is None else self._grams))
        return ids

    def _strings(self, ids: np.ndarray) -> pa.Array:
        if self._fixed is not None:
            return self._fixed.take(ids)
        return self._words.strings(ids) if self._grams is None else self._grams.strings(ids, self._words)
