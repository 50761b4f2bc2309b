"""Clients of the clusters that there can be: worker processes of this machine, a scheduler's address, Kubernetes."""

import logging
import platform
from collections.abc import Iterator
from contextlib import closing, contextmanager  # not the client itself: it must end in the thread it began in
from importlib.metadata import version
from typing import Any

import dask
from distributed import Client, LocalCluster
from distributed.security import Security

from tagcore.store.storage import Storage
from tasks.cluster.backend import Tls
from tasks.cluster.monitor import ClusterError, ClusterLostError, ClusterMonitor
from tasks.code_hash import code_hash

_CONNECT_SECONDS = 30
_ALIKE = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "dask", "distributed")  # what results and wire rest on
_OURS = {  # what our own workers are told; those of others have their own settings
    "distributed.scheduler.allowed-failures": 2,  # deaths on one shard before it is taken for the cause
    "distributed.scheduler.worker-saturation": "inf",  # neighbouring shards on one worker: sums move fewer bytes
    "distributed.worker.memory.target": False,  # shards of one process may share what Dask would count for each
    "distributed.worker.memory.pause": False,  # one that waits for memory nobody will free would wait for ever
    "distributed.nanny.pre-spawn-environ": {
        f"{name}_NUM_THREADS": 1 for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR")
    },
}


@contextmanager
def quiet() -> Iterator[None]:
    """What goes wrong is told once, as an exception, and not by every part of Dask that noticed."""
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
    """So many worker processes of one thread each, on loopback; only this process has the key to them."""
    with dask.config.set(_OURS):
        try:
            cluster = LocalCluster(
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
        with cluster, closing(Client(cluster)) as client:
            yield client


@contextmanager
def address_client(address: str, tls: Tls | None) -> Iterator[Client]:
    """Someone else's scheduler."""
    try:
        client = Client(address, security=_security(tls) if tls else None, timeout=_CONNECT_SECONDS)
    except (OSError, RuntimeError, TimeoutError) as error:
        reason = str(error).partition("\n")[0]
        raise ClusterLostError(f"{address}: no scheduler answers there ({reason})") from None
    with closing(client):
        yield client


def _security(tls: Tls) -> Security:
    for name, path in vars(tls).items():
        if not path.is_file():
            raise ValueError(f"cluster_{name}={path}: no such file")
    return Security(
        tls_ca_file=str(tls.ca), tls_client_cert=str(tls.cert), tls_client_key=str(tls.key), require_encryption=True
    )


@contextmanager
def kubernetes_client(name: str) -> Iterator[Client]:
    """A DaskCluster that Dask's operator runs on the Kubernetes of the current context."""
    try:
        from dask_kubernetes.operator import KubeCluster
    except ImportError as error:
        raise ValueError(f"cluster=kubernetes:{name}: needs the package dask-kubernetes, which is missing") from error
    with KubeCluster.from_name(name, shutdown_on_close=False) as cluster, closing(Client(cluster)) as client:
        yield client


def require_alike(client: Client, storage: Storage) -> None:
    """Every worker reaches the root, and computes with what this process computes with: else bits would differ."""
    ClusterMonitor(client).workers()
    probe = b"tagflow"
    storage.write("probe", probe)
    mine = facts()
    for worker, found in client.run(look, storage, "probe").items():
        if isinstance(found, str):
            raise ClusterError(f"worker {worker} cannot read {storage}: all workers must reach the root ({found})")
        if found.pop("probe") != probe:
            raise ClusterError(f"worker {worker}: {storage} is another place there: all must reach one root")
        if other := sorted(k for k in mine if found.get(k) != mine[k]):
            k = other[0]
            raise ClusterError(f"worker {worker} has {k} {found.get(k)}, this process {mine[k]}: results would differ")
    storage.remove("probe")


def facts() -> dict[str, Any]:
    """What results rest on."""
    return {"tagcore": code_hash()[:12], "python": platform.python_version(), **{p: version(p) for p in _ALIKE}}


def look(storage: Storage, name: str) -> Any:
    """On a worker: its facts with the content of the probe, or why it cannot read it."""
    try:
        return facts() | {"probe": storage.read(name)}
    except Exception as error:
        return repr(error)
