"""Work in parts: where functions run on shards of the data, where their state lives, how sums are made.

A step is a pure function of (shard, state, **shared): it never writes to what it is given (arrays arrive
read-only) and runs on one thread. Partial sums are added as a fixed binary tree over shard numbers. So a result
depends on the shards alone: not on how many workers there are, who ran what, or how often.
"""

import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from tagcore.numeric.read_only import freeze
from tagcore.store.storage import Storage, storage_of

Arrays = dict[str, np.ndarray]
T = TypeVar("T")

_BRANCH = 4  # partial sums that one call adds; a power of two, so that it is a branch of the binary tree


@dataclass(frozen=True)
class Shard(Generic[T]):
    """One part of the data, with the number of its first row in the whole: random draws are keyed by global row."""

    number: int
    first: int
    data: T


class Executor(Protocol):
    """What runs the steps: this process, or workers elsewhere.

    References stand for values that may live elsewhere; each can be made again, from what it was made of, for as long
    as someone holds it.
    """

    def call(self, function: Callable, *args: Any) -> Any:
        """Gives a reference to function(*args); arguments may be references."""

    def share(self, arrays: Arrays) -> Any:
        """Gives a reference to arrays that every worker will read."""

    def get(self, references: list) -> list:
        """Gives the values of references."""


class InProcess:
    """The executor that is this process, with n threads: kernels release the GIL.

    First in, first out, so no call waits for a later one. One thread is the one that asks: a call is made at once, and
    its reference is its value.
    """

    def __init__(self, threads: int = 1) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="shard") if threads > 1 else None

    def call(self, function: Callable, *args: Any) -> Any:
        if self._pool is None:
            return function(*args)
        return self._pool.submit(lambda: function(*(a.result() if isinstance(a, Future) else a for a in args)))

    def share(self, arrays: Arrays) -> Arrays:
        return freeze(arrays)

    def get(self, references: list) -> list:
        return references if self._pool is None else [r.result() for r in references]


class Shards:
    """The parts of one data set, a state beside each, and the three ways to work on them.

    `load(part)` makes the data of one part, on whichever worker needs it; `firsts` are global row numbers.
    """

    def __init__(
        self,
        parts: Sequence,
        load: Callable[[Any], Any],
        executor: Executor | None = None,
        firsts: Sequence[int] | None = None,
    ) -> None:
        if not parts:
            raise ValueError("no shards: the data set has no rows")
        self.executor: Executor = executor or InProcess()
        firsts = range(len(parts)) if firsts is None else firsts
        self.data = [
            self.executor.call(_load, load, i, first, part)
            for i, (first, part) in enumerate(zip(firsts, parts, strict=True))
        ]
        self.state: list[Any] = [{} for _ in parts]
        self._kept = self.executor.share({})

    def __len__(self) -> int:
        return len(self.data)

    def keep(self, **shared: Any) -> None:
        """Shares arrays that every step from here on is given, beside its own: a model that does not change."""
        self._kept = self.executor.share(shared)

    def update(self, step: Callable[..., tuple[Arrays, Arrays]], **shared: Any) -> Arrays:
        """Moves every state on by step(...) -> (state, partial); returns the sum of the partials."""
        pairs = self._map(step, shared)
        partials = [self.executor.call(_item, pair, 1) for pair in pairs]  # on their own: states need not travel
        self.state = [self.executor.call(_item, pairs.pop(0), 0) for _ in partials]  # no pair outlives this round
        return self._sum(partials)

    def sum(self, step: Callable[..., Arrays], **shared: Any) -> Arrays:
        """Gives the sum of step(...) -> partial; states are only read."""
        return self._sum(self._map(step, shared))

    def collect(self, step: Callable[..., Any], **shared: Any) -> list:
        """Gives step(...) of every shard, in shard order."""
        return self.executor.get(self._map(step, shared))

    def regroup(self, take: Callable, keys: Sequence, combine: Callable, **shared: Any) -> "Shards":
        """Makes new shards, one for each key: combine(*pieces) of take(shard, state, key, **shared) of every shard.

        Pieces go from worker to worker.
        """
        reference = self.executor.share(shared)
        parts = [
            self.executor.call(
                combine,
                *(
                    self.executor.call(_take, take, key, data, state, self._kept, reference)
                    for data, state in zip(self.data, self.state, strict=True)
                ),
            )
            for key in keys
        ]
        return Shards(parts, _unchanged, self.executor)

    def save(self, place: Path | Storage) -> None:
        """Saves every state to a file of a new folder."""
        storage = storage_of(place)
        storage.create()
        self.executor.get([self.executor.call(_write, storage, i, state) for i, state in enumerate(self.state)])

    def restore(self, place: Path | Storage) -> None:
        """Goes on from saved files, so that a state is made again from them and nothing older."""
        self.state = [self.executor.call(_read, storage_of(place), i) for i in range(len(self))]

    def _map(self, step: Callable, shared: Arrays) -> list:
        reference = self.executor.share(shared)
        return [
            self.executor.call(_run, step, data, state, self._kept, reference)
            for data, state in zip(self.data, self.state, strict=True)
        ]

    def _sum(self, references: list) -> Arrays:
        while True:
            starts = range(0, len(references), _BRANCH)
            references = [self.executor.call(_add, *references[i : i + _BRANCH]) for i in starts]
            if len(references) == 1:
                return self.executor.get(references)[0]


def row_shards(n: int, count: int) -> list[slice]:
    """Cuts n rows into `count` runs of nearly equal length (fewer if there are fewer rows)."""
    edges = np.linspace(0, n, min(count, max(n, 1)) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def contiguous(arrays: Arrays) -> Arrays:
    """Lays arrays out as safetensors wants them. Not np.ascontiguousarray, which turns a number into a vector."""
    return {k: np.asarray(v, order="C") for k, v in arrays.items()}


class _OneThread:
    """Keeps BLAS on one thread while any step runs.

    The limit belongs to the process and only one thread may control it (threadpoolctl's rule for OpenBLAS), so a
    thread of our own sets it before the first step and lifts it after the last one of those that run together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = self._modules = 0
        self._control: ThreadPoolExecutor | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._running == 0:
                self._control = self._control or ThreadPoolExecutor(1, thread_name_prefix="blas-limit")
                self._control.submit(self._limit).result()
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0 and self._control:
                self._control.submit(self._limits.__exit__, None, None, None).result()

    def _limit(self) -> None:
        if self._modules != len(sys.modules):  # libraries come with modules; looking for them takes milliseconds
            self._controller, self._modules = ThreadpoolController(), len(sys.modules)
        self._limits = self._controller.limit(limits=1, user_api="blas").__enter__()


_one_thread = _OneThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Keeps BLAS on one thread outside of steps, too: what a driver computes between them then has the same bits
    everywhere, and steps need not set the limit anew.
    """
    return _one_thread


def _load(load: Callable, number: int, first: int, part: Any) -> Shard:
    return Shard(number, first, freeze(load(part)))


def _run(step: Callable, shard: Shard, state: Arrays, kept: Arrays, shared: Arrays) -> Any:
    with _one_thread:
        out = step(shard, state, **kept, **shared)
    return freeze(out)


def _take(take: Callable, key: Any, shard: Shard, state: Arrays, kept: Arrays, shared: Arrays) -> Any:
    with _one_thread:
        return freeze(take(shard, state, key, **kept, **shared))


def _unchanged(part: Any) -> Any:
    return part


def _item(pair: tuple, i: int) -> Any:
    return pair[i]


def _add(*values: Arrays) -> Arrays:
    sums = list(values)
    while len(sums) > 1:
        pairs = [sums[i : i + 2] for i in range(0, len(sums), 2)]
        sums = [{k: p[0][k] + p[1][k] for k in p[0]} if len(p) == 2 else p[0] for p in pairs]
    return freeze(sums[0])


def _file(number: int) -> str:
    return f"shard-{number:05d}.safetensors"


def _write(storage: Storage, number: int, state: Arrays) -> None:
    storage.write_arrays(_file(number), state)


def _read(storage: Storage, number: int) -> Arrays:
    return freeze(storage.read_arrays(_file(number)))
