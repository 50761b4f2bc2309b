"""A model's arrays are stored once: the registry's copy in the state folder shares its files with the store's."""

import filecmp
import os
import uuid
from pathlib import Path
from urllib.parse import unquote, urlparse

import mlflow

from tasks.registry.client import Registry, stored_folder


def store_once(registry: Registry, model: str, folder: Path) -> int:
    """Replaces the files of a logged model that equal those of the stored folder by links; the bytes that were saved.

    Files are never changed in place, only replaced, so that a link is as good as a copy. A registry that keeps its
    artifacts elsewhere, or on another disk, keeps its copy.
    """
    address = urlparse(mlflow.MlflowClient().get_logged_model(model).artifact_location)
    if registry.artifacts is None or address.scheme not in ("", "file"):
        return 0
    copy = stored_folder(Path(unquote(address.path)))
    saved = 0
    for path in sorted(copy.rglob("*")):
        original = folder / path.relative_to(copy)
        if path.is_file() and original.is_file() and _link(original, path):
            saved += path.stat().st_size
    return saved


def _link(original: Path, copy: Path) -> bool:
    """Puts a link to the original in the place of its copy; False where they differ, are one, or cannot be linked."""
    if original.samefile(copy) or not filecmp.cmp(original, copy, shallow=False):
        return False
    made = copy.with_name(f".{copy.name}.{uuid.uuid4().hex[:12]}")
    try:
        os.link(original, made)
    except OSError:  # another disk, or one without links
        return False
    os.replace(made, copy)
    return True
