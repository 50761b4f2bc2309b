"""Where steps run, from one setting: this process, worker processes beside it, a scheduler's address, Kubernetes.

Nothing but the standard library is imported here, and Dask only when a client is opened. A new kind of cluster is a
subclass of `Backend` (of `DaskBackend` where Dask runs it) and a line in `parse_backend` and in
`FORMS` (and a word in the help of `--cluster`, `infra/cli/options.py`); what it opens is a `WorkerExecutor` of
`open_clusters.py`, as `DaskExecutor` in `dask_executor.py` is.
"""

import re
import socket
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from distributed import Client

    from tagcore.progress import Progress
    from tagcore.shards import Executor
    from tasks.cluster.dask_executor import Traffic
    from tasks.settings import Settings

_ANSWER_SECONDS = 5

FORMS = "none, local:N, tcp://HOST:PORT, tls://HOST:PORT or kubernetes:NAME"


class Backend(ABC):
    """A kind of cluster. As text it is the setting that names it."""

    has_workers: ClassVar[bool] = True  # processes other than this one, which read their files from the root

    @property
    def task_limit(self) -> int | None:
        """How many tasks may be at work at a time; None for as many as there are workers once it is open."""
        return None

    def require_reachable(self) -> str:
        """Says what is found of it before a run; an error within seconds where a run could not reach it."""
        return f"{self}: opened by each run"

    @abstractmethod
    def open_executor(
        self, root: Path | str, *, threads: int, report: Path | None
    ) -> "AbstractContextManager[Executor]":
        """Opens what runs steps, with workers a `WorkerExecutor`; `report` is the file of Dask's performance report."""


@dataclass(frozen=True)
class ThisProcess(Backend):
    """Threads of this process, which read files where they are."""

    has_workers = False

    @property
    def task_limit(self) -> int:
        return 1

    def open_executor(
        self, root: Path | str, *, threads: int, report: Path | None
    ) -> "AbstractContextManager[Executor]":
        from tagcore.shards import InProcess

        return nullcontext(InProcess(threads))

    def __str__(self) -> str:
        return "none"


class DaskBackend(Backend):
    """A kind of cluster that a Dask client reaches."""

    @abstractmethod
    def open_client(self) -> "AbstractContextManager[Client]":
        """Opens a client of the cluster's scheduler."""

    def open_executor(
        self, root: Path | str, *, threads: int, report: Path | None
    ) -> "AbstractContextManager[Executor]":
        from tasks.cluster.run_folder import open_dask_executor

        return open_dask_executor(self, root, report)


@dataclass(frozen=True)
class LocalWorkers(DaskBackend):
    """Worker processes of this machine; `memory` is the limit of each, such as 6GiB."""

    count: int
    memory: str = "auto"

    @property
    def task_limit(self) -> int:
        return self.count

    def open_client(self) -> "AbstractContextManager[Client]":
        from tasks.cluster.connect import local_client

        return local_client(self.count, self.memory)

    def __str__(self) -> str:
        return f"local:{self.count}"


@dataclass(frozen=True)
class Tls:
    """The files with which to speak to a tls:// scheduler."""

    ca: Path
    cert: Path
    key: Path

    def require_files(self) -> None:
        """Raises ValueError for a file that is not there."""
        for name, path in vars(self).items():
            if not path.is_file():
                raise ValueError(f"cluster_{name}={path}: no such file")


@dataclass(frozen=True)
class Scheduler(DaskBackend):
    """A Dask scheduler that someone else runs, and its workers."""

    address: str
    tls: Tls | None = None

    def __post_init__(self) -> None:
        if self.address.startswith("tls://") and self.tls is None:
            raise ValueError(f"{self.address}: set cluster_ca, cluster_cert and cluster_key, the files to speak to it")

    def require_reachable(self) -> str:
        """Says that something answers at the address; whether it is a scheduler is for the run to find out."""
        if self.tls is not None:
            self.tls.require_files()
        place = urlsplit(self.address)
        if place.hostname is None or place.port is None:
            raise ValueError(f"{self.address}: expected the address of a scheduler, such as tcp://HOST:8786")
        try:
            socket.create_connection((place.hostname, place.port), _ANSWER_SECONDS).close()
        except OSError as error:
            raise ConnectionError(f"{self.address}: no scheduler answers there ({error})") from None
        return f"{self.address} answers"

    def open_client(self) -> "AbstractContextManager[Client]":
        from tasks.cluster.connect import address_client

        return address_client(self.address, self.tls)

    def __str__(self) -> str:
        return self.address


@dataclass(frozen=True)
class KubernetesCluster(DaskBackend):
    """A DaskCluster that Dask's operator runs on Kubernetes."""

    name: str

    def open_client(self) -> "AbstractContextManager[Client]":
        from tasks.cluster.connect import kubernetes_client

        return kubernetes_client(self.name)

    def __str__(self) -> str:
        return f"kubernetes:{self.name}"


def parse_backend(setting: str, *, memory: str = "auto", tls: Tls | None = None) -> Backend:
    """The backend that a setting names; ValueError with all forms where it names none."""
    if setting == "none":
        return ThisProcess()
    if match := re.fullmatch(r"local:([1-9]\d*)", setting):
        return LocalWorkers(int(match[1]), memory)
    if re.fullmatch(r"(tcp|tls)://\S+", setting):
        return Scheduler(setting, tls)
    if match := re.fullmatch(r"kubernetes:([a-z0-9.-]+)", setting):
        return KubernetesCluster(match[1])
    raise ValueError(f"setting cluster={setting!r}: expected {FORMS}")


@dataclass(frozen=True)
class Cluster:
    """Where steps run, and the folder or fsspec URL that all its workers reach."""

    backend: Backend = ThisProcess()
    root: Path | str = "."

    @classmethod
    def of(cls, settings: "Settings") -> "Cluster":
        """The cluster that settings name; ValueError where they name none."""
        files = settings.cluster_ca, settings.cluster_cert, settings.cluster_key
        tls = Tls(*(Path(f) for f in files if f)) if all(files) else None
        return cls(parse_backend(settings.cluster, memory=settings.memory, tls=tls), settings.cluster_root)

    def open(self, *, threads: int = 1, report: Path | None = None) -> "AbstractContextManager[Executor]":
        """Opens what runs steps here; `threads` are those of this process where it has no workers.

        The files of a run lie under the root in a folder of their own, which goes at the end. `report` is the file that
        Dask's performance report goes to.
        """
        return self.backend.open_executor(self.root, threads=threads, report=report)


def report_traffic(progress: "Progress", executor: "Executor") -> "Progress":
    """Adds to every report of progress the megabytes moved since the last one; in this process nothing moves."""
    traffic: Traffic | None = getattr(executor, "traffic", None)
    if traffic is None:
        return progress
    before = 0

    def report(done: int, total: int, known: dict[str, float]) -> None:
        nonlocal before
        now = traffic.sent + traffic.received
        progress(done, total, {**known, "moved_mb": (now - before) / 1e6})
        before = now

    return report
