"""Where a run works: its settings, its store of results, its registry of models and its cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.cluster.backends import Cluster
from tasks.registry.client import Registry
from tasks.settings import Settings, load_settings


@dataclass(frozen=True)
class Workspace:
    """All that tasks need to know of their surroundings, read from the settings once a flow."""

    settings: Settings
    registry: Registry
    cluster: Cluster

    @classmethod
    def from_settings(cls, settings: Settings) -> "Workspace":
        # a database keeps its artifacts in the state folder, a server keeps its own
        artifacts = None if settings.mlflow else settings.artifacts
        registry = Registry(settings.tracking_uri, artifacts, settings.state / "writers")
        return cls(settings, registry, Cluster.of(settings))

    @property
    def store(self) -> Path:
        """The folder of all stored results."""
        return self.settings.data

    @property
    def threads(self) -> int:
        """How many threads of this process may work."""
        return self.settings.threads

    @property
    def performance_report(self) -> Path:
        """The place of Dask's report of a run until it is on the MLflow run."""
        return self.settings.state / "performance.html"

    def report_folder(self, name: str) -> Path:
        """The folder of tables and plots of the latest run of this name."""
        return self.settings.report_folder(name)

    def study_folder(self, name: str) -> Path:
        """The folder of what a search has tried so far."""
        return self.settings.state / "studies" / name


def open_workspace(**given: Any) -> Workspace:
    """Reads the settings, of which some may be given here, and says where the work they describe takes place."""
    return Workspace.from_settings(load_settings(**given))
