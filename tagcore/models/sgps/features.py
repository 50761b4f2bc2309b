"""Features of the rows of a shard: kept once (`store`, or rounded, `float32`), or made anew in every pass (`stream`).

Stored features are whitened, Φ = k(X, Z) L⁻ᵀ. Streamed ones are k(X, Z) itself: then whitening happens on arrays of the
size of the prototypes, by the driver, and no row needs a triangular solve.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tagcore.models.sgps.basis import Basis
from tagcore.numeric.dots import Matrix
from tagcore.numeric.read_only import freeze
from tagcore.shards import Executor, Shards

Mode = Literal["store", "float32", "stream"]

STORED_BYTES: dict[Mode, int] = {"store": 12, "float32": 4}  # of a feature: in float64 and rounded, or rounded alone
_BLOCK_CELLS = 4_000_000  # features that a stream forms together


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The rows of a shard, their classes, and their features where these are stored; rounded alone, they are what
    features are, and all passes see the same."""

    X: Matrix
    y: np.ndarray
    basis: Basis
    stored: np.ndarray | None
    rounded: np.ndarray | None

    @property
    def precision(self) -> type[np.floating]:
        """The type of `rounded_blocks`."""
        return np.float64 if self.rounded is None else np.float32

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Gives features as Newton's method takes them: stored ones, or covariances of a few rows at a time."""
        if self.stored is not None:
            yield slice(0, self.y.size), self.stored
            return
        if self.rounded is not None:
            yield from self.whitened_blocks()
            return
        for rows in self._cuts():
            yield rows, self.basis.covariances(self.X[rows])

    def rounded_blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Gives the same in float32 where these are stored; covariances would lose too much in whitening."""
        if self.rounded is not None:
            yield slice(0, self.y.size), self.rounded
            return
        yield from self.blocks()

    def whitened_blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Gives whitened features of a few rows at a time, stored or not."""
        for rows in self._cuts():
            if self.stored is not None:
                yield rows, self.stored[rows]
            elif self.rounded is not None:
                yield rows, self.rounded[rows].astype(np.float64)
            else:
                yield rows, self.basis.features(self.X[rows])

    def _cuts(self) -> list[slice]:
        step = max(1, _BLOCK_CELLS // self.basis.size)
        return [slice(i, min(i + step, self.y.size)) for i in range(0, self.y.size, step)]


@dataclass(frozen=True)
class FeatureLoader:
    """Makes the features of a part where it is needed. `load` gives (X, classes) of the part."""

    load: Callable[[Any], tuple[Matrix, np.ndarray]]
    mode: Mode

    def __call__(self, part: tuple[Any, dict[str, Any]]) -> FeatureRows:
        rows, parts = part
        X, y = self.load(rows)
        basis = Basis(**parts)
        stored = rounded = None
        if self.mode == "store":
            stored = np.ascontiguousarray(basis.features(X))
            rounded = stored.astype(np.float32)
        elif self.mode == "float32":
            rounded = np.empty((y.size, basis.size), np.float32)
            for cut, block in FeatureRows(X, y, basis, None, None).whitened_blocks():
                rounded[cut] = block
        return FeatureRows(freeze(X), freeze(y), basis, freeze(stored), freeze(rounded))


@dataclass(frozen=True, eq=False)
class FeatureShards:
    """Shards of features, and the whitening that the driver does where these are streamed."""

    shards: Shards
    basis: Basis
    stored: bool
    n_rows: int

    def inwards(self, V: np.ndarray) -> np.ndarray:
        """Gives what blocks of features are multiplied by for Φ V."""
        return V if self.stored else self.basis.unwhiten(V)

    def outwards(self, S: np.ndarray) -> np.ndarray:
        """Gives Φᵀ R of the sum over blocks of features times R."""
        return S if self.stored else self.basis.whiten(S)

    def outwards_twice(self, gram: np.ndarray) -> np.ndarray:
        """Gives Φᵀ diag(w) Φ of the sum over blocks, which must be whole, not a triangle."""
        return gram if self.stored else self.basis.whiten(self.basis.whiten(gram).T)


def feature_shards(
    parts: Sequence[Any],
    load: Callable[[Any], tuple[Matrix, np.ndarray]],
    basis: Basis,
    firsts: Sequence[int],
    n_rows: int,
    mode: Mode,
    executor: Executor | None = None,
) -> FeatureShards:
    """Makes shards of the features of these parts of the rows."""
    shared = basis.parts()
    shards = Shards([(part, shared) for part in parts], FeatureLoader(load, mode), executor, firsts)
    return FeatureShards(shards, basis, mode != "stream", n_rows)
