"""Rows with one class each, wherever they are: what a Gaussian process classifier learns from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import Rows, load_part
from tagcore.models.sgps.basis import Basis
from tagcore.models.sgps.features import FeatureShards, Mode, feature_shards
from tagcore.numeric.dots import Matrix
from tagcore.numeric.normalise import normalise_rows
from tagcore.shards import Executor, InProcess, Shards, row_shards

_SHARD_ROWS = 1536  # fewer would be more messages than work

Load = Callable[[Any], tuple[Matrix, np.ndarray]]


class LabelledRows(Protocol):
    """Rows of inputs, ready to compare, and the class of each as a number from 0."""

    @property
    def classes(self) -> np.ndarray: ...
    @property
    def n_features(self) -> int: ...
    @property
    def load(self) -> Load: ...

    def part(self, rows: slice) -> Any:
        """Gives what `load` makes (X, classes) of these rows of."""

    def take(self, numbers: np.ndarray) -> Matrix:
        """Gives X of the rows of these numbers, which rise, in this process."""


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """Rows that this process holds, dense or CSR."""

    X: Matrix
    classes: np.ndarray

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def load(self) -> Load:
        return _unchanged

    def part(self, rows: slice) -> tuple[Matrix, np.ndarray]:
        return self.X[rows], self.classes[rows]

    def take(self, numbers: np.ndarray) -> Matrix:
        return self.X[numbers]


@dataclass(frozen=True, eq=False)
class LabelledDocuments:
    """Documents wherever they are, each with a category; `unit` brings their rows to unit length."""

    rows: Rows
    classes: np.ndarray
    unit: bool

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def load(self) -> Load:
        return _LoadDocuments(self.unit)

    def part(self, rows: slice) -> tuple[Any, np.ndarray]:
        return self.rows.part(rows), self.classes[rows]

    def take(self, numbers: np.ndarray) -> sp.csr_matrix:
        chosen = self.rows.select(numbers)
        return normalise_rows(chosen.load(slice(0, chosen.n_rows))[0], self.unit)


@dataclass(frozen=True)
class _LoadDocuments:
    unit: bool

    def __call__(self, part: tuple[Any, np.ndarray]) -> tuple[sp.csr_matrix, np.ndarray]:
        rows, classes = part
        return normalise_rows(load_part(rows)[0], self.unit), classes


@dataclass(frozen=True, eq=False)
class Layout:
    """How rows are cut into shards, and whether these keep features."""

    n_shards: int = 8
    mode: Mode = "store"
    executor: Executor = field(default_factory=InProcess)

    def shards(self, data: LabelledRows) -> Shards:
        """Shards of (X, classes)."""
        cuts = self._cuts(data)
        executor = self._executor(data)
        return Shards([data.part(cut) for cut in cuts], data.load, executor, [cut.start for cut in cuts])

    def features(self, data: LabelledRows, basis: Basis) -> FeatureShards:
        """Shards of features on these prototypes."""
        cuts = self._cuts(data)
        parts, firsts = [data.part(cut) for cut in cuts], [cut.start for cut in cuts]
        n, executor = data.classes.size, self._executor(data)
        return feature_shards(parts, data.load, basis, firsts, n, self.mode, executor)

    def _executor(self, data: LabelledRows) -> Executor:
        """Few rows are worked on here: to hand them over takes longer."""
        return self.executor if data.classes.size > _SHARD_ROWS else InProcess()

    def _cuts(self, data: LabelledRows) -> list[slice]:
        n = data.classes.size
        return row_shards(n, min(self.n_shards, -(-n // _SHARD_ROWS)))


def _unchanged(part: tuple[Matrix, np.ndarray]) -> tuple[Matrix, np.ndarray]:
    return part
