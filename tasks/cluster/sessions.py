"""Who runs the parts of a step. Inside a flow a cluster is opened once, by the first step that needs it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tagcore.features.rows import Stored
from tagcore.shards import Executor
from tagcore.store.storage import Folder, Storage
from tasks.cluster.backend import Cluster, close, dashboard, open_cluster, workers
from tasks.cluster.storage import storage_at
from tasks.progress import Step
from tasks.settings import Settings

_lock = threading.RLock()  # steps may work side by side
_work: "Work | None" = None


@dataclass
class Work:
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
                if address := dashboard(opened):
                    self.dashboards.append(address)
                    Step(f"cluster {cluster.setting}", remark=f"dashboard at {address}").tell("made")
            return self.opened[cluster]


@contextmanager
def kept_open(report: Path) -> Iterator[Work]:
    """Clusters that steps open inside stay open until the end; Dask's report of their work then goes to the file."""
    global _work
    with ExitStack() as stack:
        _work = Work(report, stack)
        try:
            yield _work
        finally:
            _work = None


@contextmanager
def executor_of(cluster: Cluster, threads: int) -> Iterator[Executor]:
    """The cluster's executor, or one of this process with so many threads."""
    if _work is None or cluster.setting == "none":
        with open_cluster(cluster, threads=threads) as executor:
            yield executor
        return
    yield _work.executor(cluster)


def side_by_side(settings: Settings) -> int:
    """How many steps may be at work at a time: on a cluster as many as it has workers, in this process one."""
    cluster = Cluster.of(settings)
    if cluster.setting == "none":
        return 1
    if cluster.setting.startswith("local:"):
        return int(cluster.setting.partition(":")[2])
    with executor_of(cluster, 1) as executor:
        return workers(executor)


def interrupt() -> None:
    """Ends the work on all open clusters: whoever waits for a result there gets an error."""
    for executor in list(_work.opened.values()) if _work else []:
        close(executor)


def within_reach(rows: Stored, cluster: Cluster, key: str) -> Stored:
    """The rows where workers can read them."""
    return rows.at(reachable(rows.storage, [rows.file], cluster, key))


def reachable(storage: Storage, files: list[str], cluster: Cluster, key: str) -> Storage:
    """Where workers can read files of the data set with this key: here, or copied once to a root that is no folder."""
    root = storage_at(cluster.root)
    if cluster.setting == "none" or isinstance(root, Folder):
        return storage
    copies = root.inside("data").inside(key)
    for file in sorted(set(files) - set(copies.names())):
        with storage.open(file) as content:
            copies.fill(file, content)
    return copies
