"""Files that are either whole or not there: write under a temporary name, then rename."""

import hashlib
import os
import platform
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Gives a folder to fill, which takes its name by one rename when the block ends well, and vanishes otherwise.

    A folder of that name that is there already and not empty is never touched: FileExistsError.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder}: a file stands there, expected a folder or nothing")
    if folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: already stands and is not empty")
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    filling = folder.with_name(f".{folder.name}.{_machine()}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
    filling.mkdir()
    try:
        yield filling
        os.rename(filling, folder)
    finally:
        shutil.rmtree(filling, ignore_errors=True)


def _machine() -> str:
    """The part of the names of half-filled folders that tells the machine; the next tells the process."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _sweep(parent: Path) -> None:
    """Removes what processes of this machine left half filled in a folder when they were killed."""
    for leftover in parent.glob(f".*.{_machine()}.*"):
        try:
            os.kill(int(leftover.name.split(".")[-2]), 0)
        except ProcessLookupError:
            shutil.rmtree(leftover, ignore_errors=True)
        except (PermissionError, ValueError):
            continue


def link_or_copy(source: Path, target: Path) -> None:
    """Gives a file a second name; files are never changed in place, so a link is as good as the copy made elsewhere."""
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without links
        shutil.copyfile(source, target)


def write_text(path: Path, text: str) -> None:
    """Replaces the content of a file by the text, atomically, or makes a new one."""
    filling = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        filling.write_text(text, encoding="utf-8")
        os.replace(filling, path)
    finally:
        filling.unlink(missing_ok=True)


def require_writable(folder: Path) -> None:
    """Raises ValueError where a folder cannot be written to or its disk is full: before any work is done, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{uuid.uuid4().hex[:8]}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"{folder}: cannot be written to ({error.strerror})") from error
    free = shutil.disk_usage(folder).free
    if free < 64 * 2**20:
        raise ValueError(f"{folder}: only {free / 2**20:.0f} MiB are free on its disk")
