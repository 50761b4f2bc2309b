"""Values on their way between processes: arrays go by a file that whoever needs them reads, the rest by Dask's wire."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from dask.sizeof import sizeof

from tagcore.numeric.read_only import freeze
from tagcore.shards import Shard
from tagcore.store.storage import Storage

INLINE = 1 << 16  # values with fewer bytes of arrays are not worth a file
_KEPT_BYTES = 1 << 29  # of shared values that a worker has read; the newest is always kept


@dataclass(frozen=True)
class FileValue:
    """A value whose arrays are in a file: what travels in its place."""

    storage: Storage
    name: str
    frame: Any  # the value, with a _Slot where an array was
    nbytes: int
    shared: bool

    def read(self) -> Any:
        """The value itself, its arrays read from the file."""
        return freeze(_filled(self.frame, self.storage.read_arrays(self.name)))


@dataclass(frozen=True)
class _Slot:
    name: str


@dataclass(frozen=True)
class _SparseSlot:
    kind: type
    shape: tuple[int, int]
    parts: tuple[_Slot, _Slot, _Slot]


def store_value(value: Any, storage: Storage, name: str, *, shared: bool = False) -> Any:
    """What travels for a value: itself where it is small, a FileValue where its arrays were written to a file."""
    arrays: dict[str, np.ndarray] = {}
    frame = _emptied(value, arrays)
    size = sum(array.nbytes for array in arrays.values())
    if size < INLINE:
        return value
    storage.write_arrays(name, arrays)
    return FileValue(storage, name, frame, size, shared)


def array_bytes(value: Any) -> int:
    """The bytes of all arrays of a value, in memory or in a file."""
    if isinstance(value, FileValue):
        return value.nbytes
    arrays: dict[str, np.ndarray] = {}
    _emptied(value, arrays)
    return sum(array.nbytes for array in arrays.values())


def execute(function: Callable, place: tuple[Storage, str] | None, *args: Any) -> Any:
    """Runs a function on a worker, with the values behind its arguments; its result goes by file to `place`."""
    value = freeze(function(*(_shared_values.read(a) if isinstance(a, FileValue) else a for a in args)))
    return value if place is None else store_value(value, *place)


@sizeof.register(Shard)
def shard_bytes(shard: Shard) -> int:
    """The bytes of all arrays of a shard: Dask places steps by size, and does not look inside a model's own classes."""
    return 256 + sum({id(array): array.nbytes for array in _arrays_inside(shard.data)}.values())


def _arrays_inside(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif sp.issparse(value) and value.format in ("csr", "csc"):
        yield from (value.data, value.indices, value.indptr)
    else:
        parts = vars(value).values() if is_dataclass(value) else value.values() if isinstance(value, dict) else value
        for part in parts if isinstance(parts, Iterable) and not isinstance(parts, str) else ():
            yield from _arrays_inside(part)


class _SharedValues:
    """Shared values that this process keeps once it has read them, the latest used last; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[tuple[Storage, str], tuple[int, Any]] = OrderedDict()

    def read(self, value: FileValue) -> Any:
        if not value.shared:
            return value.read()
        key = value.storage, value.name
        with self._lock:
            if key not in self._values:
                self._values[key] = value.nbytes, value.read()
                while len(self._values) > 1 and sum(size for size, _ in self._values.values()) > _KEPT_BYTES:
                    self._values.popitem(last=False)
            self._values.move_to_end(key)
            return self._values[key][1]


_shared_values = _SharedValues()


def _emptied(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The frame of a value; its arrays are added to `arrays`."""
    if isinstance(value, dict):
        return {k: _emptied(v, arrays) for k, v in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_emptied(v, arrays) for v in value)
    if sp.issparse(value) and value.format in ("csr", "csc"):
        parts = (_emptied(part, arrays) for part in (value.data, value.indices, value.indptr))
        return _SparseSlot(type(value), value.shape, tuple(parts))
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.dtype.isnative:
        slot = _Slot(str(len(arrays)))
        arrays[slot.name] = value
        return slot
    return value


def _filled(frame: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(frame, dict):
        return {k: _filled(v, arrays) for k, v in frame.items()}
    if type(frame) in (tuple, list):
        return type(frame)(_filled(v, arrays) for v in frame)
    if isinstance(frame, _SparseSlot):
        return frame.kind(_filled(frame.parts, arrays), shape=frame.shape, copy=False)
    return arrays[frame.name] if isinstance(frame, _Slot) else frame
