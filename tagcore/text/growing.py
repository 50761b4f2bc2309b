"""A night's new words: appended behind those that a fitted vectoriser knows, whose columns and weights stay."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.text.frequencies import Arrays, MergedFrequencies, TermCounts
from tagcore.text.saving import FittedVectoriser
from tagcore.text.term_ids import fixed_terms
from tagcore.text.vectoriser import Vectoriser
from tagcore.text.vocabulary import FrequencyLimits, sorted_terms, unique_strings


@dataclass(frozen=True)
class GrownWords:
    """How far the words of new documents are known."""

    appended: int
    occurrences: float  # of words of the grown vocabulary, in the new documents
    unknown: float  # of these, of words that came after the first `known`


class ColumnsMoved(ValueError):
    """Counted words whose columns are not those of before with new ones behind them."""


def append_terms(
    vectoriser: Vectoriser, parts: Iterable[Arrays], names: list[str] | None = None, known: int | None = None
) -> tuple[Vectoriser, GrownWords]:
    """Gives a vectoriser with the terms appended that `min_df`, `max_df` and `max_features` allow among new documents.

    `parts` count the terms of these, as `fit_frequencies` takes them; `names` are the columns of counted words. Terms
    that are known keep column, document frequency and idf; new ones get the idf of all documents so far. The first
    `known` terms, or all of the vectoriser's, count as known.
    """
    merged = _merged(vectoriser, parts, names)
    counts, columns = merged.counts, _columns_of(vectoriser, merged.counts, names)
    fresh = _fresh_ids(vectoriser, counts, columns)
    if names is None:
        fresh, terms = sorted_terms(fresh, counts.strings)
    else:  # columns that were there and not taken stay out, so that those of terms rise
        fresh = fresh[fresh >= vectoriser.n_features_in_]
        terms = counts.strings(fresh)
    by_df = vectoriser.binary or vectoriser.max_features_by == "df"
    best = _room(vectoriser).most_frequent((counts.df if by_df else counts.tf)[fresh].astype(np.float64))
    fresh, terms = fresh[best], terms.take(pa.array(best))
    n, before = vectoriser.n_documents_ + counts.n_documents, len(vectoriser._terms)
    grown = Vectoriser(**vectoriser.get_params())
    inputs = vectoriser.columns_, vectoriser.n_features_in_
    grown._set_fitted(
        FittedVectoriser(
            terms=pa.concat_arrays([vectoriser._terms.cast(pa.large_string()), terms.cast(pa.large_string())]),
            df=np.concatenate([vectoriser.df_, counts.df[fresh]]),
            idf=np.concatenate([vectoriser.idf_, grown._idf(counts.df[fresh], n)]),
            n_documents=n,
            columns=np.concatenate([inputs[0], fresh if names is not None else before + np.arange(fresh.size)]),
            n_features_in=len(names) if names is not None else before + fresh.size,
        )
    )
    in_vocabulary = columns >= 0
    in_vocabulary[fresh] = True
    old = (columns >= 0) & (columns < (before if known is None else known))
    occurrences = float(counts.tf[in_vocabulary].sum())
    return grown, GrownWords(int(fresh.size), occurrences, occurrences - float(counts.tf[old].sum()))


def _merged(vectoriser: Vectoriser, parts: Iterable[Arrays], names: list[str] | None) -> MergedFrequencies:
    if names is None:
        merged = MergedFrequencies(fixed_terms(vectoriser.get_params()), np.int64)
    else:
        merged = MergedFrequencies(unique_strings(names, "two columns have one name"), np.float64)
    for part in parts:
        merged.add(part)
    return merged


def _columns_of(vectoriser: Vectoriser, counts: TermCounts, names: list[str] | None) -> np.ndarray:
    """The column of every counted term in the vectoriser, -1 where it has none."""
    terms = counts.strings(np.arange(counts.df.size)).cast(pa.large_string())
    found = pc.index_in(terms, value_set=vectoriser._terms.cast(pa.large_string()))
    columns = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    if names is not None:
        expected = np.full(len(names), -1)
        inside = vectoriser.columns_[vectoriser.columns_ < len(names)]
        expected[inside] = np.arange(inside.size)
        if inside.size < vectoriser.columns_.size or not np.array_equal(columns, expected):
            raise ColumnsMoved("counted words have other columns than before")
    return columns


def _fresh_ids(vectoriser: Vectoriser, counts: TermCounts, columns: np.ndarray) -> np.ndarray:
    """Terms that are not known yet and that the limits allow, as if the new documents were all."""
    if vectoriser.vocabulary is not None:
        return np.empty(0, np.int64)
    n = counts.n_documents
    low, high = (
        limit if isinstance(limit, Integral) else limit * n for limit in (vectoriser.min_df, vectoriser.max_df)
    )
    # a share of few documents may be less than one of them
    high = max(high, 1)
    return np.flatnonzero((columns < 0) & (counts.df > 0) & (counts.df >= low) & (counts.df <= high))


def _room(vectoriser: Vectoriser) -> FrequencyLimits:
    most = vectoriser.max_features
    return FrequencyLimits(1, 1.0, None if most is None else max(0, most - len(vectoriser._terms)))
