"""Texts, or bags of words already counted, to tf-idf rows: scikit-learn's TfidfVectorizer for large corpora."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from tagcore.kernels.text.tfidf import relabel
from tagcore.text.analysis import Lookup, TermLearner
from tagcore.text.bags import bag_frequencies, clean_counts
from tagcore.text.columns import Texts, buffers, from_buffers, text_blocks
from tagcore.text.frequencies import Arrays, Gathering, TermCounts, TextFrequencies
from tagcore.text.parameters import build_analysis, check_parameters, warn_if_python
from tagcore.text.saving import FittedVectoriser, read, write
from tagcore.text.tokens import TOKEN_PATTERN, Sequences
from tagcore.text.vocabulary import FrequencyLimits, given_terms, sorted_terms, unique_strings
from tagcore.text.weighting import Weighting, inverse_document_frequency

_making = threading.Lock()  # of tables, which threads share


class Vectoriser(BaseEstimator):
    """Rows of term weights, equal to those of scikit-learn's TfidfVectorizer under the same settings.

    Parameters are scikit-learn's, and `stem`: a Snowball language, or None. Stop words are taken out before stemming,
    n-grams are made after it. A null among the texts is an empty text.

    Fitted: `terms_` in column order, `vocabulary_` (column by term), `df_`, `idf_` (ones without `use_idf`),
    `n_documents_`.

    >>> rows = Vectoriser(stop_words="english").fit_transform(["the cat sat", "a cat and a dog"])
    >>> rows.shape, rows.nnz
    ((2, 3), 4)
    """

    # made on demand
    _found: Lookup | None
    _strings: np.ndarray | None
    _index: dict[str, int] | None

    def __init__(
        self,
        *,
        strip_accents: Any = None,
        lowercase: bool = True,
        analyzer: Any = "word",
        stop_words: Any = None,
        token_pattern: str = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        stem: str | None = None,
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: npt.DTypeLike = np.float32,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
    ) -> None:
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.analyzer = analyzer
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.stem = stem
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf

    def fit(self, texts: Texts, y: Any = None) -> "Vectoriser":
        """Learns vocabulary and document frequencies; nothing is kept per text."""
        self._learn(text_blocks(texts))
        return self

    def fit_blocks(self, blocks: Iterable[Texts]) -> "Vectoriser":
        """As `fit`, from arrow string arrays that come one by one: for corpora larger than memory."""
        self._learn(array for block in blocks for array in text_blocks(block))
        return self

    def fit_transform(self, texts: Texts, y: Any = None) -> sp.csr_matrix:
        """`fit` and `transform` in one reading of the texts."""
        kept: list[Sequences] = []
        columns = self._learn(text_blocks(texts), kept)
        return self._rows(Sequences(relabel(found.ids, columns), found.indptr) for found in kept)

    def transform(self, texts: Texts) -> sp.csr_matrix:
        """One row per text; words outside the vocabulary count for nothing."""
        lookup = self._lookup()
        return self._rows(lookup.ids(block) for block in text_blocks(texts))

    def fit_counts(self, blocks: Iterable[sp.csr_matrix], names: Iterable[str]) -> "Vectoriser":
        """As `fit_blocks`, from CSR rows of counts; `names` are the terms of their columns and keep their order.

        Values below 0, as measured ones may be, need `use_idf`, `sublinear_tf` and `binary` to be off.
        """
        return self.fit_frequencies(self._count_blocks(blocks, names := list(names)), names)

    def count_terms(self, blocks: Iterable[Texts]) -> Arrays:
        """What `fit_frequencies` needs to know of some of the texts: their terms and how frequent these are."""
        seen, source = self._count(array for block in blocks for array in text_blocks(block))
        ids = np.flatnonzero(seen.df)
        counts = {"df": seen.df[ids], "tf": seen.tf[ids], "n_documents": np.array(seen.n_documents)}
        return source.plain(ids) | counts

    def count_bags(self, counts: sp.csr_matrix, width: int, rows: Any = slice(None), first: int = 0) -> Arrays:
        """The same of some `rows` of counts; all are checked, and `first` is the number of the first for messages."""
        return bag_frequencies(clean_counts(counts, width, first, signed=self._signed())[rows])

    def fit_frequencies(self, found: Iterable[Arrays], names: Iterable[str] | None = None) -> "Vectoriser":
        """As `fit_blocks`, or `fit_counts` where `names` are given, from what was counted in parts of the documents.

        Parts may be counted anywhere, by a vectoriser with the same parameters. Counted texts may come in any order;
        real values are summed in the order given.
        """
        params = self.get_params()
        check_parameters(params)
        if names is not None and self.vocabulary is not None:
            raise ValueError("counts take their terms from `names`: expected vocabulary=None")
        if names is None:
            warn_if_python(params)
            seen = Gathering(self._given(), np.int64)
        else:
            seen = Gathering(unique_strings(names, "two columns have one name"), np.float64)
        for part in found:
            seen.add(part)
        self._choose(seen.counts, columns=names is not None)
        return self

    def transform_counts(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Weights of counted rows with the columns that `fit_counts` saw, or those of `terms_` after another fit."""
        self._check_fitted()
        rows = clean_counts(counts, self.n_features_in_, signed=self._signed())
        if self.columns_.size < self.n_features_in_:
            rows = rows[:, self.columns_]
        return self._weighting().of_counts(rows)

    @property
    def terms_(self) -> np.ndarray:
        """Terms in column order, as str."""
        self._check_fitted()
        if self._strings is None:
            self._strings = self._terms.to_numpy(zero_copy_only=False)
        return self._strings

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Column by term."""
        self._check_fitted()
        if self._index is None:
            self._index = {term: column for column, term in enumerate(self.terms_)}
        return self._index

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return self.terms_.copy()

    def save(self, folder: Path | str) -> None:
        """Writes `vectoriser.json` and `terms.parquet` into the folder, which is made if need be."""
        self._check_fitted()
        fitted = FittedVectoriser(
            self._terms, self.df_, self.idf_, self.n_documents_, self.columns_, self.n_features_in_
        )
        write(Path(folder), self.get_params(), fitted)

    @classmethod
    def load(cls, folder: Path | str) -> "Vectoriser":
        """What `save` wrote; `VectoriserError` where it is damaged."""
        params, fitted = read(Path(folder), cls().get_params())
        loaded = cls(**params)
        loaded._settle(fitted)
        return loaded

    def parts(self) -> dict[str, Any]:
        """Plain data and arrays of which `from_parts` makes this vectoriser again, fitted or not, in any process."""
        params = self.get_params() | {"vocabulary": None}
        fitted = None
        terms = self._given()
        if self.__sklearn_is_fitted__():
            terms = self._terms
            fitted = (self.df_, self.idf_, self.n_documents_, self.columns_, self.n_features_in_)
        strings = None if terms is None else buffers(terms)
        return {"params": params, "given": self.vocabulary is not None, "terms": strings, "fitted": fitted}

    @classmethod
    def from_parts(cls, parts: dict[str, Any]) -> "Vectoriser":
        terms: Any = None if parts["terms"] is None else from_buffers(*parts["terms"])
        made = cls(**parts["params"] | {"vocabulary": terms.to_pylist() if parts["given"] else None})
        if parts["fitted"] is not None:
            made._settle(FittedVectoriser(terms, *parts["fitted"]))
        return made

    def _learn(self, blocks: Iterable[pa.Array], keep: list[Sequences] | None = None) -> np.ndarray:
        """Fits; returns the column of every id that `keep` may hold."""
        params = self.get_params()
        check_parameters(params)
        warn_if_python(params)
        seen, _ = self._count(blocks, keep)
        ids = self._choose(seen)
        columns = np.full(seen.df.size, -1, np.int32)
        columns[ids] = np.arange(ids.size, dtype=np.int32)
        return columns

    def _count(
        self, blocks: Iterable[pa.Array], keep: list[Sequences] | None = None
    ) -> tuple[TermCounts, TermLearner | Lookup]:
        analysis, given = build_analysis(self.get_params()), self._given()
        source = TermLearner(analysis) if given is None else Lookup(analysis, given)
        seen = TextFrequencies()
        for block in blocks:
            found = source.ids(block)
            seen.add_texts(found, len(source))
            if keep is not None:
                keep.append(found)
        return TermCounts(seen.n_documents, seen.df, seen.tf, source.strings), source

    def _count_blocks(self, blocks: Iterable[sp.csr_matrix], names: list[str]) -> Iterator[Arrays]:
        first = 0
        for block in blocks:
            found = self.count_bags(block, len(names), first=first)
            first += int(found["n_documents"])
            yield found

    def _choose(self, seen: TermCounts, *, columns: bool = False) -> np.ndarray:
        """Settles on terms, which keep the order of their ids where these are `columns` of counts; returns the ids."""
        if self.vocabulary is None:
            limits = FrequencyLimits(self.min_df, self.max_df, self.max_features)
            ids = limits.within(seen.df, seen.n_documents)
            ids, terms = (ids, seen.strings(ids)) if columns else sorted_terms(ids, seen.strings)
            tf = (seen.df if self.binary else seen.tf)[ids]
            # in the type that scikit-learn sums, for its order of ties depends on it
            best = limits.most_frequent(tf.astype(self.dtype))
            ids, terms = ids[best], terms.take(pa.array(best))
        elif not seen.n_documents:
            raise ValueError("no documents to learn the frequencies of the vocabulary from")
        else:
            ids = np.arange(seen.df.size)
            terms = seen.strings(ids)
        df, n = seen.df[ids], seen.n_documents
        inputs = (ids, seen.df.size) if columns else (np.arange(ids.size), ids.size)
        self._settle(FittedVectoriser(terms, df, self._idf(df, n), n, *inputs))
        return ids

    def _given(self) -> pa.Array | None:
        return None if self.vocabulary is None else given_terms(self.vocabulary)

    def _settle(self, fitted: FittedVectoriser) -> None:
        self.df_ = fitted.df
        self.idf_ = fitted.idf.astype(self.dtype)
        self.n_documents_ = fitted.n_documents
        self.columns_ = fitted.columns
        self.n_features_in_ = fitted.n_features_in
        self._terms = fitted.terms
        self._found = self._strings = self._index = None

    def _idf(self, df: np.ndarray, n_documents: int) -> np.ndarray:
        if not self.use_idf:
            return np.ones(df.size)
        return inverse_document_frequency(df, n_documents, self.smooth_idf, np.dtype(self.dtype))

    def _signed(self) -> bool:
        """Whether values below 0 have a meaning: only where they are not weighed as counts are."""
        return not (self.use_idf or self.sublinear_tf or self.binary)

    def _lookup(self) -> Lookup:
        self._check_fitted()
        with _making:
            if self._found is None:
                self._found = Lookup(build_analysis(self.get_params()), self._terms)
            return self._found

    def _rows(self, found: Iterable[Sequences]) -> sp.csr_matrix:
        weighting = self._weighting()
        parts = [weighting.of_sequences(block) for block in found]
        if len(parts) == 1:
            return parts[0]
        return sp.vstack(parts, format="csr") if parts else sp.csr_matrix((0, self.idf_.size), dtype=self.dtype)

    def _weighting(self) -> Weighting:
        return Weighting(self.idf_, self.sublinear_tf, self.norm, self.binary)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this Vectoriser is not fitted yet: call fit, fit_blocks or fit_counts first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "idf_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # what is made on demand may hold a lock and is made again
        return super().__getstate__() | {"_found": None, "_strings": None, "_index": None}
