"""The rows of a data set, wherever they are: in memory, or in stored row groups that each process reads for itself.

How documents become rows: `build.py`, and `tagcore/text/vectoriser.py` for their words. This is where rows are read.
"""

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from tagcore.corpus import csr_from_lists
from tagcore.features.build import VECTORISER
from tagcore.shards import Executor, Shards, row_shards
from tagcore.store.datasets import Dataset, StoreError, part_name
from tagcore.store.storage import Folder, Storage
from tagcore.text.saving import count_terms

XY = tuple[sp.csr_matrix, sp.csr_matrix]
T = TypeVar("T")
ListColumns = tuple[str, str, int]  # the list columns of ids and of values, and how many ids there are

_RUN_ROWS = 32_768  # rows that are read together where only some of them are wanted


class Rows(Protocol):
    """Documents as rows of word weights X and tag counts Y, the same bits wherever they are read from."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_labels(self) -> int: ...

    def load(self, rows: slice) -> XY:
        """Gives X and Y of the rows from rows.start to rows.stop - 1."""

    def labels(self, rows: slice) -> sp.csr_matrix:
        """Gives Y of these rows alone, without reading a word."""

    def part(self, rows: slice) -> Any:
        """Gives what `load_part` makes these rows of: as little as can be sent to another process."""

    def select(self, numbers: np.ndarray) -> "Rows":
        """Gives the rows of these numbers, which rise, as rows of their own."""


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows that this process holds."""

    X: sp.csr_matrix
    Y: sp.csr_matrix

    def __post_init__(self) -> None:
        if self.X.shape[0] != self.Y.shape[0]:
            raise ValueError(f"X has {self.X.shape[0]} rows, Y has {self.Y.shape[0]}")

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_labels(self) -> int:
        return self.Y.shape[1]

    def load(self, rows: slice) -> XY:
        _require_run(rows, self.n_rows)
        if rows == slice(0, self.n_rows):
            return self.X, self.Y  # slicing would copy them
        return self.X[rows], self.Y[rows]

    def labels(self, rows: slice) -> sp.csr_matrix:
        _require_run(rows, self.n_rows)
        return self.Y[rows]

    def part(self, rows: slice) -> XY:
        return self.load(rows)

    def select(self, numbers: np.ndarray) -> "InMemory":
        return InMemory(self.X[numbers], self.Y[numbers])


@dataclass(frozen=True)
class StoredRows:
    """The rows of one side of a features data set; of its file only the row groups are read that hold wanted rows."""

    storage: Storage
    side: str
    edges: tuple[int, ...]  # the first row of every row group, and the number of rows
    n_features: int
    n_labels: int
    groups_of_files: tuple[int, ...] = ()  # row groups of each file of the side; none: all are of one

    @classmethod
    def open(cls, folder: Path | str, side: str) -> "StoredRows":
        """Compares schemas, sizes and counts with the manifest, and reads no row."""
        data = Dataset.open(folder, "features", verify=False)
        sizes = []
        for name in data.files_of(side):
            with pq.ParquetFile(data.folder / name) as file:
                sizes.append([file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)])
        n_features = count_terms(data.folder / VECTORISER)
        edges = tuple(itertools.accumulate(itertools.chain(*sizes), initial=0))
        place, files = Folder(data.folder.absolute()), tuple(map(len, sizes))
        return cls(place, side, edges, n_features, data.counts["tags"], files)

    @property
    def files(self) -> list[str]:
        """The names of the files that are read."""
        return [part_name(self.side, number) for number in range(max(1, len(self.groups_of_files)))]

    @property
    def n_rows(self) -> int:
        return self.edges[-1]

    def at(self, storage: Storage) -> "StoredRows":
        """Gives the same rows, read from the copy of their file that lies in `storage`."""
        return replace(self, storage=storage)

    def load(self, rows: slice) -> XY:
        X, Y = self._matrices(rows, [("words", "values", self.n_features), ("tags", "counts", self.n_labels)])
        return X, Y

    def labels(self, rows: slice) -> sp.csr_matrix:
        (Y,) = self._matrices(rows, [("tags", "counts", self.n_labels)])
        return Y

    def part(self, rows: slice) -> "StoredPart":
        return StoredPart(self, rows.start, rows.stop)

    def select(self, numbers: np.ndarray) -> "SelectedRows":
        return SelectedRows(self, numbers)

    def _matrices(self, rows: slice, columns: list[ListColumns]) -> list[sp.csr_matrix]:
        """Reads rows, a matrix for each pair of columns."""
        _require_run(rows, self.n_rows)
        starts, ends = np.array(self.edges[:-1]), np.array(self.edges[1:])
        groups = np.flatnonzero((starts < rows.stop) & (rows.start < ends)).tolist()
        blocks = [
            [_rows_within(matrix, rows, self.edges[group]) for matrix in matrices]
            for group, matrices in zip(groups, self._read(groups, columns), strict=True)
        ]
        return [_stacked([block[i] for block in blocks], width) for i, (_, _, width) in enumerate(columns)]

    def _read(self, groups: list[int], columns: list[ListColumns]) -> list[list[sp.csr_matrix]]:
        read: list[list[sp.csr_matrix]] = []
        first = 0
        for name, n in zip(self.files, self.groups_of_files or (len(self.edges) - 1,), strict=True):
            if here := [group - first for group in groups if first <= group < first + n]:
                read += self._read_file(name, np.diff(self.edges)[first : first + n], here, columns)
            first += n
        return read

    def _read_file(
        self, name: str, expected: np.ndarray, groups: list[int], columns: list[ListColumns]
    ) -> list[list[sp.csr_matrix]]:
        try:
            with (
                self.storage.open(name) as content,
                pq.ParquetFile(content, page_checksum_verification=True) as file,
            ):
                sizes = tuple(file.metadata.row_group(g).num_rows for g in range(file.num_row_groups))
                if sizes != tuple(expected):
                    raise StoreError(f"{self.storage}/{name}: row groups of {sizes} rows, expected {expected}")
                return [self._group(file, name, group, columns) for group in groups]
        except FileNotFoundError as error:
            raise StoreError(f"{self.storage}/{name}: is missing") from error
        except (pa.ArrowInvalid, OSError) as error:
            raise StoreError(f"{self.storage}/{name}: not a parquet file ({error})") from error

    def _group(self, file: pq.ParquetFile, name: str, group: int, columns: list[ListColumns]) -> list[sp.csr_matrix]:
        try:
            table = file.read_row_group(group, columns=[name for pair in columns for name in pair[:2]])
            return [_matrix(table, *pair) for pair in columns]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StoreError(f"{self.storage}/{name}: row group {group} is damaged ({error})") from error


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """Some of the rows of another `Rows`, read where they are needed, a run of all rows at a time."""

    rows: Rows
    numbers: np.ndarray  # of the rows, rising

    def __post_init__(self) -> None:
        rising = np.diff(self.numbers, prepend=-1, append=self.rows.n_rows)
        if (rising < 1).any():
            raise ValueError(f"the numbers of selected rows must rise within 0..{self.rows.n_rows - 1}")

    @property
    def n_rows(self) -> int:
        return self.numbers.size

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def n_labels(self) -> int:
        return self.rows.n_labels

    def load(self, rows: slice) -> XY:
        blocks = []
        for run, wanted in self._runs(rows):
            X, Y = self.rows.load(run)
            blocks.append((X[wanted], Y[wanted]))
        X, Y = (_stacked([block[i] for block in blocks], (self.n_features, self.n_labels)[i]) for i in range(2))
        return X, Y

    def labels(self, rows: slice) -> sp.csr_matrix:
        blocks = [self.rows.labels(run)[wanted] for run, wanted in self._runs(rows)]
        return _stacked(blocks, self.n_labels)

    def part(self, rows: slice) -> "SelectedPart":
        _require_run(rows, self.n_rows)
        numbers = self.numbers[rows]
        first = int(numbers[0]) if numbers.size else 0
        wanted = np.zeros(int(numbers[-1]) + 1 - first if numbers.size else 0, bool)
        wanted[numbers - first] = True
        return SelectedPart(self.rows, first, np.packbits(wanted).tobytes())

    def select(self, numbers: np.ndarray) -> "SelectedRows":
        return SelectedRows(self.rows, self.numbers[numbers])

    def _runs(self, rows: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """(a run of all rows, the numbers within it of the selected ones), one run after the other."""
        _require_run(rows, self.n_rows)
        numbers = self.numbers[rows]
        cuts = np.flatnonzero(np.diff(numbers // _RUN_ROWS)) + 1
        for wanted in np.split(numbers, cuts) if numbers.size else ():
            yield slice(int(wanted[0]), int(wanted[-1]) + 1), wanted - wanted[0]


@dataclass(frozen=True)
class StoredPart:
    """Where to find a run of stored rows."""

    rows: StoredRows
    start: int
    stop: int

    def load(self) -> XY:
        return self.rows.load(slice(self.start, self.stop))


@dataclass(frozen=True)
class SelectedPart:
    """Where to find some rows of a run: a bit for each row from `first` on tells whether it is wanted."""

    rows: Rows
    first: int
    wanted: bytes  # eight bits in each

    def load(self) -> XY:
        bits = np.unpackbits(np.frombuffer(self.wanted, np.uint8))
        selected = SelectedRows(self.rows, self.first + np.flatnonzero(bits))
        return selected.load(slice(0, selected.n_rows))


Part = XY | StoredPart | SelectedPart


def load_all(rows: Rows) -> XY:
    """Loads all rows into this process, tag counts in float64: for a model that cannot learn from parts of them."""
    X, Y = rows.load(slice(0, rows.n_rows))
    return X, Y.astype(np.float64, copy=False)


def load_part(part: Part) -> XY:
    """Loads the rows of a part, which may be in memory already."""
    return part if isinstance(part, tuple) else part.load()


def load_part_once(part: Part, prepare: Callable[[XY], T]) -> T:
    """Prepares the rows of a part by `prepare`, a method of something hashable, but only once in this process.

    As long as someone holds the result, every later call for the same part gives that very object.
    """
    if isinstance(part, tuple):
        return prepare(part)
    with _loading:
        prepared = _prepared_parts.get((part, prepare))
        if prepared is None:
            prepared = _prepared_parts[part, prepare] = prepare(load_part(part))
        return prepared


_prepared_parts: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_loading = threading.Lock()


def shards_of(rows: Rows, count: int, prepare: Callable[[XY], Any], executor: Executor | None = None) -> Shards:
    """Cuts the rows into `count` shards; `prepare`, a function of a module, makes of (X, Y) what the steps work on."""
    slices = row_shards(rows.n_rows, count)
    parts = [rows.part(s) for s in slices]
    return Shards(parts, partial(_load_prepared, prepare), executor, [s.start for s in slices])


def _load_prepared(prepare: Callable[[XY], Any], part: Part) -> Any:
    return prepare(load_part(part))


def _require_run(rows: slice, n: int) -> None:
    if rows.step not in (None, 1) or not 0 <= rows.start <= rows.stop <= n:
        raise ValueError(f"rows {rows.start}:{rows.stop}, expected a run of rows within 0:{n}")


def _matrix(table: pa.Table, indices: str, values: str, width: int) -> sp.csr_matrix:
    if not pc.list_value_length(table[indices]).equals(pc.list_value_length(table[values])):
        raise StoreError(f"the lists of {indices!r} and {values!r} differ in length")
    return csr_from_lists(table[indices], table[values], width)


def _rows_within(block: sp.csr_matrix, rows: slice, first: int) -> sp.csr_matrix:
    """The wanted rows of a block that begins at row `first`; most blocks are wanted whole and are not copied."""
    wanted = slice(max(rows.start - first, 0), min(rows.stop - first, block.shape[0]))
    return block if wanted == slice(0, block.shape[0]) else block[wanted]


def _stacked(blocks: list[sp.csr_matrix], width: int) -> sp.csr_matrix:
    if len(blocks) == 1:
        return blocks[0]
    return sp.vstack(blocks, format="csr") if blocks else sp.csr_matrix((0, width), dtype=np.float32)
