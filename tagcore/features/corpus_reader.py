"""Reads a stored corpus as models will see it, row group by row group, in any process that works on it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from tagcore.corpus import DOCUMENT_FIELDS, csr_from_lists, tag_matrix
from tagcore.features.split import Cuts, Split
from tagcore.shards import row_shards
from tagcore.store.datasets import Dataset, StoreError
from tagcore.store.storage import Folder, Storage
from tagcore.text.document_fields import USUAL, field_texts, title_and_text

_SPLIT_COLUMNS = ["id", "split"]


class RowGroup(NamedTuple):
    """One row group of a corpus as the models will see it."""

    first: int  # the number of its first document in the corpus
    texts: Any  # an arrow array of title and text, or of the named fields; None where the source counted words instead
    bags: sp.csr_matrix | None  # the counted words, where the source gave them
    tags: sp.csr_matrix
    tagged: np.ndarray  # also where all tags are hidden from learning
    held_out: np.ndarray
    used: np.ndarray  # False for documents that are left out of both sides


@dataclass(frozen=True)
class CorpusReader:
    """A corpus, or a run of its row groups, read again and again, one row group at a time.

    Small enough to be sent to any process. Only the whole corpus can tell the cuts of a split: a part is given them.
    """

    corpus: Dataset
    split: Split
    copy: Storage | None = None  # of the files, to be read instead of those of the corpus
    groups: range | None = None  # all
    cuts: Cuts | None = None
    fields: tuple[str, ...] | None = None  # to be read apart from one another; title and text as one if there are none

    def __iter__(self) -> Iterator[RowGroup]:
        cuts = self.with_cuts().cuts
        columns = _SPLIT_COLUMNS if self.counted else [*_SPLIT_COLUMNS, *self._columns()]
        with ExitStack() as stack:
            tables = self._open(stack)
            for group in range(tables.n_groups) if self.groups is None else self.groups:
                documents, first, tags = self._tagged(tables, group, columns)
                bags = tables.bags(group) if self.counted else None
                held_out = self.split.held_out(documents, cuts)
                used = _used(documents, tags) & ~self.split.left_out(documents, cuts)
                texts = None if self.counted else self._texts(documents, tables, group)
                revealed = self.split.revealed_tags(documents, tags, held_out)
                yield RowGroup(first, texts, bags, revealed, np.diff(tags.indptr) > 0, held_out, used)

    @property
    def counted(self) -> bool:
        """Whether the source gave counted words instead of texts."""
        return self.corpus.has("bags")

    @property
    def files(self) -> list[str]:
        """The names of the files that are read."""
        further = ["bags"] if self.counted else ["fields"] if self.further_fields else []
        return [f"{table}.parquet" for table in ("documents", "taggings", *further)]

    @property
    def further_fields(self) -> list[str]:
        """The fields to read that are not columns of the documents."""
        return [name for name in self.fields or () if name not in DOCUMENT_FIELDS]

    def require_fields(self) -> None:
        """Raises ValueError where a field that is to be read is in no document."""
        if self.fields is not None and self.counted:
            raise ValueError(f"{self.corpus.folder}: its source counted words, which have no fields to be read apart")
        missing = set(self.further_fields)
        if missing and not self.corpus.has("fields"):
            name = min(missing)
            raise ValueError(f"{self.corpus.folder}: no field {name!r} was stored; name it in data.options.fields")
        present: set[str] = set()
        for block in self.corpus.blocks("fields") if missing else ():
            for chunk in block["fields"].chunks:
                present.update(pc.unique(chunk.keys).to_pylist())
            if not missing - present:
                return
        if missing:
            known = ", ".join(sorted({*DOCUMENT_FIELDS, *present}))
            raise ValueError(f"{self.corpus.folder}: no document has a field {min(missing - present)!r}, only {known}")

    def at(self, storage: Storage) -> "CorpusReader":
        """Gives a reader of the copy of the files that lies in `storage`."""
        return replace(self, copy=storage)

    def parts(self, count: int | None = None) -> "list[CorpusReader]":
        """Gives readers of `count` runs of row groups, of nearly equal length; by default one for each row group."""
        n_groups, whole = self.corpus.n_row_groups("documents"), self.with_cuts()
        runs = row_shards(n_groups, count or n_groups)
        return [replace(whole, groups=range(run.start, run.stop)) for run in runs]

    def group_sizes(self) -> list[int]:
        """The numbers of documents of all row groups of the corpus."""
        with self._opened(self.files[0]) as documents:
            return [documents.metadata.row_group(g).num_rows for g in range(documents.num_row_groups)]

    def with_cuts(self) -> "CorpusReader":
        """Gives a reader that knows the cuts of its split, for which all ids may have to be read."""
        return replace(self, cuts=self.split.cuts(self.used_documents)) if self.cuts is None else self

    def count_to_learn_from(self) -> int:
        """Counts the documents to learn from, without reading a word."""
        cuts, split = self.with_cuts().cuts, self.split
        return sum(int((~split.held_out(d, cuts) & ~split.left_out(d, cuts)).sum()) for d in self.used_documents())

    def _columns(self) -> list[str]:
        """The columns of the documents that texts are read from."""
        return [name for name in USUAL if self.fields is None] + [n for n in self.fields or () if n in DOCUMENT_FIELDS]

    def _texts(self, documents: pa.Table, tables: "_Tables", group: int) -> pa.Array:
        if self.fields is None:
            return document_texts(documents)
        return field_texts(documents, tables.fields(group) if self.further_fields else None, self.fields)

    def path_of(self, file: str) -> str:
        return f"{self.storage}/{file}"

    @property
    def storage(self) -> Storage:
        """The storage that the files are read from."""
        return self.copy or Folder(self.corpus.folder.absolute())

    def used_documents(self) -> Iterator[pa.Table]:
        """Walks the ids and official sides of the documents that take part."""
        with ExitStack() as stack:
            tables = self._open(stack)
            for group in range(tables.n_groups):
                documents, _, tags = self._tagged(tables, group, _SPLIT_COLUMNS)
                yield documents.filter(pa.array(_used(documents, tags)))

    def _tagged(self, tables: "_Tables", group: int, columns: list[str]) -> tuple[pa.Table, int, sp.csr_matrix]:
        """(documents of a row group, number of the first, their tags); with times where the split goes by them."""
        documents, first = tables.documents(group, columns)
        timed = self.split.kind == "newest"
        tags, times = tables.tags(group, documents.num_rows, first, timed)
        return documents.append_column("time", times) if timed else documents, first, tags

    def _open(self, stack: ExitStack) -> "_Tables":
        return _Tables(self, [stack.enter_context(self._opened(file)) for file in self.files])

    @contextmanager
    def _opened(self, file: str) -> Iterator[pq.ParquetFile]:
        try:
            with (
                self.storage.open(file) as content,
                pq.ParquetFile(content, page_checksum_verification=True) as parquet,
            ):
                yield parquet
        except FileNotFoundError as error:
            raise StoreError(f"{self.path_of(file)}: is missing") from error
        except (pa.ArrowInvalid, OSError) as error:
            raise StoreError(f"{self.path_of(file)}: not a parquet file ({error})") from error


class _Tables:
    """The open files of a corpus, whose row groups of one number speak of the same documents."""

    def __init__(self, reader: CorpusReader, files: list[pq.ParquetFile]) -> None:
        self._path_of, self._counts = reader.path_of, reader.corpus.counts
        self._files = dict(zip(reader.files, files, strict=True))
        self.n_groups = files[0].num_row_groups
        n_rows, expected = files[0].metadata.num_rows, self._counts["documents"]
        if n_rows != expected:
            raise StoreError(f"{self._path_of(reader.files[0])}: {n_rows} rows, the manifest says {expected}")
        for file, parquet in self._files.items():
            if parquet.num_row_groups != self.n_groups:
                difference = f"{parquet.num_row_groups} row groups, documents.parquet has {self.n_groups}"
                raise StoreError(f"{self._path_of(file)}: {difference}")

    def documents(self, group: int, columns: list[str]) -> tuple[pa.Table, int]:
        """(documents of a row group, number of its first document)."""
        metadata = self._files["documents.parquet"].metadata
        first = sum(metadata.row_group(earlier).num_rows for earlier in range(group))
        with self._reading("documents.parquet", group, columns) as documents:
            return documents, first

    def tags(self, group: int, n: int, first: int, timed: bool) -> tuple[sp.csr_matrix, pa.Array | None]:
        """(tags of the documents, when each was first tagged, which is None unless `timed`)."""
        columns = ["document", "tag", "count", *(["time"] if timed else [])]
        with self._reading("taggings.parquet", group, columns) as taggings:
            tags = tag_matrix(taggings, n, self._counts["tags"], first)
            return tags, first_times(taggings, n, first) if timed else None

    def bags(self, group: int) -> sp.csr_matrix:
        with self._reading("bags.parquet", group, ["words", "values"]) as bags:
            return csr_from_lists(bags["words"], bags["values"], self._counts["words"])

    def fields(self, group: int) -> pa.Table:
        with self._reading("fields.parquet", group, ["fields"]) as fields:
            return fields

    @contextmanager
    def _reading(self, file: str, group: int, columns: list[str]) -> Iterator[pa.Table]:
        try:
            yield self._files[file].read_row_group(group, columns=columns)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StoreError(f"{self._path_of(file)}: row group {group} is damaged ({error})") from error


def document_times(corpus: Dataset) -> pa.Array:
    """When each document of a corpus was first tagged, in microseconds; null where nobody says."""
    return first_times(corpus.read("taggings", ["document", "time"]), corpus.counts["documents"], 0)


def first_times(taggings: pa.Table, n: int, first: int) -> pa.Array:
    """The earliest time of each document's taggings, of documents from number `first` on."""
    timed = taggings.filter(pc.is_valid(taggings["time"]))
    earliest = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(earliest, timed["document"].to_numpy() - first, timed["time"].cast(pa.int64()).to_numpy())
    return pa.array(earliest, mask=earliest == np.iinfo(np.int64).max)


def document_texts(documents: pa.Table) -> pa.Array:
    """Joins what a model reads of each document where no fields are named: its title, then its text."""
    return title_and_text(*(documents[column].combine_chunks() for column in USUAL))


def _used(documents: pa.Table, tags: sp.csr_matrix) -> np.ndarray:
    # a published set is kept whole, also redrawn; elsewhere an untagged document is one that nobody has tagged yet
    return (np.diff(tags.indptr) > 0) | pc.is_valid(documents["split"]).to_numpy()
