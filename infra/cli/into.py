"""The file that --into names."""

from pathlib import Path


def require_place(path: Path) -> None:
    """Raises where a file cannot be put there, before any work: no such folder, or a folder in its place."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"{path}: a folder, expected the name of a file")
