"""Waits for a cluster's results, and says what went wrong there once and so that a person knows what to do."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from dask.utils import format_bytes
from distributed import Client, KilledWorker, wait
from distributed.comm import CommClosedError

_CHECK_SECONDS = 2.0
_PATIENCE_SECONDS = 60.0  # with nobody able to work


class ClusterError(ValueError):
    """The work cannot be done on this cluster as it is: trying again will not help."""


class ClusterLostError(ConnectionError):
    """The cluster went away. A run that is started again goes on from its last checkpoint."""


class ClusterMonitor:
    """Waits for results, and checks meanwhile whether any worker is left to make them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.address = client.scheduler_info(n_workers=0)["address"]
        self._memory_limit = _memory_limit(self._workers())  # asked now: once workers have died of it, none can tell

    def workers(self) -> list[str]:
        """The addresses of all workers, in a fixed order; waits for the first worker."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not (workers := self._workers()):
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.address}: no worker came within {_PATIENCE_SECONDS:.0f} s")
            time.sleep(0.2)
        return sorted(workers)

    def wait(self, futures: list) -> None:
        """Waits until all are done, well or not; ClusterError where that will not happen."""
        idle_since = None
        while True:
            try:
                wait(futures, timeout=_CHECK_SECONDS)
                return
            except TimeoutError:
                if self.client.status != "running":  # a scheduler that comes back has forgotten us
                    raise ClusterLostError(f"{self.address}: the scheduler went away") from None
                trouble = self._trouble()
                idle_since = (idle_since or time.monotonic()) if trouble else None
                if idle_since and time.monotonic() - idle_since > _PATIENCE_SECONDS:
                    raise ClusterError(f"{self.address}: {trouble}") from None

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raises Dask's own errors as ours; those of steps and readers stay what they are."""
        try:
            yield
        except KilledWorker as error:
            raise ClusterError(self._killed(error)) from None
        except MemoryError as error:
            raise ClusterError(f"{self.address}: a worker could not get memory ({error}). {_MORE_MEMORY}") from None
        except (CancelledError, asyncio.CancelledError, CommClosedError) as error:
            raise ClusterLostError(f"{self.address}: the scheduler went away ({error})") from None

    def _workers(self) -> dict[str, Any]:
        return self.client.scheduler_info(n_workers=-1).get("workers", {})

    def _trouble(self) -> str | None:
        workers = self._workers()
        if not workers:
            return "no worker is left"
        if all(worker["status"] == "paused" for worker in workers.values()):
            return f"all workers are paused, out of memory{self._memory_limit}. {_MORE_MEMORY}"
        return None

    def _killed(self, error: KilledWorker) -> str:
        deaths = [event for _, event in self.client.get_events("worker-restart-memory")]
        if deaths:
            most = format_bytes(max(event["rss"] for event in deaths))
            why = f"ran out of memory: {most} used{self._memory_limit}. {_MORE_MEMORY}"
        else:
            why = f"died; if their logs say nothing, the machine ran out of memory{self._memory_limit}. {_MORE_MEMORY}"
        return f"{self.address}: {error.allowed_failures + 1} workers that worked on {_describe_task(error.task)} {why}"


_MORE_MEMORY = "Give workers more memory, or the model more shards."


def _memory_limit(workers: dict[str, Any]) -> str:
    limits = [worker["memory_limit"] for worker in workers.values() if worker.get("memory_limit")]
    return f" (the limit is {format_bytes(min(limits))} a worker)" if limits else ""


def _describe_task(key: Any) -> str:
    """The step and shard behind the key of a task of ours, as 'gradient', shard 3 of 8."""
    label, _, rest = str(key).partition("-of-")
    name, _, position = label.rpartition("-")
    return f"{name!r}, shard {position} of {rest.split('-')[0]}," if rest else repr(str(key))
