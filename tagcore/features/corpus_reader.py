"""A stored corpus as models will see it, read by row groups, by whoever works on them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from tagcore.corpus import csr_from_lists, tag_matrix
from tagcore.features.split import Cuts, Split
from tagcore.shards import row_shards
from tagcore.store.datasets import Dataset, StoreError
from tagcore.store.storage import Folder, Storage

_HEAD = ["id", "split"]


class RowGroup(NamedTuple):
    """One row group of a corpus as the models will see it."""

    first: int
    texts: Any  # an arrow array of title and text, None where the source gave counted words
    bags: sp.csr_matrix | None  # those counted words
    tags: sp.csr_matrix
    tagged: np.ndarray  # also where all tags are hidden from learning
    held_out: np.ndarray
    used: np.ndarray  # False for documents that are left out of both sides


@dataclass(frozen=True)
class CorpusReader:
    """A corpus, or a run of its row groups, read again and again, one row group at a time.

    Small enough to be sent to whoever shall read it. Only the whole corpus can tell the cuts of a split: a part is
    given them.
    """

    corpus: Dataset
    split: Split
    storage: Storage | None = None  # where a copy of its files lies, to be read instead
    groups: range | None = None  # all
    cuts: Cuts | None = None

    def __iter__(self) -> Iterator[RowGroup]:
        cuts = self.settled().cuts
        columns = _HEAD if self.counted else [*_HEAD, "title", "text"]
        with ExitStack() as stack:
            tables = self._open(stack)
            for group in range(tables.n_groups) if self.groups is None else self.groups:
                documents, first = tables.documents(group, columns)
                tags = tables.tags(group, documents.num_rows, first)
                bags = tables.bags(group) if self.counted else None
                held_out = self.split.held_out(documents, cuts)
                used = _used(documents, tags) & ~self.split.left_out(documents, cuts)
                texts = None if self.counted else document_texts(documents)
                shown = self.split.shown(documents, tags, held_out)
                yield RowGroup(first, texts, bags, shown, np.diff(tags.indptr) > 0, held_out, used)

    @property
    def counted(self) -> bool:
        """Whether the source gave counted words instead of texts."""
        return self.corpus.has("bags")

    @property
    def files(self) -> list[str]:
        """What it reads."""
        return [f"{table}.parquet" for table in ("documents", "taggings", *(["bags"] if self.counted else []))]

    def at(self, storage: Storage) -> "CorpusReader":
        """The same where a copy of its files lies."""
        return replace(self, storage=storage)

    def parts(self, count: int | None = None) -> "list[CorpusReader]":
        """So many runs of row groups, of nearly equal length; one for each row group where no number is given."""
        n_groups, settled = self.corpus.groups("documents"), self.settled()
        runs = row_shards(n_groups, count or n_groups)
        return [replace(settled, groups=range(run.start, run.stop)) for run in runs]

    def settled(self) -> "CorpusReader":
        """The same with the cuts, which may take a walk over all ids."""
        return replace(self, cuts=self.split.cuts(self._heads)) if self.cuts is None else self

    def where(self, file: str) -> str:
        return f"{self.place}/{file}"

    @property
    def place(self) -> Storage:
        """Where its files lie."""
        return self.storage or Folder(self.corpus.folder.absolute())

    def _heads(self) -> Iterator[pa.Table]:
        """Ids and official sides of the documents that take part."""
        with ExitStack() as stack:
            tables = self._open(stack)
            for group in range(tables.n_groups):
                documents, first = tables.documents(group, _HEAD)
                yield documents.filter(pa.array(_used(documents, tables.tags(group, documents.num_rows, first))))

    def _open(self, stack: ExitStack) -> "_Tables":
        return _Tables(self, [stack.enter_context(self._opened(file)) for file in self.files])

    @contextmanager
    def _opened(self, file: str) -> Iterator[pq.ParquetFile]:
        try:
            with self.place.open(file) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as parquet:
                yield parquet
        except FileNotFoundError as error:
            raise StoreError(f"{self.where(file)}: is missing") from error
        except (pa.ArrowInvalid, OSError) as error:
            raise StoreError(f"{self.where(file)}: not a parquet file ({error})") from error


class _Tables:
    """The open files of a corpus; their row groups speak of the same documents."""

    def __init__(self, pieces: CorpusReader, opened: list[pq.ParquetFile]) -> None:
        self._where, self._counts = pieces.where, pieces.corpus.counts
        self._files = dict(zip(pieces.files, opened, strict=True))
        self.n_groups = opened[0].num_row_groups
        if (found := opened[0].metadata.num_rows) != self._counts["documents"]:
            expected = self._counts["documents"]
            raise StoreError(f"{self._where(pieces.files[0])}: {found} rows, the manifest says {expected}")
        for file, parquet in self._files.items():
            if parquet.num_row_groups != self.n_groups:
                there = f"{parquet.num_row_groups} row groups, documents.parquet has {self.n_groups}"
                raise StoreError(f"{self._where(file)}: {there}")

    def documents(self, group: int, columns: list[str]) -> tuple[pa.Table, int]:
        """They, and the number of the first."""
        metadata = self._files["documents.parquet"].metadata
        first = sum(metadata.row_group(earlier).num_rows for earlier in range(group))
        with self._reading("documents.parquet", group, columns) as documents:
            return documents, first

    def tags(self, group: int, n: int, first: int) -> sp.csr_matrix:
        with self._reading("taggings.parquet", group, ["document", "tag", "count"]) as taggings:
            return tag_matrix(taggings, n, self._counts["tags"], first)

    def bags(self, group: int) -> sp.csr_matrix:
        with self._reading("bags.parquet", group, ["words", "values"]) as bags:
            return csr_from_lists(bags["words"], bags["values"], self._counts["words"])

    @contextmanager
    def _reading(self, file: str, group: int, columns: list[str]) -> Iterator[pa.Table]:
        try:
            yield self._files[file].read_row_group(group, columns=columns)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StoreError(f"{self._where(file)}: row group {group} is damaged ({error})") from error


def document_texts(documents: pa.Table) -> pa.Array:
    """What a model reads of a document: its title, then its text."""
    title, text = (pc.fill_null(documents[c].combine_chunks(), "") for c in ("title", "text"))
    return pc.binary_join_element_wise(title, text, "\n")


def _used(documents: pa.Table, tags: sp.csr_matrix) -> np.ndarray:
    # a published set is kept whole, also redrawn; elsewhere an untagged document is one that nobody has tagged yet
    return (np.diff(tags.indptr) > 0) | pc.is_valid(documents["split"]).to_numpy()
