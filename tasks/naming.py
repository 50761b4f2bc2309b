"""Where things are and what they are called, derived from the settings."""

import hashlib
import re
from pathlib import Path

from tasks.registry.client import Registry
from tasks.settings import Settings

_LONGEST = 48


def registry_of(settings: Settings) -> Registry:
    """The registry's address; a database keeps its artifacts in the state folder, a server keeps its own."""
    return Registry(settings.tracking_uri, None if settings.mlflow else settings.artifacts)


def data_name(source: str) -> str:
    """A short name of a source that is safe in paths and addresses: bibtex, cooking, notes."""
    last = re.split(r"[/\\:]", source.rstrip("/\\"))[-1]
    plain = re.sub(r"(\.(csv|tsv|jsonl|json|txt|arff|zip|gz))+$", "", last)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", plain).strip("-_")
    if 0 < len(name) <= _LONGEST:
        return name
    own = hashlib.sha256(source.encode()).hexdigest()[:8]  # what is cut off may be all that tells two apart
    return f"{name[:_LONGEST]}-{own}".lstrip("-")


def registered_name(recipe: str, source: str) -> str:
    """Models are compared only with models for the same data: demo, nightly-bibtex."""
    data = data_name(source)
    return recipe if recipe == data else f"{recipe}-{data}"


def report_folder(settings: Settings, name: str) -> Path:
    return settings.state / "reports" / name


def performance_report(settings: Settings) -> Path:
    """Where Dask's report of the work of a run lies until it is on the MLflow run."""
    return settings.state / "performance.html"
