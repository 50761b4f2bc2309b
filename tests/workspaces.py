"""Workspaces for tests of tasks: a state folder, its own registry, and a cluster where one is given."""

import shutil
import tempfile
from functools import cache
from pathlib import Path

from pydantic import SecretStr

from tasks.cluster.backends import Cluster
from tasks.registry.client import Registry, require_reachable
from tasks.registry.in_service import promote_by_hand
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


def make_champion(home: Path, name: str, stored: Path) -> None:
    """Puts a copy of a stored model into service in the registry of a state folder."""
    place, registry = home / "mlartifacts" / name, registry_at(home)
    shutil.copytree(stored, place / "artifacts" / "model")
    with registry.open() as client:
        client.create_registered_model(name)
        client.create_model_version(name, place.as_uri())
    promote_by_hand(registry, name, "1")


@cache
def _empty_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        require_reachable(new_registry_at(Path(folder)))
        return Path(folder, "mlflow.db").read_bytes()
