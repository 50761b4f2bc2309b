"""Documents, or bags of words already counted, to tf-idf rows: scikit-learn's TfidfVectorizer for large corpora.

Columns are terms, so far all of them: one that is not, such as a length, would be appended to the rows that
`transform` and `transform_counts` give, and be stored with the vocabulary (`saving.py`).
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from tagcore.kernels.text.tfidf import relabel
from tagcore.scikit import BaseEstimator, not_fitted
from tagcore.text.bags import bag_frequencies, clean_counts
from tagcore.text.document_fields import Documents, document_blocks
from tagcore.text.frequencies import Arrays, MergedFrequencies, TermCounts, TextFrequencies
from tagcore.text.parameters import check_parameters, warn_if_python
from tagcore.text.saving import FittedVectoriser, read_vectoriser, write_vectoriser
from tagcore.text.string_arrays import buffers, from_buffers
from tagcore.text.term_ids import ReadTerms, TermSource, fixed_terms, read_terms, term_source
from tagcore.text.tokens import TOKEN_PATTERN, Sequences
from tagcore.text.vocabulary import FrequencyLimits, unique_strings
from tagcore.text.weighting import Weighting, inverse_document_frequency

WEIGHTS = ("norm", "use_idf", "smooth_idf", "sublinear_tf")  # parameters that weigh counts, and choose no term

_lookup_lock = threading.Lock()  # threads share the table that the first of them makes


class Vectoriser(BaseEstimator):
    """Rows of term weights, equal to those of scikit-learn's TfidfVectorizer under the same settings.

    Parameters are scikit-learn's, and `stem`: a Snowball language, or None. Stop words are taken out before stemming,
    n-grams are made after it. A null among the texts is an empty text. `max_features_by="df"` keeps the terms of most
    documents, where scikit-learn's "tf" keeps those that come most often. With `hashed_columns` no vocabulary is
    learnt: terms go into so many columns by a hash, which are those of HashingVectorizer(alternate_sign=False).

    `fields` are the weights of named fields, such as `{"title": 4, "text": 1}`: a word of the title counts four times.
    Documents are then mappings of texts, or arrow structs; no n-gram goes from one field into the next. The words of
    `own_columns`, some of the fields, are terms apart from those of other fields: `title:apple`. Without fields a
    document is one text: a string, or title and text of a mapping, one after the other.

    Fitted: `terms_` in column order, `vocabulary_` (column by term), `df_`, `idf_` (ones without `use_idf`),
    `n_documents_`.

    >>> rows = Vectoriser(stop_words="english").fit_transform(["the cat sat", "a cat and a dog"])
    >>> rows.shape, rows.nnz
    ((2, 3), 4)
    >>> weighted = Vectoriser(fields={"title": 4, "text": 1}, use_idf=False, norm=None)
    >>> weighted.fit_transform([{"title": "cat", "text": "cat and dog"}]).toarray()
    array([[1., 5., 1.]], dtype=float32)
    """

    # made on demand
    _term_lookup: TermSource | None
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
        max_features_by: str = "tf",
        hashed_columns: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: npt.DTypeLike = np.float32,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        fields: Mapping[str, float] | None = None,
        own_columns: Sequence[str] = (),
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
        self.max_features_by = max_features_by
        self.hashed_columns = hashed_columns
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.fields = fields
        self.own_columns = own_columns

    @property
    def field_names(self) -> tuple[str, ...] | None:
        """Names of the fields that are read, in the order they are; None where a document is one text."""
        return None if self.fields is None else tuple(sorted(self.fields))

    @property
    def views(self) -> tuple["Vectoriser", ...]:
        """The vectorisers whose columns stand side by side: this one (see `JoinedVectoriser`)."""
        return (self,)

    def fit(self, texts: Documents, y: Any = None) -> "Vectoriser":
        """Learns vocabulary and document frequencies; nothing is kept per text."""
        self._learn(self._blocks(texts))
        return self

    def fit_blocks(self, blocks: Iterable[Documents]) -> "Vectoriser":
        """Fits as `fit` does, from arrow string arrays that come one by one: for corpora larger than memory."""
        self._learn(array for block in blocks for array in self._blocks(block))
        return self

    def fit_transform(self, texts: Documents, y: Any = None) -> sp.csr_matrix:
        """Does `fit` and `transform` in one reading of the texts."""
        kept: list[ReadTerms] = []
        columns = self._learn(self._blocks(texts), kept)
        return self._rows((Sequences(relabel(read.ids, columns), read.indptr), ends) for read, ends in kept)

    def transform(self, texts: Documents) -> sp.csr_matrix:
        """Gives one row per text; words outside the vocabulary count for nothing."""
        lookup = self._lookup()
        return self._rows(self._read(lookup, block) for block in self._blocks(texts))

    def fit_counts(self, blocks: Iterable[sp.csr_matrix], names: Iterable[str]) -> "Vectoriser":
        """Fits as `fit_blocks` does, from CSR rows of counts; `names` are the terms of their columns, in order.

        Values below 0, as measured ones may be, need `use_idf`, `sublinear_tf` and `binary` to be off.
        """
        return self.fit_frequencies(self._count_blocks(blocks, names := list(names)), names)

    def count_terms(self, blocks: Iterable[Documents]) -> Arrays:
        """Counts the terms of some of the texts, as `fit_frequencies` takes them."""
        counts, source = self._count(array for block in blocks for array in self._blocks(block))
        ids = np.flatnonzero(counts.df)
        arrays = {"df": counts.df[ids], "tf": counts.tf[ids], "n_documents": np.array(counts.n_documents)}
        return source.term_arrays(ids) | arrays

    def count_bags(self, counts: sp.csr_matrix, width: int, rows: Any = slice(None), first: int = 0) -> Arrays:
        """Counts the terms of some `rows` of a bag of words, as `fit_frequencies` takes them.

        All rows are checked; `first` is the number of the first, for messages.
        """
        return bag_frequencies(clean_counts(counts, width, first, signed=self._signed())[rows])

    def fit_frequencies(self, parts: Iterable[Arrays], names: Iterable[str] | None = None) -> "Vectoriser":
        """Fits as `fit_blocks` does, or `fit_counts` where `names` are given, from counts of parts of the documents.

        Parts may be counted anywhere, by a vectoriser with the same parameters. Counted texts may come in any order;
        real values are summed in the order given.
        """
        params = self.get_params()
        check_parameters(params)
        for name in ("vocabulary", "hashed_columns"):
            if names is not None and getattr(self, name) is not None:
                raise ValueError(f"counts take their terms from `names`: expected {name}=None")
        if names is None:
            warn_if_python(params)
            merged = MergedFrequencies(fixed_terms(params), np.int64)
        else:
            merged = MergedFrequencies(unique_strings(names, "two columns have one name"), np.float64)
        for part in parts:
            merged.add(part)
        self._choose(merged.counts, columns=names is not None)
        return self

    def fit_as(self, other: "Vectoriser") -> "Vectoriser":
        """Takes over the terms of another that counts the same and weighs otherwise, as if fitted on its documents."""
        mine, others = self.get_params(), other.get_params()
        if different := sorted(name for name in set(mine) - set(WEIGHTS) if mine[name] != others[name]):
            raise ValueError(f"{different[0]} is {mine[different[0]]!r}, that of the other {others[different[0]]!r}")
        other._check_fitted()
        idf, n = self._idf(other.df_, other.n_documents_), other.n_documents_
        self._set_fitted(FittedVectoriser(other._terms, other.df_, idf, n, other.columns_, other.n_features_in_))
        return self

    def transform_as(self, texts: Documents, views: Sequence["Vectoriser"]) -> list[sp.csr_matrix]:
        """Gives `transform` of each view, which have the terms of this one (see `fit_as`): texts are read once."""
        lookup = self._lookup()
        sequences = [self._read(lookup, block) for block in self._blocks(texts)]
        return [view._rows(sequences) for view in views]

    def transform_counts(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Weighs counted rows with the columns that `fit_counts` saw, or those of `terms_` after another fit."""
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
        write_vectoriser(Path(folder), self.get_params(), fitted)

    @classmethod
    def load(cls, folder: Path | str) -> "Vectoriser":
        """Loads what `save` wrote; raises `VectoriserError` where it is damaged."""
        params, fitted = read_vectoriser(Path(folder), cls().get_params())
        loaded = cls(**params)
        loaded._set_fitted(fitted)
        return loaded

    def parts(self) -> dict[str, Any]:
        """Gives plain data and arrays of which `from_parts` makes this vectoriser, fitted or not, in any process."""
        params = self.get_params() | {"vocabulary": None}
        fitted = None
        terms = fixed_terms(self.get_params())
        if self.__sklearn_is_fitted__():
            terms = self._terms
            fitted = (self.df_, self.idf_, self.n_documents_, self.columns_, self.n_features_in_)
        strings = None if terms is None else buffers(terms)
        return {"params": params, "given": self.vocabulary is not None, "terms": strings, "fitted": fitted}

    @classmethod
    def from_parts(cls, parts: dict[str, Any]) -> "Vectoriser":
        """Makes the vectoriser whose `parts` these are."""
        terms: Any = None if parts["terms"] is None else from_buffers(*parts["terms"])
        vectoriser = cls(**parts["params"] | {"vocabulary": terms.to_pylist() if parts["given"] else None})
        if parts["fitted"] is not None:
            vectoriser._set_fitted(FittedVectoriser(terms, *parts["fitted"]))
        return vectoriser

    def _learn(self, blocks: Iterable[pa.Array], keep: list[ReadTerms] | None = None) -> np.ndarray:
        """Fits; returns the column of every id that `keep` may hold."""
        params = self.get_params()
        check_parameters(params)
        warn_if_python(params)
        counts, _ = self._count(blocks, keep)
        ids = self._choose(counts)
        columns = np.full(counts.df.size, -1, np.int32)
        columns[ids] = np.arange(ids.size, dtype=np.int32)
        return columns

    def _count(self, blocks: Iterable[pa.Array], keep: list[ReadTerms] | None = None) -> tuple[TermCounts, TermSource]:
        params = self.get_params()
        source = term_source(params, fixed_terms(params))
        frequencies = TextFrequencies()
        for block in blocks:
            sequences, ends = self._read(source, block)
            frequencies.add_texts(sequences, len(source))
            if keep is not None:
                keep.append((sequences, ends))
        return TermCounts(frequencies.n_documents, frequencies.df, frequencies.tf, source.strings), source

    def _count_blocks(self, blocks: Iterable[sp.csr_matrix], names: list[str]) -> Iterator[Arrays]:
        first = 0
        for block in blocks:
            counts = self.count_bags(block, len(names), first=first)
            first += int(counts["n_documents"])
            yield counts

    def _choose(self, counts: TermCounts, *, columns: bool = False) -> np.ndarray:
        """Settles on terms, which keep the order of their ids where these are `columns` of counts; returns the ids."""
        if self.vocabulary is None and self.hashed_columns is None:
            limits = FrequencyLimits(self.min_df, self.max_df, self.max_features)
            by = counts.df if self.binary or self.max_features_by == "df" else counts.tf
            # in the type that scikit-learn sums, for its order of ties depends on it
            ids, terms = limits.choose(counts, by.astype(self.dtype), keep_order=columns)
        elif not counts.n_documents:
            raise ValueError("no documents to learn the frequencies of the vocabulary from")
        else:
            ids = np.arange(counts.df.size)
            terms = counts.strings(ids)
        df, n = counts.df[ids], counts.n_documents
        inputs = (ids, counts.df.size) if columns else (np.arange(ids.size), ids.size)
        self._set_fitted(FittedVectoriser(terms, df, self._idf(df, n), n, *inputs))
        return ids

    def _set_fitted(self, fitted: FittedVectoriser) -> None:
        self.df_ = fitted.df
        self.idf_ = fitted.idf.astype(self.dtype)
        self.n_documents_ = fitted.n_documents
        self.columns_ = fitted.columns
        self.n_features_in_ = fitted.n_features_in
        self._terms = fitted.terms
        self._term_lookup = self._strings = self._index = None

    def _idf(self, df: np.ndarray, n_documents: int) -> np.ndarray:
        if not self.use_idf:
            return np.ones(df.size)
        return inverse_document_frequency(df, n_documents, self.smooth_idf, np.dtype(self.dtype))

    def _signed(self) -> bool:
        """Tells whether values below 0 have a meaning: only where they are not weighed as counts are."""
        return not (self.use_idf or self.sublinear_tf or self.binary)

    def _lookup(self) -> TermSource:
        self._check_fitted()
        with _lookup_lock:
            if self._term_lookup is None:
                self._term_lookup = term_source(self.get_params(), self._terms)
            return self._term_lookup

    def _blocks(self, texts: Documents) -> Iterator[pa.Array]:
        return document_blocks(texts, self.field_names)

    def _read(self, source: TermSource, block: pa.Array) -> ReadTerms:
        return read_terms(source, block, self.field_names, self.own_columns)

    def _rows(self, sequences: Iterable[ReadTerms]) -> sp.csr_matrix:
        weighting = self._weighting()
        rows = [weighting.of_sequences(*block) for block in sequences]
        if len(rows) == 1:
            return rows[0]
        return sp.vstack(rows, format="csr") if rows else sp.csr_matrix((0, self.idf_.size), dtype=self.dtype)

    def _weighting(self) -> Weighting:
        weights = [1.0] if self.fields is None else [self.fields[name] for name in self.field_names or ()]
        return Weighting(self.idf_, self.sublinear_tf, self.norm, self.binary, np.array(weights, np.float64))

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted("this Vectoriser is not fitted yet: call fit, fit_blocks or fit_counts first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "idf_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # what is made on demand may hold a lock and is made again
        return super().__getstate__() | {"_term_lookup": None, "_strings": None, "_index": None}
