"""The folder that the files of one run have under a cluster's root, from the opening of the cluster to its end."""

import os
import platform
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagcore.store.storage import Storage
from tasks.cluster.backends import DaskBackend
from tasks.cluster.connect import require_same_software, silence_dask_logs
from tasks.cluster.costs import write_performance_report
from tasks.cluster.dask_executor import DaskExecutor
from tasks.cluster.storage import storage_at


@contextmanager
def open_dask_executor(backend: DaskBackend, root: Path | str, report: Path | None) -> Iterator[DaskExecutor]:
    """Opens an executor with a folder of its own under the root, which goes at the end."""
    runs = storage_at(root).inside("runs")
    _remove_orphans(runs)
    name = f"{_machine()}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        with silence_dask_logs(), backend.open_client() as client:
            require_same_software(client, runs.inside(name))
            with write_performance_report(report):
                yield DaskExecutor(client, runs.inside(name))
    finally:
        runs.remove(name)


def _machine() -> str:
    """The first part of a run's name; the second is the process that drives it."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', platform.node())}-"


def _remove_orphans(runs: Storage) -> None:
    """Removes what drivers of this machine left when they were killed."""
    for name in runs.names():
        if not name.startswith(_machine()):
            continue
        try:
            os.kill(int(name.removeprefix(_machine()).split("-")[0]), 0)
        except ProcessLookupError:
            runs.remove(name)
        except (PermissionError, ValueError):
            continue
