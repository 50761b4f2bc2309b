"""The same documents as rows of several features, side by side: what a model reads whose parts read different ones."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.build import VECTORISER
from tagcore.features.rows import XY, InMemory, Part, Rows, StoredRows, load_part
from tagcore.numeric.columns import join_columns, take_columns
from tagcore.store.datasets import MANIFEST, Dataset, write_dataset
from tagcore.store.files import link_or_copy
from tagcore.text import Vectoriser
from tagcore.text.joined import JoinedVectoriser

_VIEWS = "views"  # folder, of features side by side, of all but the first

Columns = tuple[int, int]  # the first column of a view, and the first one after it


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Rows of the same documents, with the columns of all views behind one another."""

    views: tuple[Rows, ...]

    def __post_init__(self) -> None:
        sizes = {(view.n_rows, view.n_labels) for view in self.views}
        if len(sizes) != 1:
            raise ValueError(f"views of {sorted(sizes)} rows and tags, expected the same of all")

    @property
    def n_rows(self) -> int:
        return self.views[0].n_rows

    @cached_property
    def edges(self) -> list[int]:
        """The first column of every view, and the number of columns."""
        return list(itertools.accumulate((view.n_features for view in self.views), initial=0))

    @property
    def n_features(self) -> int:
        return self.edges[-1]

    @property
    def n_labels(self) -> int:
        return self.views[0].n_labels

    def load(self, rows: slice) -> XY:
        return _joined([view.load(rows) for view in self.views])

    def labels(self, rows: slice) -> sp.csr_matrix:
        return self.views[0].labels(rows)

    def part(self, rows: slice) -> "SideBySidePart":
        return SideBySidePart(tuple(view.part(rows) for view in self.views))

    def select(self, numbers: np.ndarray) -> "SideBySide":
        return SideBySide(tuple(view.select(numbers) for view in self.views))


@dataclass(frozen=True)
class SideBySidePart:
    """Where to find a run of rows, view by view."""

    parts: tuple[Part, ...]

    def load(self) -> XY:
        return _joined([load_part(part) for part in self.parts])


def columns_of(rows: Rows, columns: Columns | None) -> Rows:
    """Gives rows with some of their columns alone (None: all): those of one view, or of rows in memory any."""
    start, stop = columns or (0, rows.n_features)
    if stop > rows.n_features:
        raise ValueError(f"columns {start}:{stop}, the rows have {rows.n_features}")
    if (start, stop) == (0, rows.n_features):
        return rows
    if isinstance(rows, InMemory):
        return InMemory(take_columns(rows.X, start, stop), rows.Y)
    if isinstance(rows, SideBySide) and start in rows.edges:
        number = rows.edges.index(start)
        if stop == rows.edges[number + 1]:
            return rows.views[number]
    raise ValueError(f"columns {start}:{stop} of stored rows, expected those of one of the features side by side")


def number_of_view(rows: Rows, read: Rows) -> int | None:
    """Which of the features side by side `read` are, counted from 0; None where they are none of these."""
    views = rows.views if isinstance(rows, SideBySide) else (rows,)
    return next((number for number, view in enumerate(views) if view is read), None)


def join_features(folder: Path, views: Sequence[Dataset], **manifest: Any) -> None:
    """Writes the features data set at `folder` whose rows are those of all views, by links to their files.

    ValueError where views do not have the same documents in the same order, and the same tags.
    """
    first, *others = views
    for view in others:
        if (view.folder / _VIEWS).exists():
            raise ValueError(f"{view.folder}: is side by side already, expected features of one view")
        if view.names("tags") != first.names("tags"):
            raise ValueError(f"{view.folder}: its tags are others than those of {first.folder}")
        for side in ("train", "test"):
            if not view.read(side, ["document"]).equals(first.read(side, ["document"])):
                raise ValueError(f"{view.folder}: its {side} documents are others than those of {first.folder}")
    with write_dataset(folder, "features", **manifest) as writer:
        for table in ("train", "test", "tags"):
            writer.link(table, first)
        vectoriser = [name for name in first.manifest["files"] if name.startswith(f"{VECTORISER}/")]
        _link_files(first, vectoriser, writer.folder)
        for number, view in enumerate(others, start=1):
            _link_files(view, [*view.manifest["files"], MANIFEST], writer.folder / _VIEWS / str(number))


def open_rows(folder: Path | str, side: str) -> StoredRows | SideBySide:
    """Opens one side of stored features, whether these are one view or several side by side."""
    opened = [StoredRows.open(view, side) for view in _views(Path(folder))]
    return opened[0] if len(opened) == 1 else SideBySide(tuple(opened))


def open_vectoriser(folder: Path | str) -> Vectoriser | JoinedVectoriser:
    """Loads what made the rows of stored features."""
    loaded = [Vectoriser.load(view / VECTORISER) for view in _views(Path(folder))]
    return loaded[0] if len(loaded) == 1 else JoinedVectoriser(loaded)


def _views(folder: Path) -> list[Path]:
    numbered = (folder / _VIEWS / str(number) for number in itertools.count(1))
    return [folder, *itertools.takewhile(Path.is_dir, numbered)]


def _link_files(data: Dataset, names: Sequence[str], folder: Path) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(data.folder / name, folder / name)


def _joined(blocks: list[XY]) -> XY:
    return join_columns([X for X, _ in blocks]), blocks[0][1]
