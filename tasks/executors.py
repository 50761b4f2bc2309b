"""Who runs the parts of a step. Inside a flow a cluster is opened once, by the first step that needs it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tagcore.rows import Stored
from tagcore.shards import Executor
from tagcore.storage import Folder
from tasks.cluster import Cluster, open_cluster
from tasks.cluster_storage import storage_at

_stack: ExitStack | None = None
_report: Path | None = None
_opened: dict[Cluster, Executor] = {}


@contextmanager
def kept_open(report: Path) -> Iterator[None]:
    """Clusters that steps open inside stay open until the end; Dask's report of their work then goes to the file."""
    global _stack, _report
    if _stack is not None:
        yield
        return
    with ExitStack() as _stack:
        _report = report
        try:
            yield
        finally:
            _stack = _report = None
            _opened.clear()


@contextmanager
def executor_of(cluster: Cluster, threads: int) -> Iterator[Executor]:
    """The cluster's executor, or one of this process with so many threads."""
    if _stack is None or cluster.setting == "none":
        with open_cluster(cluster, threads=threads) as executor:
            yield executor
        return
    if cluster not in _opened:
        _opened[cluster] = _stack.enter_context(open_cluster(cluster, report=_report))
    yield _opened[cluster]


def within_reach(rows: Stored, cluster: Cluster, key: str) -> Stored:
    """The rows where workers can read them: as they are, or copied once to a root that is no folder."""
    root = storage_at(cluster.root)
    if cluster.setting == "none" or isinstance(root, Folder):
        return rows
    copies = root.inside("features").inside(key)
    if rows.file not in copies.names():
        copies.write(rows.file, rows.storage.read(rows.file))
    return rows.at(copies)
