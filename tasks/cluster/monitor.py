"""What can go wrong on a cluster, said once and so that a person knows what to do."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from dask.utils import format_bytes
from distributed import Client, KilledWorker, wait
from distributed.comm import CommClosedError

_LOOK_SECONDS = 2.0
_PATIENCE_SECONDS = 60.0  # with nobody able to work


class ClusterError(ValueError):
    """The work cannot be done on this cluster as it is: trying again will not help."""


class ClusterLostError(ConnectionError):
    """The cluster went away. A run that is started again goes on from its last checkpoint."""


class ClusterMonitor:
    """Waits for results, and looks meanwhile whether anyone is left to make them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.address = client.scheduler_info(n_workers=0)["address"]
        self._limits = _limits(self._info())  # asked now: when workers have died of it, no one can tell

    def workers(self) -> list[str]:
        """The addresses of those at work, in a fixed order; waits for the first."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not (found := self._info()):
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.address}: no worker came within {_PATIENCE_SECONDS:.0f} s")
            time.sleep(0.2)
        return sorted(found)

    def wait(self, futures: list) -> None:
        """Until all are done, well or not; ClusterError where that will not happen."""
        idle_since = None
        while True:
            try:
                wait(futures, timeout=_LOOK_SECONDS)
                return
            except TimeoutError:
                if self.client.status != "running":  # a scheduler that comes back has forgotten us
                    raise ClusterLostError(f"{self.address}: the scheduler went away") from None
                trouble = self._trouble()
                idle_since = (idle_since or time.monotonic()) if trouble else None
                if idle_since and time.monotonic() - idle_since > _PATIENCE_SECONDS:
                    raise ClusterError(f"{self.address}: {trouble}") from None

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Dask's own errors as ours; those of steps and readers stay what they are."""
        try:
            yield
        except KilledWorker as error:
            raise ClusterError(self._killed(error)) from None
        except MemoryError as error:
            raise ClusterError(f"{self.address}: a worker could not get memory ({error}). {_MORE_MEMORY}") from None
        except (CancelledError, asyncio.CancelledError, CommClosedError) as error:
            raise ClusterLostError(f"{self.address}: the scheduler went away ({error})") from None

    def _info(self) -> dict[str, Any]:
        return self.client.scheduler_info(n_workers=-1).get("workers", {})

    def _trouble(self) -> str | None:
        found = self._info()
        if not found:
            return "no worker is left"
        if all(worker["status"] == "paused" for worker in found.values()):
            return f"all workers are paused, out of memory{self._limits}. {_MORE_MEMORY}"
        return None

    def _killed(self, error: KilledWorker) -> str:
        deaths = [event for _, event in self.client.get_events("worker-restart-memory")]
        if deaths:
            most = format_bytes(max(event["rss"] for event in deaths))
            why = f"ran out of memory: {most} used{self._limits}. {_MORE_MEMORY}"
        else:
            why = f"died; if their logs say nothing, the machine ran out of memory{self._limits}. {_MORE_MEMORY}"
        return f"{self.address}: {error.allowed_failures + 1} workers that worked on {_named(error.task)} {why}"


_MORE_MEMORY = "Give workers more memory, or the model more shards."


def _limits(workers: dict[str, Any]) -> str:
    found = [worker["memory_limit"] for worker in workers.values() if worker.get("memory_limit")]
    return f" (the limit is {format_bytes(min(found))} a worker)" if found else ""


def _named(key: Any) -> str:
    """'gradient', shard 3 of 8: from the key of a task of ours."""
    label, _, rest = str(key).partition("-of-")
    name, _, position = label.rpartition("-")
    return f"{name!r}, shard {position} of {rest.split('-')[0]}," if rest else repr(str(key))
