"""One writer of a registered name at a time; whoever comes next ends what a dead one left."""

import fcntl
import hashlib
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import mlflow

from tasks.progress import ProgressReporter
from tasks.registry.client import Registry, RegistryError

WRITER_KEY = "tagflow.writer"  # of runs: who alone may end them
WHOLE_KEY = "tagflow.whole"  # of runs that hold all they should, whatever became of the process since


@dataclass(frozen=True)
class Writer:
    """Alone at work on the experiment and the versions of one name; `tags` are for every run that it makes."""

    client: mlflow.MlflowClient
    experiment: str
    tags: dict[str, str]


@contextmanager
def only_writer(registry: Registry, name: str) -> Iterator[Writer]:
    """Waits until no other run that shares the state folder writes under this name, and cleans up after dead ones.

    A run is in state RUNNING only while its writer holds the lock, so one that is found so was left by a writer that
    died. Temporary files of this process go to a folder of the writer, which goes with it or is emptied by the next.
    """
    place = _folder_of(registry, name)
    with open(place / "lock", "a") as lock:
        _wait_for(lock, f"that writes {name}")
        with _temporary_files_in(place / "scratch"), registry.open() as client:
            tags = {WRITER_KEY: _identity(place.parent)}
            experiment = registry.experiment(client, name)
            _end_abandoned_runs(client, experiment, tags[WRITER_KEY])
            yield Writer(client, experiment, tags)


@contextmanager
def only_run(registry: Registry, name: str) -> Iterator[None]:
    """Waits until no other run of this name, from the same state folder, is at work; a killed one holds nobody up."""
    with open(_folder_of(registry, name) / "run", "a") as lock:
        _wait_for(lock, f"of {name}")
        yield


def _folder_of(registry: Registry, name: str) -> Path:
    """Makes the folder for the locks of a name, which may come from outside: it must be that of one folder."""
    if registry.writers is None:
        raise RegistryError(f"registry {registry}: opened to read from, without a folder for the locks of writers")
    if name in ("", ".", "..") or any(sign in name for sign in "/\\\0"):
        raise RegistryError(f"{name!r} is no name of a registered model")
    place = registry.writers / name
    place.mkdir(parents=True, exist_ok=True)
    return place


def _wait_for(lock: IO[str], what: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waiting = ProgressReporter(f"wait for another run {what}")
        waiting.tell("start")
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting.tell("made")


def _identity(writers: Path) -> str:
    """The same for all whom one lock holds apart: a registry may serve several machines and state folders."""
    return hashlib.sha256(f"{platform.node()} {writers.absolute()}".encode()).hexdigest()[:16]


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """MLflow copies whole models to temporary folders, which nobody would find after a kill."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def _end_abandoned_runs(client: mlflow.MlflowClient, experiment: str, identity: str) -> None:
    abandoned = f"attributes.status = 'RUNNING' and tags.`{WRITER_KEY}` = '{identity}'"
    for run in client.search_runs([experiment], abandoned):
        for model in client.search_logged_models([experiment], f"source_run_id = '{run.info.run_id}'"):
            if model.status == "PENDING":
                client.finalize_logged_model(model.model_id, "FAILED")
        client.set_terminated(run.info.run_id, "FINISHED" if WHOLE_KEY in run.data.tags else "KILLED")
