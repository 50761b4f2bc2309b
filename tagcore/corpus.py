"""The typed things that every model learns from: tagged documents, ratings, and the tags that users gave to items."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.store.datasets import Dataset, StoreError, Writer, write_dataset
from tagcore.store.schemas import BAGS, DOCUMENTS, NAMES, RATINGS, TAGGINGS, USER_TAGGINGS


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


@dataclass(frozen=True, eq=False)
class Corpus:
    """Tagged documents in memory. Corpora larger than memory are read block by block from their Dataset."""

    documents: pa.Table
    taggings: pa.Table
    tag_names: list[str]
    words: sp.csr_matrix | None = None
    word_names: list[str] | None = None

    @classmethod
    def from_texts(cls, texts: Sequence[str], tags: Sequence[Iterable[str]]) -> "Corpus":
        """The short way in: one text and its tags per document.

        >>> corpus = Corpus.from_texts(["red apples", "green pears"], [["apple"], ["pear", "green"]])
        >>> corpus.tag_names, corpus.tags.shape
        (['apple', 'pear', 'green'], (2, 3))
        """
        if len(texts) != len(tags):
            raise ValueError(f"{len(texts)} texts, but tags for {len(tags)} documents")
        names = Names()
        pairs = [(row, names.id(tag)) for row, given in enumerate(tags) for tag in dict.fromkeys(given)]
        rows, ids = zip(*pairs, strict=True) if pairs else ((), ())
        documents = documents_table(id=[str(i) for i in range(len(texts))], text=list(texts))
        return cls(documents, taggings_table(rows, ids), list(names))

    @classmethod
    def load(cls, folder: Path | str) -> "Corpus":
        data = Dataset.open(folder, "corpus")
        words = word_names = None
        if data.has("bags"):
            word_names = data.names("words")
            bags = data.read("bags")
            words = csr_from_lists(bags["words"], bags["values"], len(word_names))
        return cls(data.read("documents"), data.read("taggings"), data.names("tags"), words, word_names)

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
            )

    @cached_property
    def tags(self) -> sp.csr_matrix:
        """Documents × tags, counts added over users."""
        return tag_matrix(self.taggings, len(self), len(self.tag_names))

    def __len__(self) -> int:
        return self.documents.num_rows


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who gave which value to what, with the names behind the numbers. There may be names without a rating."""

    table: pa.Table  # schema RATINGS
    user_names: list[str]
    item_names: list[str]

    def __post_init__(self) -> None:
        values = self.table["value"].to_numpy()
        if (bad := np.flatnonzero(~np.isfinite(values))).size:
            raise ValueError(f"rating {bad[0]} is {values[bad[0]]}, expected a finite number")
        _check_ids(self.table, "rating", user=len(self.user_names), item=len(self.item_names))

    @classmethod
    def from_values(
        cls,
        users: Sequence[str],
        items: Sequence[str],
        values: Sequence[float],
        times: Sequence | None = None,
    ) -> "Ratings":
        """Numbers the names in the order they are first met."""
        column = np.asarray(values, float)
        user_ids, item_ids = Names(), Names()
        table = pa.table(
            {
                "user": pa.array([user_ids.id(u) for u in users], pa.int32()),
                "item": pa.array([item_ids.id(i) for i in items], pa.int32()),
                "value": column,
                "time": pa.array(times if times is not None else [None] * len(column), RATINGS.field("time").type),
            },
            schema=RATINGS,
        )
        return cls(table, list(user_ids), list(item_ids))

    @classmethod
    def load(cls, folder: Path | str) -> "Ratings":
        data = Dataset.open(folder, "ratings")
        return cls(data.read("ratings"), data.names("users"), data.names("items"))

    def save(
        self,
        folder: Path | str,
        *,
        taggings: "UserTaggings | None" = None,
        rows_per_group: int = 65536,
        **manifest: Any,
    ) -> None:
        """Writes a data set; taggings go with the ratings whose users and items they number."""
        with write_dataset(folder, "ratings", **manifest) as writer:
            append_ratings(writer, self, taggings, rows_per_group)

    @cached_property
    def matrix(self) -> sp.csr_matrix:
        """Users × items; a pair rated twice keeps its last value."""
        table = self.last_values().table
        cells = table["value"].to_numpy(), (table["user"].to_numpy(), table["item"].to_numpy())
        return sp.csr_matrix(cells, shape=(len(self.user_names), len(self.item_names)))

    def last_values(self) -> "Ratings":
        """The ratings in their order, without those that a later row of the same user and item replaces."""
        key = self.table["user"].to_numpy().astype(np.int64) * len(self.item_names) + self.table["item"].to_numpy()
        _, last = np.unique(key[::-1], return_index=True)
        return self if last.size == key.size else self.take(np.sort(key.size - 1 - last))

    def take(self, rows: np.ndarray) -> "Ratings":
        """Some of the ratings, with all names."""
        return Ratings(self.table.take(rows), self.user_names, self.item_names)

    def __len__(self) -> int:
        return self.table.num_rows


@dataclass(frozen=True, eq=False)
class UserTaggings:
    """Who gave which tag to what. Users and items are numbered as in the ratings beside it, tags by their names."""

    table: pa.Table  # schema USER_TAGGINGS
    tag_names: list[str]

    def __post_init__(self) -> None:
        _check_ids(self.table, "tagging", tag=len(self.tag_names))

    @classmethod
    def from_values(
        cls, ratings: Ratings, users: Sequence[str], items: Sequence[str], tags: Sequence[str]
    ) -> "UserTaggings":
        """Numbers tags in the order they are first met; ValueError for a user or item that the ratings do not name."""
        known, tag_ids = {"user": Names(ratings.user_names), "item": Names(ratings.item_names)}, Names()
        columns = {}
        for (what, names), given in zip(known.items(), (users, items), strict=True):
            columns[what] = [names.find(name) for name in given]
            if None in columns[what]:
                at = columns[what].index(None)
                raise ValueError(f"tagging {at} names {what} {given[at]!r}, which the ratings do not name")
        columns["tag"] = [tag_ids.id(tag) for tag in tags]
        return cls(pa.table(columns, schema=USER_TAGGINGS), list(tag_ids))

    @classmethod
    def load(cls, folder: Path | str, kind: str = "ratings") -> "UserTaggings | None":
        """The taggings of a data set of ratings; None where it has none."""
        data = Dataset.open(folder, kind)
        return cls(data.read("taggings"), data.names("tags")) if data.has("taggings") else None

    def require_users_and_items(self, ratings: Ratings) -> None:
        """Raises ValueError for a user or item that the ratings beside it do not name."""
        _check_ids(self.table, "tagging", user=len(ratings.user_names), item=len(ratings.item_names))

    def __len__(self) -> int:
        return self.table.num_rows


def append_ratings(
    writer: Writer, ratings: Ratings, taggings: UserTaggings | None, rows_per_group: int = 65536
) -> None:
    """Writes ratings in row groups, and all that goes with them."""
    for start in range(0, len(ratings), rows_per_group):
        writer.append("ratings", ratings.table.slice(start, rows_per_group))
    append_rating_names(writer, ratings, taggings)


def append_rating_names(writer: Writer, ratings: Ratings, taggings: UserTaggings | None) -> None:
    """Writes the names of users and items, and the taggings where there are some, with the names of their tags."""
    writer.append("users", names_table(ratings.user_names))
    writer.append("items", names_table(ratings.item_names))
    if taggings is not None:
        taggings.require_users_and_items(ratings)
        writer.append("taggings", taggings.table)
        writer.append("tags", names_table(taggings.tag_names))


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


def append_names(writer: Writer, tag_names: Iterable[str], word_names: Iterable[str] | None) -> None:
    writer.append("tags", names_table(tag_names))
    if word_names is not None:
        writer.append("words", names_table(word_names))


def documents_table(**columns: Sequence) -> pa.Table:
    """A table of the documents schema; columns that are not given are null."""
    n = len(next(iter(columns.values())))
    given = [pa.array(columns.get(f.name, [None] * n), f.type) for f in DOCUMENTS]
    return pa.table(given, schema=DOCUMENTS)


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


def _check_ids(table: pa.Table, what: str, **sizes: int) -> None:
    for column, size in sizes.items():
        ids = table[column].to_numpy()
        if (bad := np.flatnonzero((ids < 0) | (ids >= size))).size:
            raise ValueError(f"{what} {bad[0]} names {column} {ids[bad[0]]}, expected 0..{size - 1}")
