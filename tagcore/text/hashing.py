"""Columns of terms by hashing, those of scikit-learn's HashingVectorizer without signs: nothing is learnt."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.kernels.text.hashing import columns_of, columns_of_grams
from tagcore.kernels.text.tfidf import drop, relabel
from tagcore.text.analysis import STOP, Analysis, TermLearner
from tagcore.text.string_arrays import buffers
from tagcore.text.tokens import Sequences


def column_names(n_columns: int) -> pa.Array:
    """Names columns that many terms may share: `#0`, `#1`, ..."""
    numbers = pa.array(np.arange(n_columns)).cast(pa.large_string())
    return pc.binary_join_element_wise(pa.scalar("#", pa.large_string()), numbers, pa.scalar("", pa.large_string()))


class HashedTerms:
    """Columns of any terms. Safe to use from several threads: terms are known for the time of one block of texts."""

    def __init__(self, analysis: Analysis, n_columns: int) -> None:
        self._words = replace(analysis, ngram_range=(1, 1))
        self._ngram_range, self._n_columns = analysis.ngram_range, n_columns

    def __len__(self) -> int:
        return self._n_columns

    def ids(self, texts: pa.Array, prefix: str = "") -> Sequences:
        terms = TermLearner(self._words)
        sequences = terms.ids(texts, prefix)
        spelling = buffers(terms.strings(np.arange(len(terms))))
        if self._ngram_range == (1, 1):
            columns = columns_of(*spelling, self._n_columns)
            return Sequences(relabel(sequences.ids, columns), sequences.indptr)
        words = drop(*sequences, STOP)
        arguments = (*words, *spelling, *self._ngram_range, self._n_columns)
        return Sequences(*columns_of_grams(*arguments))

    def strings(self, ids: np.ndarray) -> pa.Array:
        return column_names(self._n_columns).take(pa.array(ids))

    def term_arrays(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Gives the terms with these ids, as `MergedFrequencies` takes them."""
        return {"ids": ids}
