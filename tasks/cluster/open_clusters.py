"""The clusters of a flow: each is opened once, by the first step that needs it, and closed when the flow ends."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from tagcore.features.rows import Rows, StoredRows
from tagcore.features.side_by_side import SideBySide
from tagcore.shards import Executor
from tagcore.store.storage import Folder, Storage
from tasks.cluster.backends import Cluster
from tasks.cluster.storage import storage_at
from tasks.progress import ProgressReporter

# Of the flow that runs here. Prefect runs tasks and inner flows in a copy of the flow's context, in whatever thread;
# as an argument of tasks, what cannot be stored or hashed would be part of every task's signature.
_open_clusters: ContextVar["OpenClusters | None"] = ContextVar("open_clusters", default=None)


class WorkerExecutor(Executor, Protocol):
    """An executor whose steps run in other processes: what flows ask of it beside work."""

    @property
    def dashboard_address(self) -> str | None:
        """Where a person can watch the work, if anywhere."""

    def count_workers(self) -> int:
        """How many processes there are now."""

    def close_client(self) -> None:
        """Ends the work: whoever waits for a result gets an error."""


@dataclass
class OpenClusters:
    """The clusters that a flow's steps opened, the addresses of their dashboards, the file of Dask's report."""

    report: Path
    stack: ExitStack
    dashboards: list[str] = field(default_factory=list)
    opened: dict[Cluster, WorkerExecutor] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)  # steps may work side by side

    def executor(self, cluster: Cluster) -> WorkerExecutor:
        """The executor of a cluster with workers, which is opened if it is not open yet."""
        with self.lock:
            if cluster not in self.opened:
                executor = _on_workers(self.stack.enter_context(cluster.open(report=self.report)))
                self.opened[cluster] = executor
                if address := executor.dashboard_address:
                    self.dashboards.append(address)
                    ProgressReporter(f"cluster {cluster.backend}", remark=f"dashboard at {address}").tell("made")
            return self.opened[cluster]


@contextmanager
def open_clusters(report: Path) -> Iterator[OpenClusters]:
    """Keeps clusters that steps open inside open until the end; Dask's report of their work then goes to the file."""
    with ExitStack() as stack:
        clusters = OpenClusters(report, stack)
        token = _open_clusters.set(clusters)
        try:
            yield clusters
        finally:
            _open_clusters.reset(token)


@contextmanager
def executor_for(cluster: Cluster, threads: int) -> Iterator[Executor]:
    """The cluster's executor, or one of this process with so many threads."""
    clusters = _open_clusters.get()
    if clusters is not None and cluster.backend.has_workers:
        yield clusters.executor(cluster)
        return
    with cluster.open(threads=threads) as executor:
        yield executor


def parallel_tasks(cluster: Cluster) -> int:
    """How many steps may be at work at a time: on a cluster as many as it has workers, in this process one."""
    if (limit := cluster.backend.task_limit) is not None:
        return limit
    with executor_for(cluster, 1) as executor:
        return _on_workers(executor).count_workers()


def interrupt_work() -> None:
    """Ends the work on all open clusters: whoever waits for a result there gets an error."""
    clusters = _open_clusters.get()
    for executor in list(clusters.opened.values()) if clusters else []:
        executor.close_client()


def copy_to_workers(rows: Rows, cluster: Cluster, key: str) -> Rows:
    """The rows where workers can read them, if they are stored."""
    if isinstance(rows, SideBySide):
        views = enumerate(rows.views)
        return SideBySide(tuple(copy_to_workers(view, cluster, f"{key}-{number}") for number, view in views))
    if isinstance(rows, StoredRows):
        return rows.at(copy_files_to_workers(rows.storage, rows.files, cluster, key))
    return rows


def copy_files_to_workers(storage: Storage, files: list[str], cluster: Cluster, key: str) -> Storage:
    """Where workers can read files of the data set with this key: here, or copied once to a root that is no folder."""
    if not cluster.backend.has_workers or isinstance(root := storage_at(cluster.root), Folder):
        return storage
    copies = root.inside("data").inside(key)
    for file in sorted(set(files) - set(copies.names())):
        with storage.open(file) as content:
            copies.write_stream(file, content)
    return copies


def _on_workers(executor: Executor) -> WorkerExecutor:
    return cast(WorkerExecutor, executor)  # what a backend with workers opens
