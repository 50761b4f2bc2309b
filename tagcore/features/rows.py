"""The rows of a data set, wherever they are: in memory, or in row groups that whoever needs them reads for itself."""

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
from tagcore.store.datasets import Dataset, StoreError
from tagcore.store.storage import Folder, Storage
from tagcore.text import Vectoriser

XY = tuple[sp.csr_matrix, sp.csr_matrix]
T = TypeVar("T")
Columns = tuple[str, str, int]  # of ids, of values, and how many ids there are

_RUN_ROWS = 32_768  # rows that are read together where only some of them are wanted


class Rows(Protocol):
    """Documents as rows of word weights X and tag counts Y. The same rows are the same bits wherever they come from."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_labels(self) -> int: ...

    def load(self, part: slice) -> XY:
        """the rows from part.start to part.stop - 1."""

    def labels(self, part: slice) -> sp.csr_matrix:
        """their tags alone, without reading a word."""

    def part(self, part: slice) -> Any:
        """what `load_part` makes those rows of: as little as can be sent to another process."""

    def select(self, numbers: np.ndarray) -> "Rows":
        """the rows of these numbers, which rise, as rows of their own."""


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

    def load(self, part: slice) -> XY:
        _require_part(part, self.n_rows)
        if part == slice(0, self.n_rows):
            return self.X, self.Y  # slicing would copy them
        return self.X[part], self.Y[part]

    def labels(self, part: slice) -> sp.csr_matrix:
        _require_part(part, self.n_rows)
        return self.Y[part]

    def part(self, part: slice) -> XY:
        return self.load(part)

    def select(self, numbers: np.ndarray) -> "InMemory":
        return InMemory(self.X[numbers], self.Y[numbers])


@dataclass(frozen=True)
class StoredRows:
    """One side of a features data set: reads only the row groups that a part overlaps."""

    storage: Storage
    side: str
    edges: tuple[int, ...]  # the first row of every row group, and the number of rows
    n_features: int
    n_labels: int

    @classmethod
    def open(cls, folder: Path | str, side: str) -> "StoredRows":
        """Compares schemas, sizes and counts with the manifest, and reads no row."""
        data = Dataset.open(folder, "features", verify=False)
        with pq.ParquetFile(data.folder / f"{side}.parquet") as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        n_features = len(Vectoriser.load(data.folder / VECTORISER).idf_)
        edges = tuple(itertools.accumulate(sizes, initial=0))
        return cls(Folder(data.folder.absolute()), side, edges, n_features, data.counts["tags"])

    @property
    def file(self) -> str:
        return f"{self.side}.parquet"

    @property
    def n_rows(self) -> int:
        return self.edges[-1]

    def at(self, storage: Storage) -> "StoredRows":
        """The same rows where a copy of their file lies."""
        return replace(self, storage=storage)

    def load(self, part: slice) -> XY:
        X, Y = self._matrices(part, [("words", "values", self.n_features), ("tags", "counts", self.n_labels)])
        return X, Y

    def labels(self, part: slice) -> sp.csr_matrix:
        (Y,) = self._matrices(part, [("tags", "counts", self.n_labels)])
        return Y

    def part(self, part: slice) -> "StoredPart":
        return StoredPart(self, part.start, part.stop)

    def select(self, numbers: np.ndarray) -> "SelectedRows":
        return SelectedRows(self, numbers)

    def _matrices(self, part: slice, columns: list[Columns]) -> list[sp.csr_matrix]:
        """The rows of a part, a matrix for each pair of columns."""
        _require_part(part, self.n_rows)
        starts, ends = np.array(self.edges[:-1]), np.array(self.edges[1:])
        groups = np.flatnonzero((starts < part.stop) & (part.start < ends)).tolist()
        blocks = [
            [_rows_within(matrix, part, self.edges[group]) for matrix in matrices]
            for group, matrices in zip(groups, self._read(groups, columns), strict=True)
        ]
        return [_stacked([block[i] for block in blocks], width) for i, (_, _, width) in enumerate(columns)]

    def _read(self, groups: list[int], columns: list[Columns]) -> list[list[sp.csr_matrix]]:
        try:
            with (
                self.storage.open(self.file) as opened,
                pq.ParquetFile(opened, page_checksum_verification=True) as file,
            ):
                sizes = tuple(file.metadata.row_group(g).num_rows for g in range(file.num_row_groups))
                if sizes != tuple(np.diff(self.edges)):
                    raise StoreError(f"{self._where()}: row groups of {sizes} rows, expected {np.diff(self.edges)}")
                return [self._group(file, group, columns) for group in groups]
        except FileNotFoundError as error:
            raise StoreError(f"{self._where()}: is missing") from error
        except (pa.ArrowInvalid, OSError) as error:
            raise StoreError(f"{self._where()}: not a parquet file ({error})") from error

    def _group(self, file: pq.ParquetFile, group: int, columns: list[Columns]) -> list[sp.csr_matrix]:
        try:
            table = file.read_row_group(group, columns=[name for pair in columns for name in pair[:2]])
            return [_matrix(table, *pair) for pair in columns]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StoreError(f"{self._where()}: row group {group} is damaged ({error})") from error

    def _where(self) -> str:
        return f"{self.storage}/{self.file}"


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """Some of the rows of another `Rows`, which are read where they are needed, a run of all of them at a time."""

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

    def load(self, part: slice) -> XY:
        blocks = []
        for run, wanted in self._runs(part):
            X, Y = self.rows.load(run)
            blocks.append((X[wanted], Y[wanted]))
        X, Y = (_stacked([block[i] for block in blocks], (self.n_features, self.n_labels)[i]) for i in range(2))
        return X, Y

    def labels(self, part: slice) -> sp.csr_matrix:
        blocks = [self.rows.labels(run)[wanted] for run, wanted in self._runs(part)]
        return _stacked(blocks, self.n_labels)

    def part(self, part: slice) -> "SelectedPart":
        _require_part(part, self.n_rows)
        numbers = self.numbers[part]
        first = int(numbers[0]) if numbers.size else 0
        wanted = np.zeros(int(numbers[-1]) + 1 - first if numbers.size else 0, bool)
        wanted[numbers - first] = True
        return SelectedPart(self.rows, first, np.packbits(wanted).tobytes())

    def select(self, numbers: np.ndarray) -> "SelectedRows":
        return SelectedRows(self.rows, self.numbers[numbers])

    def _runs(self, part: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """(a run of all rows, those within it that are selected), until the part is complete."""
        _require_part(part, self.n_rows)
        numbers = self.numbers[part]
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
    """All rows in this process, tag counts in float64: for a model that cannot learn from parts of them."""
    X, Y = rows.load(slice(0, rows.n_rows))
    return X, Y.astype(np.float64, copy=False)


def load_part(recipe: Part) -> XY:
    """The rows of a recipe."""
    return recipe if isinstance(recipe, tuple) else recipe.load()


def load_part_once(recipe: Part, prepare: Callable[[XY], T]) -> T:
    """What `prepare`, a method of something hashable, makes of the rows of a recipe; as long as someone in this process
    holds it, whoever asks for the same gets that very object."""
    if isinstance(recipe, tuple):
        return prepare(recipe)
    with _loading:
        prepared = _held.get((recipe, prepare))
        if prepared is None:
            prepared = _held[recipe, prepare] = prepare(load_part(recipe))
        return prepared


_held: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_loading = threading.Lock()


def shards_of(rows: Rows, count: int, prepare: Callable[[XY], Any], executor: Executor | None = None) -> Shards:
    """The rows in `count` shards; `prepare`, a function of a module, makes of (X, Y) what the steps work on."""
    cuts = row_shards(rows.n_rows, count)
    recipes = [rows.part(cut) for cut in cuts]
    return Shards(recipes, partial(_prepared, prepare), executor, [cut.start for cut in cuts])


def _prepared(prepare: Callable[[XY], Any], recipe: Any) -> Any:
    return prepare(load_part(recipe))


def _require_part(part: slice, n: int) -> None:
    if part.step not in (None, 1) or not 0 <= part.start <= part.stop <= n:
        raise ValueError(f"rows {part.start}:{part.stop}, expected a run of rows within 0:{n}")


def _matrix(table: pa.Table, indices: str, values: str, width: int) -> sp.csr_matrix:
    if not pc.list_value_length(table[indices]).equals(pc.list_value_length(table[values])):
        raise StoreError(f"the lists of {indices!r} and {values!r} differ in length")
    return csr_from_lists(table[indices], table[values], width)


def _rows_within(block: sp.csr_matrix, part: slice, first: int) -> sp.csr_matrix:
    """The rows of a part, of a block that begins at row `first`; most blocks lie inside and are not copied."""
    cut = slice(max(part.start - first, 0), min(part.stop - first, block.shape[0]))
    return block if cut == slice(0, block.shape[0]) else block[cut]


def _stacked(blocks: list[sp.csr_matrix], width: int) -> sp.csr_matrix:
    if len(blocks) == 1:
        return blocks[0]
    return sp.vstack(blocks, format="csr") if blocks else sp.csr_matrix((0, width), dtype=np.float32)
