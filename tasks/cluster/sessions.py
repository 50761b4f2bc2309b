"""Who runs the parts of a step. Inside a flow a cluster is opened once, by the first step that needs it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tagcore.features.rows import StoredRows
from tagcore.shards import Executor
from tagcore.store.storage import Folder, Storage
from tasks.cluster.backend import Cluster, close_client, count_workers, dashboard_address, open_cluster
from tasks.cluster.storage import storage_at
from tasks.progress import ProgressReporter
from tasks.settings import Settings

_lock = threading.RLock()  # steps may work side by side
_work: "OpenClusters | None" = None


@dataclass
class OpenClusters:
    """What a flow has on clusters: those that its steps opened, the addresses of their dashboards, Dask's report."""

    report: Path
    stack: ExitStack
    dashboards: list[str] = field(default_factory=list)
    opened: dict[Cluster, Executor] = field(default_factory=dict)

    def executor(self, cluster: Cluster) -> Executor:
        with _lock:
            if cluster not in self.opened:
                opened = self.stack.enter_context(open_cluster(cluster, report=self.report))
                self.opened[cluster] = opened
                if address := dashboard_address(opened):
                    self.dashboards.append(address)
                    ProgressReporter(f"cluster {cluster.setting}", remark=f"dashboard at {address}").tell("made")
            return self.opened[cluster]


@contextmanager
def open_clusters(report: Path) -> Iterator[OpenClusters]:
    """Clusters that steps open inside stay open until the end; Dask's report of their work then goes to the file."""
    global _work
    with ExitStack() as stack:
        _work = OpenClusters(report, stack)
        try:
            yield _work
        finally:
            _work = None


@contextmanager
def executor_for(cluster: Cluster, threads: int) -> Iterator[Executor]:
    """The cluster's executor, or one of this process with so many threads."""
    if _work is None or cluster.setting == "none":
        with open_cluster(cluster, threads=threads) as executor:
            yield executor
        return
    yield _work.executor(cluster)


def parallel_tasks(settings: Settings) -> int:
    """How many steps may be at work at a time: on a cluster as many as it has workers, in this process one."""
    cluster = Cluster.of(settings)
    if cluster.setting == "none":
        return 1
    if cluster.setting.startswith("local:"):
        return int(cluster.setting.partition(":")[2])
    with executor_for(cluster, 1) as executor:
        return count_workers(executor)


def interrupt_work() -> None:
    """Ends the work on all open clusters: whoever waits for a result there gets an error."""
    for executor in list(_work.opened.values()) if _work else []:
        close_client(executor)


def copy_to_workers(rows: StoredRows, cluster: Cluster, key: str) -> StoredRows:
    """The rows where workers can read them."""
    return rows.at(copy_files_to_workers(rows.storage, [rows.file], cluster, key))


def copy_files_to_workers(storage: Storage, files: list[str], cluster: Cluster, key: str) -> Storage:
    """Where workers can read files of the data set with this key: here, or copied once to a root that is no folder."""
    root = storage_at(cluster.root)
    if cluster.setting == "none" or isinstance(root, Folder):
        return storage
    copies = root.inside("data").inside(key)
    for file in sorted(set(files) - set(copies.names())):
        with storage.open(file) as content:
            copies.fill(file, content)
    return copies
