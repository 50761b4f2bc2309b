"""Tagged documents: what models that suggest tags learn from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.store.datasets import Dataset, StoreError, Writer, write_dataset
from tagcore.store.schemas import BAGS, DOCUMENTS, FIELDS, NAMES, TAGGINGS

Document: TypeAlias = str | Mapping[str, Any]  # a text, or texts by field
DOCUMENT_FIELDS = ("title", "text", "url")  # which have a column of their own in the documents


class Names:
    """Names numbered in the order they were first seen; ids only append."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._ids = {name: number for number, name in enumerate(dict.fromkeys(names))}

    def id(self, name: str) -> int:
        return self._ids.setdefault(name, len(self._ids))

    def find(self, name: str) -> int | None:
        return self._ids.get(name)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)


class DocumentSource(Protocol):
    """Where documents come from: a reader of files, or a planted corpus. Names are complete after the last block."""

    @property
    def tags(self) -> Names: ...
    @property
    def words(self) -> Names | None: ...
    def blocks(self, rows: int = ...) -> "Iterator[Block]": ...


@dataclass(frozen=True)
class Block:
    """A run of documents on their way into the store.

    `taggings.document` counts from the first document of the block; tag and word ids are those of the source.
    """

    documents: pa.Table  # schema DOCUMENTS
    taggings: pa.Table  # schema TAGGINGS
    words: sp.csr_matrix | None = None  # counted words, where the source gives them instead of text
    fields: pa.Table | None = None  # schema FIELDS, where documents have others than title and text


@dataclass(frozen=True, eq=False)
class Corpus:
    """Tagged documents in memory. Corpora larger than memory are read block by block from their Dataset."""

    documents: pa.Table
    taggings: pa.Table
    tag_names: list[str]
    words: sp.csr_matrix | None = None
    word_names: list[str] | None = None
    fields: pa.Table | None = None

    @classmethod
    def from_texts(cls, texts: Sequence[Document], tags: Sequence[Iterable[str]]) -> "Corpus":
        """The short way in: one text, or texts by field, and its tags per document.

        >>> corpus = Corpus.from_texts(["red apples", "green pears"], [["apple"], ["pear", "green"]])
        >>> corpus.tag_names, corpus.tags.shape
        (['apple', 'pear', 'green'], (2, 3))
        """
        for name, whole in (("texts", texts), ("tags", tags)):
            if isinstance(whole, str):
                raise ValueError(f"{name} is the text {whole[:80]!r}, expected a list with an entry for each document")
        if len(texts) != len(tags):
            raise ValueError(f"{len(texts)} texts, but tags for {len(tags)} documents")
        for row, given in enumerate(tags):
            if isinstance(given, str):
                raise ValueError(
                    f"tags of document {row} are the text {given[:80]!r}, expected a list such as ['red', 'ripe']"
                )
        names = Names()
        pairs = [(row, names.id(tag)) for row, given in enumerate(tags) for tag in dict.fromkeys(given)]
        rows, ids = zip(*pairs, strict=True) if pairs else ((), ())
        fields = [{"text": text} if isinstance(text, str) else dict(text) for text in texts]
        columns = {name: [of_text.pop(name, None) for of_text in fields] for name in DOCUMENT_FIELDS}
        documents = documents_table(id=[str(i) for i in range(len(texts))], **columns)
        further = fields_table(fields) if any(fields) else None
        return cls(documents, taggings_table(rows, ids), list(names), fields=further)

    @classmethod
    def load(cls, folder: Path | str) -> "Corpus":
        data = Dataset.open(folder, "corpus")
        words = word_names = None
        if data.has("bags"):
            word_names = data.names("words")
            bags = data.read("bags")
            words = csr_from_lists(bags["words"], bags["values"], len(word_names))
        fields = data.read("fields") if data.has("fields") else None
        return cls(data.read("documents"), data.read("taggings"), data.names("tags"), words, word_names, fields)

    def save(self, folder: Path | str, *, rows_per_group: int = 8192, **manifest: Any) -> None:
        with write_dataset(folder, "corpus", **manifest) as writer:
            for block in self.blocks(rows_per_group):
                append_block(writer, block)
            append_names(writer, self.tag_names, self.word_names)

    def blocks(self, rows: int) -> Iterator[Block]:
        where = self.taggings["document"].to_numpy()
        if (bad := np.flatnonzero((np.diff(where, prepend=0) < 0) | (where >= len(self)))).size:
            at = int(bad[0])
            raise ValueError(f"tagging {at} names document {where[at]}, expected ascending numbers below {len(self)}")
        for start in range(0, len(self), rows):
            stop = min(start + rows, len(self))
            a, b = np.searchsorted(where, [start, stop])
            part = self.taggings.slice(a, b - a)
            part = part.set_column(0, TAGGINGS.field(0), pc.subtract(part["document"], start))
            yield Block(
                self.documents.slice(start, stop - start),
                part,
                None if self.words is None else self.words[start:stop],
                None if self.fields is None else self.fields.slice(start, stop - start),
            )

    @cached_property
    def tags(self) -> sp.csr_matrix:
        """Documents × tags, counts added over users."""
        return tag_matrix(self.taggings, len(self), len(self.tag_names))

    def __len__(self) -> int:
        return self.documents.num_rows


def append_block(writer: Writer, block: Block) -> None:
    """One row group of every table, so that shard i of one file speaks of the documents in shard i of the others."""
    first = writer.counts.get("documents", 0)
    n = block.documents.num_rows
    _check_taggings(block.taggings, n, first)
    writer.append("documents", block.documents)
    order = block.taggings.sort_by([("document", "ascending"), ("tag", "ascending")])
    writer.append("taggings", order.set_column(0, TAGGINGS.field(0), pc.add(order["document"], first)))
    if block.words is not None:
        if block.words.shape[0] != n:
            raise ValueError(f"counted words of {block.words.shape[0]} documents in a block of {n}")
        words, values = lists_from_csr(block.words)
        writer.append("bags", pa.table([words, values], schema=BAGS))
    if (block.fields is not None) != ("fields" in writer.counts) and first:
        raise ValueError(f"the block from document {first} on differs from those before in having fields")
    if block.fields is not None:
        if block.fields.num_rows != n:
            raise ValueError(f"fields of {block.fields.num_rows} documents in a block of {n}")
        writer.append("fields", block.fields)


def append_names(writer: Writer, tag_names: Iterable[str], word_names: Iterable[str] | None) -> None:
    writer.append("tags", names_table(tag_names))
    if word_names is not None:
        writer.append("words", names_table(word_names))


def documents_table(**columns: Sequence) -> pa.Table:
    """A table of the documents schema; columns that are not given are null."""
    n = len(next(iter(columns.values())))
    given = [pa.array(columns.get(f.name, [None] * n), f.type) for f in DOCUMENTS]
    return pa.table(given, schema=DOCUMENTS)


def fields_table(fields: Sequence[Mapping[str, str]]) -> pa.Table:
    """A table of the fields schema: for each document its further texts, by name."""
    return pa.table([pa.array([list(of_one.items()) for of_one in fields], FIELDS.field(0).type)], schema=FIELDS)


def taggings_table(
    document: Any, tag: Any, user: Sequence | None = None, count: Any = None, time: Sequence | None = None
) -> pa.Table:
    """A table of the taggings schema; every count is 1 where none are given."""
    n = len(document)
    columns = [
        document,
        tag,
        [None] * n if user is None else user,
        np.ones(n, np.int64) if count is None else count,
        [None] * n if time is None else time,
    ]
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, TAGGINGS, strict=True)],
        schema=TAGGINGS,
    )


def names_table(names: Iterable[str]) -> pa.Table:
    return pa.table([pa.array(list(names), pa.string())], schema=NAMES)


def tag_matrix(taggings: pa.Table, n: int, n_tags: int, first: int = 0) -> sp.csr_matrix:
    """Documents × tags, counts added over users; `first` is the number of the first document."""
    rows = taggings["document"].to_numpy() - first
    counts = taggings["count"].to_numpy().astype(np.float32)
    matrix = sp.csr_matrix((counts, (rows, taggings["tag"].to_numpy())), shape=(n, n_tags))
    matrix.sort_indices()
    return matrix


def tag_columns(names: Sequence[str], tags: Names) -> sp.csr_matrix:
    """What brings tags by these names into the columns of others; those that are not there, as rare ones, fall out."""
    found = [(row, at) for row, name in enumerate(names) if (at := tags.find(name)) is not None]
    rows, columns = np.array(found, np.int64).reshape(-1, 2).T
    return sp.csr_matrix((np.ones(columns.size, np.float32), (rows, columns)), shape=(len(names), len(tags)))


def lists_from_csr(matrix: sp.csr_matrix) -> tuple[pa.ListArray, pa.ListArray]:
    """(column ids, values) as arrow lists, one per row, without copying where the types allow it."""
    offsets = pa.array(matrix.indptr.astype(np.int32, copy=False))
    indices = pa.array(matrix.indices.astype(np.int32, copy=False))
    values = pa.array(matrix.data.astype(np.float32, copy=False))
    return pa.ListArray.from_arrays(offsets, indices), pa.ListArray.from_arrays(offsets, values)


def csr_from_lists(indices: Any, values: Any, width: int) -> sp.csr_matrix:
    """The CSR matrix behind two list columns, as views of arrow's memory where they are one chunk."""
    indices, values = (c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in (indices, values))
    offsets = indices.offsets.to_numpy()
    a, b = (int(offsets[0]), int(offsets[-1])) if offsets.size else (0, 0)
    start = int(values.offsets[0].as_py()) if len(values) else 0
    data = values.values.to_numpy()[start : start + b - a]
    columns = indices.values.to_numpy()[a:b]
    if columns.size and (columns.min() < 0 or columns.max() >= width):
        raise StoreError(
            f"column id {columns.max() if columns.max() >= width else columns.min()} outside 0..{width - 1}"
        )
    return sp.csr_matrix((data, columns, offsets - a), shape=(max(0, len(indices)), width))


def _check_taggings(taggings: pa.Table, n: int, first: int) -> None:
    count = taggings["count"].to_numpy()
    if (bad := np.flatnonzero(count < 1)).size:
        row = first + taggings["document"][int(bad[0])].as_py()
        raise ValueError(f"document {row}: a tag count of {count[bad[0]]}, expected at least 1")
    where = taggings["document"].to_numpy()
    if where.size and (where.min() < 0 or where.max() >= n):
        worst = where.min() if where.min() < 0 else where.max()
        raise ValueError(f"a tagging names document {worst} of a block of {n}, expected 0..{n - 1}")
