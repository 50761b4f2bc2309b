"""The executor of `tagcore.shards` on a Dask cluster.

Calls are gathered until a value is asked for, then sent as one graph. Every value has a recipe (a row group, a file,
a step), so Dask itself makes again what a dead worker held. The files of a recipe stay as long as a reference that
may need them.
"""

import itertools
import threading
import time
import uuid
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef
from dask.typing import Key
from distributed import Client

from tagcore.numeric.read_only import freeze
from tagcore.shards import Arrays
from tagcore.store.storage import Storage
from tasks.cluster.monitor import ClusterMonitor
from tasks.cluster.references import Call, File, FileArgument, Lineage, Result
from tasks.cluster.values import FileValue, array_bytes, execute, store_value

_SETTLE_SECONDS = 30.0  # about as much work as a dead worker costs at most
_SETTLE_BYTES = 1 << 30  # files of recipes that may pile up
_DEEP = 8  # calls on top of each other that are worth a file


@dataclass
class Traffic:
    """The bytes of arrays that the driver wrote for workers and read of their results; how often it waited."""

    sent: int = 0
    received: int = 0
    rounds: int = 0


@dataclass
class DaskExecutor:
    """Runs calls on the workers of a client; `storage` is a folder of its own that all of them reach.

    Threads of the driver may share it.
    """

    client: Client
    storage: Storage
    traffic: Traffic = field(default_factory=Traffic)

    def __post_init__(self) -> None:
        self._monitor = ClusterMonitor(self.client)
        self._run = uuid.uuid4().hex[:8]
        self._serial = itertools.count()
        self._lock = threading.RLock()
        self._calls: list[Call] = []
        self._results: weakref.WeakSet[Result] = weakref.WeakSet()
        self._files: weakref.WeakValueDictionary[str, File] = weakref.WeakValueDictionary()
        self._forgotten: list[FileValue] = []
        self._needed_bytes = 0  # of files that a recipe still needs
        self._settled = time.monotonic()

    def call(self, function: Callable, *args: Any) -> Result:
        call = Call(function, tuple(a if isinstance(a, FileArgument | Result) else self._argument(a) for a in args))
        result = call.promise()
        with self._lock:
            self._calls.append(call)
            self._results.add(result)
        return result

    def share(self, arrays: Arrays) -> Any:
        return self._argument(freeze(arrays), shared=True)

    def get(self, references: list) -> list:
        travelling = self._fetch(references)
        self.traffic.received += sum(map(array_bytes, travelling))
        self.traffic.rounds += 1
        values = [value.read() if isinstance(value, FileValue) else freeze(value) for value in travelling]
        with self._lock:
            self._settle()
            self._remove_unneeded_files()
        return values

    @property
    def dashboard_address(self) -> str | None:
        """The address of Dask's dashboard; None where the scheduler has none."""
        return self.client.dashboard_link or None

    def count_workers(self) -> int:
        """How many workers there are now; waits for the first."""
        return len(self._monitor.workers())

    def close_client(self) -> None:
        """Lets go of the cluster at once: those who wait for its results get an error."""
        self.client.close(timeout=2)

    def _argument(self, value: Any, *, shared: bool = False) -> Any:
        """What stands for a value among the arguments of a call: itself, or a file that it was written to."""
        travelling = store_value(value, self.storage, self._new_name("argument"), shared=shared)
        if not isinstance(travelling, FileValue):
            return value
        self.traffic.sent += travelling.nbytes
        return FileArgument(travelling, self._lineage(travelling))

    def _fetch(self, references: list) -> list:
        """Waits for values, as they travel: large arrays stay in the files that workers wrote them to."""
        results = [r if r.place or not r.future else self.call(_identity, r) for r in references]
        for result in results:
            result.place = result.place or self._new_name("result")
        with self._monitor.translate_errors():
            with self._lock:
                self._send()
            futures = [r.future for r in results]
            self._monitor.wait(futures)
            values = self.client.gather(futures)
        for result, value in zip(results, values, strict=True):
            if isinstance(value, FileValue):
                result.lineage = Lineage.joined([result.lineage, self._lineage(value)])
        return values

    def _send(self) -> None:
        """Sends all calls so far whose results someone holds, as one graph."""
        earlier = [a.future for call in self._calls for a in call.args if isinstance(a, Result) and a.future]
        tasks, references = self._graph()
        results = {result.key: result for reference in references if (result := reference())}
        if not results:
            return
        # a plain dictionary would do, but Dask hashes every argument in it: up to a fifth of the driver's time a round
        layer = f"calls-{self._run}-{next(self._serial)}"
        graph = HighLevelGraph({layer: tasks}, {layer: set()})
        futures = self.client.get(graph, list(results), sync=False)
        for result, future in zip(results.values(), futures, strict=True):
            result.future = future
        del earlier  # held until the graph was sent: Dask forgets what nobody holds

    def _graph(self) -> tuple[dict[Key, Task], list[weakref.ref[Result]]]:
        """The tasks of all calls by key. The calls are forgotten: what is alive after that, someone waits for."""
        calls, self._calls = self._calls, []
        totals = Counter(call.label for call in calls)
        numbers: dict[str, Iterator[int]] = defaultdict(itertools.count)
        tasks: dict[Key, Task] = {}
        for call in calls:
            result, label = call.result(), call.label
            position = next(numbers[label])
            if result is None:
                continue
            result.key = f"{label}-{position}-of-{totals[label]}-{self._run}-{next(self._serial)}"
            place = (self.storage, result.place) if result.place else None
            tasks[result.key] = Task(result.key, execute, call.function, place, *map(_task_argument, call.args))
        return tasks, [call.result for call in calls]

    def _settle(self) -> None:
        """Keeps in files what took many calls to make, from time to time, so that a loss costs little to make good
        and the files of earlier rounds can go. A checkpoint does the same, but not all training has them.
        """
        if time.monotonic() - self._settled < _SETTLE_SECONDS and self._needed_bytes < _SETTLE_BYTES:
            return
        deep = [r for r in self._results if r.future and not r.place and r.depth > _DEEP]
        written = [self.call(_identity, result) for result in deep]
        values = self._fetch(written)
        read = [
            self.call(_identity, FileArgument(v, self._lineage(v)) if isinstance(v, FileValue) else v) for v in values
        ]
        with self._monitor.translate_errors():
            self._send()
        for result, other in zip(deep, read, strict=True):
            result.become(other)
        del written  # held until now, with the files
        self._settled = time.monotonic()

    def _new_name(self, kind: str) -> str:
        return f"{kind}-{next(self._serial):08d}.safetensors"

    def _lineage(self, value: FileValue) -> Lineage:
        file = self._files.get(value.name)
        if file is None:
            file = self._files[value.name] = File(value, self._forgotten.append)
            self._needed_bytes += value.nbytes
        return Lineage((file,))

    def _remove_unneeded_files(self) -> None:
        """Removes files that nobody needs: here, because the last reference may go in any thread at any time."""
        unneeded = [self._forgotten.pop() for _ in range(len(self._forgotten))]
        self._needed_bytes -= sum(value.nbytes for value in unneeded)
        if unneeded:
            self.storage.remove(*(value.name for value in unneeded))


def _task_argument(value: Any) -> Any:
    if isinstance(value, Result):
        return TaskRef(value.key)
    return value.value if isinstance(value, FileArgument) else value


def _identity(value: Any) -> Any:
    return value
