"""Dask clients of every kind of cluster, and the check that workers compute with what this process computes with."""

import logging
import platform
from collections.abc import Iterator
from contextlib import closing, contextmanager  # not the client itself: it must end in the thread it began in
from importlib.metadata import version

import dask
from distributed import Client, LocalCluster
from distributed.security import Security

from tagcore.store.storage import Storage
from tasks.cluster.backends import Tls
from tasks.cluster.monitor import ClusterError, ClusterLostError, ClusterMonitor
from tasks.code_hash import code_hash

_CONNECT_SECONDS = 30
_START_ATTEMPTS = 3
_COMPARED_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pyarrow",
    "dask",
    "distributed",
)  # what results and wire rest on
_LOCAL_SETTINGS = {  # of workers that we start; those of others have their own
    "distributed.scheduler.allowed-failures": 2,  # deaths on one shard before it is taken for the cause
    "distributed.scheduler.worker-saturation": "inf",  # neighbouring shards on one worker: sums move fewer bytes
    "distributed.worker.memory.target": False,  # shards of one process may share what Dask would count for each
    "distributed.worker.memory.pause": False,  # one that waits for memory nobody will free would wait for ever
    "distributed.nanny.pre-spawn-environ": {
        f"{name}_NUM_THREADS": 1 for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR")
    },
}


@contextmanager
def silence_dask_logs() -> Iterator[None]:
    """Silences Dask's loggers: what goes wrong is told once, as an exception, not by every part that noticed."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def local_client(workers: int, memory: str) -> Iterator[Client]:
    """Starts worker processes of one thread each on loopback; only this process has the key to them."""
    with (
        dask.config.set(_LOCAL_SETTINGS),
        _start_workers(workers, memory) as cluster,
        closing(Client(cluster)) as client,
    ):
        yield client


def _start_workers(workers: int, memory: str) -> LocalCluster:
    """Starts a local cluster anew where a worker was killed while it started, a few times."""
    for _ in range(_START_ATTEMPTS):
        try:
            return LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=memory,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                security=Security.temporary(),
                silence_logs=logging.CRITICAL,
            )
        except ValueError as error:
            raise ValueError(f"cluster=local:{workers} with memory {memory!r}: {error}") from error
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
    raise ClusterError(
        f"cluster=local:{workers}: a worker ended while it started, {_START_ATTEMPTS} times in a row ({reason}); "
        "the system may have killed it for want of memory: try fewer workers"
    )


@contextmanager
def address_client(address: str, tls: Tls | None) -> Iterator[Client]:
    """Connects to a scheduler that someone else runs."""
    try:
        client = Client(address, security=_security(tls) if tls else None, timeout=_CONNECT_SECONDS)
    except (OSError, RuntimeError, TimeoutError) as error:
        reason = str(error).partition("\n")[0]
        raise ClusterLostError(f"{address}: no scheduler answers there ({reason})") from None
    with closing(client):
        yield client


def _security(tls: Tls) -> Security:
    tls.require_files()
    return Security(
        tls_ca_file=str(tls.ca), tls_client_cert=str(tls.cert), tls_client_key=str(tls.key), require_encryption=True
    )


@contextmanager
def kubernetes_client(name: str) -> Iterator[Client]:
    """Connects to a DaskCluster that Dask's operator runs on the Kubernetes of the current context."""
    try:
        from dask_kubernetes.operator import KubeCluster
    except ImportError as error:
        raise ValueError(f"cluster=kubernetes:{name}: needs the package dask-kubernetes, which is missing") from error
    with KubeCluster.from_name(name, shutdown_on_close=False) as cluster, closing(Client(cluster)) as client:
        yield client


def require_same_software(client: Client, storage: Storage) -> None:
    """Requires that every worker reaches the root and has the versions of this process: else bits would differ."""
    ClusterMonitor(client).workers()
    probe = b"tagflow"
    storage.write("probe", probe)
    ours = software_versions()
    for worker, answer in client.run(inspect_worker, storage, "probe").items():
        if isinstance(answer, str):
            raise ClusterError(f"worker {worker} cannot read {storage}: all workers must reach the root ({answer})")
        content, theirs = answer
        if content != probe:
            raise ClusterError(f"worker {worker}: {storage} is another place there: all must reach one root")
        if different := sorted(name for name in ours if theirs.get(name) != ours[name]):
            name = different[0]
            raise ClusterError(
                f"worker {worker} has {name} {theirs.get(name)}, this process {ours[name]}: results would differ"
            )
    storage.remove("probe")


def software_versions() -> dict[str, str]:
    """The versions of all that results rest on."""
    packages = {package: version(package) for package in _COMPARED_PACKAGES}
    return {"tagcore": code_hash()[:12], "python": platform.python_version(), **packages}


def inspect_worker(storage: Storage, probe: str) -> tuple[bytes, dict[str, str]] | str:
    """Runs on a worker: the content of the probe file and the worker's versions, or why it cannot read the file."""
    try:
        return storage.read(probe), software_versions()
    except Exception as error:
        return repr(error)
