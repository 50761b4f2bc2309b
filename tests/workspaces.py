"""Workspaces for tests of tasks: a state folder, its own registry, and a cluster where one is given."""

import tempfile
from functools import cache
from pathlib import Path

from pydantic import SecretStr

from tasks.cluster.backends import Cluster
from tasks.registry.client import Registry, require_reachable
from tasks.settings import Settings
from tasks.workspace import Workspace


def workspace_at(folder: Path, cluster: Cluster | None = None, threads: int = 1) -> Workspace:
    """Results go to `folder`/data; work runs in this process unless a cluster is given."""
    here = Workspace.from_settings(Settings(home=folder, threads=threads))
    return Workspace(here.settings, here.registry, cluster or here.cluster)


def new_registry_at(folder: Path) -> Registry:
    """A registry whose tables are made when it is first opened, or were before."""
    return Registry(SecretStr(f"sqlite:///{folder / 'mlflow.db'}"), folder / "artifacts", folder / "writers")


def registry_at(folder: Path) -> Registry:
    """A registry whose tables stand: they take MLflow two seconds to make."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mlflow.db").write_bytes(_empty_database())
    return new_registry_at(folder)


@cache
def _empty_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        require_reachable(new_registry_at(Path(folder)))
        return Path(folder, "mlflow.db").read_bytes()
