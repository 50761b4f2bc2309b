"""From texts to sequences of term ids: words, without stop words, stemmed, joined to n-grams; or character n-grams.

A `TermLearner` gives every new term an id; a `TermLookup` knows a fixed list of terms and finds their columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.kernels.text.tfidf import drop, relabel
from tagcore.text.characters import character_grams
from tagcore.text.ngrams import GramTable
from tagcore.text.stemming import Stemmer
from tagcore.text.string_arrays import buffers
from tagcore.text.terms import TermTable
from tagcore.text.tokens import Sequences, tokenise

_UNKNOWN, STOP = -1, -2  # no term, and ends an n-gram; no term, and n-grams pass over it


class WordReader(Protocol):
    """A function that reads texts into ids of a table of words, -1 for unknown ones if it may not grow."""

    def __call__(self, texts: pa.Array, table: TermTable, *, grow: bool) -> Sequences: ...


@dataclass(frozen=True, eq=False)
class Analysis:
    """How texts become terms."""

    read: WordReader
    stop_words: pa.Array
    stemmer: Stemmer | None
    ngram_range: tuple[int, int]

    @property
    def makes_ngrams(self) -> bool:
        return self.ngram_range != (1, 1)

    @cached_property
    def stop_table(self) -> TermTable:
        """The stop words alone, which nobody adds to."""
        table = TermTable(len(self.stop_words))
        table.add(self.stop_words)
        return table

    def stems(self, words: pa.Array) -> pa.Array:
        """Gives the words as they are counted: their stems, or the words themselves."""
        return pa.array(self.stemmer(words.to_pylist()), pa.large_string()) if self.stemmer else words


def word_analysis(
    lowercase: bool, stop_words: frozenset[str], stemmer: Stemmer | None, ngram_range: tuple[int, int]
) -> Analysis:
    """Gives the analysis by the words of scikit-learn's default pattern, read by the kernel."""

    def read(texts: pa.Array, table: TermTable, *, grow: bool) -> Sequences:
        return tokenise(texts, table, lowercase=lowercase, grow=grow)

    return Analysis(read, pa.array(sorted(stop_words), pa.large_string()), stemmer, ngram_range)


def character_analysis(lowercase: bool, ngram_range: tuple[int, int]) -> Analysis:
    """Gives the analysis by character n-grams within words, read by the kernel."""

    def read(texts: pa.Array, table: TermTable, *, grow: bool) -> Sequences:
        return character_grams(texts, table, ngram_range, lowercase=lowercase, grow=grow)

    return Analysis(read, pa.array([], pa.large_string()), None, (1, 1))


def python_analysis(analyse: Callable[[str], list[str]]) -> Analysis:
    """Gives the analysis by whatever a Python function finds in a text, one text at a time."""

    def read(texts: pa.Array, table: TermTable, *, grow: bool) -> Sequences:
        terms_by_text = [list(analyse(text)) for text in texts.to_pylist()]
        terms = [term for of_text in terms_by_text for term in of_text]
        odd = next((term for term in terms if not isinstance(term, str)), None)
        if odd is not None:
            raise ValueError(f"the analyser must give strings, got {type(odd).__name__} {odd!r:.80}")
        strings = pa.array(terms, pa.large_string())
        indptr = np.cumsum([0, *map(len, terms_by_text)])
        return Sequences(table.add(strings) if grow else table.find(strings), indptr)

    return Analysis(read, pa.array([], pa.large_string()), None, (1, 1))


class TermLearner:
    """Ids of all terms that come by. Words read under a `prefix` are terms of their own."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._counted = TermTable()
        self._readings: dict[str, _Reading] = {}
        self._grams = GramTable() if analysis.makes_ngrams else None

    def __len__(self) -> int:
        return len(self._counted if self._grams is None else self._grams)

    def ids(self, texts: pa.Array, prefix: str = "") -> Sequences:
        analysis, reading = self._analysis, self._reading(prefix)
        sequences = analysis.read(texts, reading.words, grow=True)
        if len(analysis.stop_words) or reading.words is not self._counted:
            self._label_new_words(reading, prefix)
            sequences = Sequences(relabel(sequences.ids, reading.labels), sequences.indptr)
        if self._grams is None:
            return sequences
        sequences = Sequences(*drop(*sequences, STOP))
        return self._grams.extract(sequences, analysis.ngram_range, grow=True)

    def strings(self, ids: np.ndarray) -> pa.Array:
        return self._counted.strings(ids) if self._grams is None else self._grams.strings(ids, self._counted)

    def term_arrays(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Gives the terms with these ids, as `MergedFrequencies` takes them."""
        if self._grams is None:
            return _string_buffers(self._counted.strings(ids))
        words, indptr = self._grams.words(ids)
        return _string_buffers(self._counted.strings(np.arange(len(self._counted)))) | {
            "grams": words,
            "indptr": indptr,
        }

    def _reading(self, prefix: str) -> "_Reading":
        if prefix not in self._readings:
            as_counted = not prefix and not self._analysis.stemmer
            self._readings[prefix] = _Reading(self._counted if as_counted else TermTable(), np.empty(0, np.int32))
        return self._readings[prefix]

    def _label_new_words(self, reading: "_Reading", prefix: str) -> None:
        new = np.arange(len(reading.labels), len(reading.words), dtype=np.int32)
        words = reading.words.strings(new)
        kept = self._analysis.stop_table.find(words) < 0
        labels = np.full(new.size, STOP, np.int32)
        labels[kept] = self._counted.add(_prefixed(prefix, self._analysis.stems(words.filter(pa.array(kept)))))
        reading.labels = np.concatenate([reading.labels, labels])


@dataclass(eq=False)
class _Reading:
    """The words read under one prefix, and the id of each among those counted."""

    words: TermTable
    labels: np.ndarray


class TermLookup:
    """Columns of known terms, in the order given. Safe to use from several threads: nothing in it changes.

    Words read under one of the `prefixes` are looked for with it before them.
    """

    def __init__(self, analysis: Analysis, terms: pa.Array, prefixes: Sequence[str] = ()) -> None:
        self._analysis = analysis
        self.strings = terms.take
        self._n_terms = len(terms)
        self._words = TermTable(len(terms))
        self._grams = None
        if analysis.makes_ngrams:
            parts = pc.split_pattern(terms, " ")
            self._grams = GramTable()
            words = Sequences(self._words.add(parts.flatten()), parts.offsets.to_numpy().astype(np.int64))
            grams = self._grams.plant(words)
            self._columns = np.full(len(self._grams), _UNKNOWN, np.int32)
            self._columns[grams] = np.arange(len(terms), dtype=np.int32)
        else:
            self._words.add(terms)
        self._labels = None
        self._readings = {prefix: self._prefixed_reading(prefix) for prefix in prefixes}
        if len(analysis.stop_words) and not analysis.stemmer:
            stops = self._words.add(analysis.stop_words)
            self._labels = np.arange(len(self._words), dtype=np.int32)
            self._labels[stops] = STOP

    def __len__(self) -> int:
        return self._n_terms

    def ids(self, texts: pa.Array, prefix: str = "") -> Sequences:
        analysis = self._analysis
        if analysis.stemmer:
            sequences = self._stemmed(texts, prefix)
        elif prefix:
            reading = self._readings[prefix]
            sequences = analysis.read(texts, reading.words, grow=False)
            sequences = Sequences(relabel(sequences.ids, reading.labels), sequences.indptr)
        else:
            sequences = analysis.read(texts, self._words, grow=False)
            if self._labels is not None:
                sequences = Sequences(relabel(sequences.ids, self._labels), sequences.indptr)
        if self._grams is None:
            return sequences
        sequences = self._grams.extract(Sequences(*drop(*sequences, STOP)), analysis.ngram_range, grow=False)
        return Sequences(relabel(sequences.ids, self._columns), sequences.indptr)

    def term_arrays(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Gives the terms with these ids, as `MergedFrequencies` takes them."""
        return {"ids": ids}

    def _prefixed_reading(self, prefix: str) -> _Reading:
        """The known words under a prefix, without it, and their ids among all words."""
        strings = self._words.strings(np.arange(len(self._words)))
        known = np.flatnonzero(pc.starts_with(strings, prefix).to_numpy(zero_copy_only=False))
        bare = pc.utf8_slice_codeunits(strings.take(pa.array(known)), len(prefix))
        table = TermTable(len(bare))
        table.add(bare)  # each once: ids in order
        labels = known.astype(np.int32)
        if len(self._analysis.stop_words):
            stops = table.add(self._analysis.stop_words)
            labels = np.concatenate([labels, np.full(len(table) - labels.size, STOP, np.int32)])
            labels[stops] = STOP
        return _Reading(table, labels)

    def _stemmed(self, texts: pa.Array, prefix: str) -> Sequences:
        """Reads stems. Any word may have a known stem, so the block's own words are collected and stemmed first: behind
        the stop words, which come with the lowest ids."""
        stop_words = self._analysis.stop_table
        block_words = stop_words.copy()
        sequences = self._analysis.read(texts, block_words, grow=True)
        labels = np.full(len(block_words), STOP, np.int32)
        words = block_words.strings(np.arange(len(stop_words), len(block_words)))
        labels[len(stop_words) :] = self._words.find(_prefixed(prefix, self._analysis.stems(words)))
        return Sequences(relabel(sequences.ids, labels), sequences.indptr)


def _prefixed(prefix: str, words: pa.Array) -> pa.Array:
    if not prefix:
        return words
    return pc.binary_join_element_wise(pa.scalar(prefix, words.type), words, pa.scalar("", words.type))


def _string_buffers(strings: pa.Array) -> dict[str, np.ndarray]:
    data, offsets = buffers(strings)
    return {"words": data, "offsets": offsets}
