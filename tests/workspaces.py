"""Workspaces for tests of tasks: a state folder, its own registry, and a cluster where one is given."""

from pathlib import Path

from tasks.cluster.backends import Cluster
from tasks.settings import Settings
from tasks.workspace import Workspace


def workspace_at(folder: Path, cluster: Cluster | None = None, threads: int = 1) -> Workspace:
    """Results go to `folder`/data; work runs in this process unless a cluster is given."""
    here = Workspace.from_settings(Settings(home=folder, threads=threads))
    return Workspace(here.settings, here.registry, cluster or here.cluster)
