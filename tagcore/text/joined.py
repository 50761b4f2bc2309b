"""Several vectorisers as one: the same documents read in several ways, columns side by side."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tagcore.corpus import Document
from tagcore.numeric.columns import join_columns
from tagcore.text.document_fields import USUAL, Documents, fields_of, require_several
from tagcore.text.vectoriser import Vectoriser


class JoinedVectoriser:
    """What a stored tagger asks of a vectoriser, of several fitted ones: words here, pairs of words there.

    >>> texts = ["red apple", "red pear"]
    >>> words, pairs = Vectoriser().fit(texts), Vectoriser(ngram_range=(2, 2)).fit(texts)
    >>> joined = JoinedVectoriser([words, pairs])
    >>> joined.terms_.tolist(), joined.transform(["red apple"]).nnz
    (['apple', 'pear', 'red', 'red apple', 'red pear'], 3)
    """

    def __init__(self, views: Iterable[Vectoriser]) -> None:
        self.views = tuple(views)
        if not self.views:
            raise ValueError("no vectoriser to join, expected one or more")

    @property
    def field_names(self) -> tuple[str, ...] | None:
        """Names of the fields that are read by any of them; None where a document is one text to all."""
        if all(view.field_names is None for view in self.views):
            return None
        return tuple(sorted({name for view in self.views for name in view.field_names or USUAL}))

    @cached_property
    def idf_(self) -> np.ndarray:
        return np.concatenate([view.idf_ for view in self.views])

    @cached_property
    def terms_(self) -> np.ndarray:
        """Terms in column order; one that several of them know is there as often."""
        return np.concatenate([view.terms_ for view in self.views])

    @property
    def n_features_in_(self) -> int:
        return sum(view.n_features_in_ for view in self.views)

    @cached_property
    def columns_(self) -> np.ndarray:
        """The input column of each term, where counts come in."""
        shifts = np.cumsum([0, *(view.n_features_in_ for view in self.views)])
        return np.concatenate([view.columns_ + shift for view, shift in zip(self.views, shifts, strict=False)])

    def transform(self, texts: Documents) -> sp.csr_matrix:
        """Gives one row per text: what each of them makes of it, side by side."""
        require_several(texts)
        if isinstance(texts, pa.Array | pa.ChunkedArray):
            return join_columns([view.transform(texts) for view in self.views])
        documents = [
            fields_of(document, self.field_names, f"text {row}") if isinstance(document, Mapping) else document
            for row, document in enumerate(texts)
        ]
        return join_columns([view.transform(_as_read_by(view, documents)) for view in self.views])

    def transform_counts(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Weighs counted rows, whose columns are the inputs of all, side by side."""
        blocks, first = [], 0
        for view in self.views:
            blocks.append(view.transform_counts(counts[:, first : first + view.n_features_in_]))
            first += view.n_features_in_
        return join_columns(blocks)


def _as_read_by(view: Vectoriser, documents: list[Document]) -> list[Document]:
    """The documents without fields that others alone read, which the view would not know."""
    read = view.field_names or USUAL
    return [
        {name: text for name, text in document.items() if name in read} if isinstance(document, Mapping) else document
        for document in documents
    ]
