"""Where training runs, from one setting: this process, worker processes beside it, a scheduler's address, Kubernetes.

Nothing of Dask is imported for work in this process, and nowhere but in tasks/cluster*.
"""

import os
import platform
import re
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tagcore.progress import Progress
from tagcore.shards import Executor, InProcess
from tagcore.store.storage import Storage
from tasks.cluster.storage import storage_at
from tasks.settings import CLUSTER, Settings

if TYPE_CHECKING:
    from distributed import Client

_RUNS = "runs"


@dataclass(frozen=True)
class Tls:
    """The files with which to speak to a tls:// scheduler."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True)
class Cluster:
    """Where work runs: `none` (this process), `local:N`, a scheduler's address, or `kubernetes:NAME`.

    `root` is a folder or fsspec URL that all workers reach; `memory` the limit of each worker of `local:N`.
    """

    setting: str = "none"
    root: Path | str = "."
    memory: str = "auto"
    tls: Tls | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(CLUSTER, self.setting):
            raise ValueError(f"cluster={self.setting!r}: expected none, local:N, tcp://…, tls://… or kubernetes:NAME")
        if self.setting.startswith("tls://") and self.tls is None:
            raise ValueError(f"{self.setting}: set cluster_ca, cluster_cert and cluster_key, the files to speak to it")

    @classmethod
    def of(cls, settings: Settings) -> "Cluster":
        files = settings.cluster_ca, settings.cluster_cert, settings.cluster_key
        tls = Tls(*(Path(f) for f in files if f)) if all(files) else None
        return cls(settings.cluster, settings.cluster_root, settings.memory, tls)


@contextmanager
def open_cluster(cluster: Cluster, *, threads: int = 1, report: Path | None = None) -> Iterator[Executor]:
    """The executor of a cluster; `threads` are those of this process where it is `none`.

    The files of this run lie under the root in a folder of their own, which goes at the end. `report` is where Dask's
    performance report shall go.
    """
    if cluster.setting == "none":
        yield InProcess(threads)
        return
    from tasks.cluster.connect import quiet, require_alike
    from tasks.cluster.costs import reported
    from tasks.cluster.executor import DaskExecutor

    runs = storage_at(cluster.root).inside(_RUNS)
    _sweep(runs)
    name = f"{_owner()}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        with quiet(), _client(cluster) as client:
            require_alike(client, runs.inside(name))
            with reported(report):
                yield DaskExecutor(client, runs.inside(name))
    finally:
        runs.remove(name)


def dashboard_address(executor: Executor) -> str | None:
    """The address of Dask's dashboard; none in this process."""
    client = getattr(executor, "client", None)
    return client.dashboard_link if client else None


def count_workers(executor: Executor) -> int:
    """How many workers the cluster of an executor has now; waits for the first."""
    from tasks.cluster.monitor import ClusterMonitor

    return len(ClusterMonitor(executor.client).workers())  # type: ignore[attr-defined]


def close_client(executor: Executor) -> None:
    """Lets go of a cluster at once: those who wait for its results get an error."""
    executor.client.close(timeout=2)  # type: ignore[attr-defined]


def report_traffic(progress: Progress, executor: Executor) -> Progress:
    """Progress that also tells the megabytes moved since it last spoke; the same one in this process."""
    if isinstance(executor, InProcess):
        return progress
    from tasks.cluster.costs import with_traffic

    return with_traffic(progress, executor)  # type: ignore[arg-type]


def _client(cluster: Cluster) -> "AbstractContextManager[Client]":
    from tasks.cluster import connect

    kind, _, rest = cluster.setting.partition(":")
    if kind == "local":
        return connect.local_client(int(rest), cluster.memory)
    if kind == "kubernetes":
        return connect.kubernetes_client(rest)
    return connect.address_client(cluster.setting, cluster.tls)


def _owner() -> str:
    """Runs are named after the machine and process that drive them."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', platform.node())}-"


def _sweep(runs: Storage) -> None:
    """Removes what drivers of this machine left when they were killed."""
    for name in runs.names():
        if not name.startswith(_owner()):
            continue
        try:
            os.kill(int(name.removeprefix(_owner()).split("-")[0]), 0)
        except ProcessLookupError:
            runs.remove(name)
        except (PermissionError, ValueError):
            continue
