"""Which terms make the vocabulary: limits of document frequencies, the most frequent ones, given ones."""

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.text.frequencies import TermCounts


class FrequencyLimits:
    """`min_df`, `max_df` and `max_features` as scikit-learn has them."""

    def __init__(self, min_df: float, max_df: float, max_features: int | None) -> None:
        self.min_df, self.max_df, self.max_features = min_df, max_df, max_features

    def choose(self, counts: TermCounts, sizes: np.ndarray, *, keep_order: bool) -> tuple[np.ndarray, pa.Array]:
        """Gives ids and terms within the limits, of these the ones of largest size: sorted, or in the order of ids."""
        ids = self.within(counts.df, counts.n_documents)
        ids, terms = (ids, counts.strings(ids)) if keep_order else sorted_terms(ids, counts.strings)
        best = self.most_frequent(sizes[ids])
        return ids[best], terms.take(pa.array(best))

    def within(self, df: np.ndarray, n_documents: int) -> np.ndarray:
        """Gives ids of the terms that some text holds and the limits allow; ValueError where there are none."""
        high = self.max_df if isinstance(self.max_df, Integral) else self.max_df * n_documents
        low = self.min_df if isinstance(self.min_df, Integral) else self.min_df * n_documents
        n_terms = int(np.count_nonzero(df))
        if not n_terms:
            raise ValueError(
                "empty vocabulary; perhaps the documents only contain stop words "
                f"({n_documents} documents, no term in any)"
            )
        if high < low:
            raise ValueError(
                f"max_df corresponds to < documents than min_df: {high:g} < {low:g} of {n_documents} documents"
            )
        kept = np.flatnonzero((df > 0) & (df >= low) & (df <= high))
        if not kept.size:
            raise ValueError(
                "After pruning, no terms remain. Try a lower min_df or a higher max_df. "
                f"(None of {n_terms} terms is in {low:g} to {high:g} of {n_documents} documents.)"
            )
        return kept

    def most_frequent(self, tf: np.ndarray) -> np.ndarray:
        """Gives places of the `max_features` most frequent terms, in order; ties fall as in scikit-learn."""
        if self.max_features is None or tf.size <= self.max_features:
            return np.arange(tf.size)
        return np.sort((-tf).argsort()[: self.max_features])


def sorted_terms(ids: np.ndarray, strings: Callable[[np.ndarray], pa.Array]) -> tuple[np.ndarray, pa.Array]:
    """Gives the ids and their strings in the order of `sorted`: UTF-8 bytes order as code points do."""
    terms = strings(ids)
    order = pc.array_sort_indices(terms)
    return ids[order.to_numpy()], terms.take(order)


def given_terms(vocabulary: Mapping[str, int] | Iterable[str]) -> pa.Array:
    """Gives the terms of a `vocabulary` parameter in column order; ValueError where it is no vocabulary."""
    if isinstance(vocabulary, Mapping):
        columns = sorted(vocabulary.values())
        if len(set(columns)) < len(columns):
            raise ValueError("Vocabulary contains repeated indices.")
        missing = next((i for i, column in enumerate(columns) if i != column), None)
        if missing is not None:
            raise ValueError(f"Vocabulary of size {len(columns)} doesn't contain index {missing}.")
        terms = sorted(vocabulary, key=vocabulary.__getitem__)
    else:
        terms = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not terms:
        raise ValueError("empty vocabulary passed to fit")
    return unique_strings(terms, "Duplicate term in vocabulary")


def unique_strings(names: Iterable[str], complaint: str) -> pa.Array:
    """Gives the names as an arrow array; ValueError where one is no string or comes twice."""
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"term {i}: expected a str, got {type(name).__name__} {name!r:.80}")
        if first.setdefault(name, i) != i:
            raise ValueError(f"{complaint}: {name!r:.80} at {first[name]} and {i}")
    return pa.array(list(first), pa.large_string())
