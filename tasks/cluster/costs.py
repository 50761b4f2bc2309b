"""What a run on a cluster costs: peak memory of workers, bytes that they sent, Dask's own report."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from distributed import Worker, performance_report

from tasks.cluster.dask_executor import DaskExecutor


@dataclass(frozen=True)
class WorkerCost:
    """The most memory that a worker process held so far, and the bytes that it sent to other processes."""

    peak_bytes: int
    sent_bytes: int


def worker_costs(executor: DaskExecutor) -> dict[str, WorkerCost]:
    """The costs so far of all living workers, by address."""
    return executor.client.run(_cost)


@contextmanager
def write_performance_report(file: Path | None) -> Iterator[None]:
    """Writes Dask's performance report of the work inside, one page of HTML; nothing without a file."""
    if file is None:
        yield
        return
    report = performance_report(filename=str(file))
    report.__enter__()
    try:
        yield
    except BaseException as error:
        with suppress(Exception):  # there may be no one left to ask
            report.__exit__(type(error), error, error.__traceback__)
        raise
    report.__exit__(None, None, None)


def peak_bytes() -> int:
    """The most memory that this process held so far. Linux counts what the parent held into ru_maxrss."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _cost(dask_worker: Worker) -> WorkerCost:  # Dask gives a worker to an argument of this name
    return WorkerCost(peak_bytes(), dask_worker.transfer_outgoing_bytes_total)
