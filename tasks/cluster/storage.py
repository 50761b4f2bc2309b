"""The root of a cluster's files: a folder that all machines see, or an fsspec URL such as s3://bucket/runs.

Keys and endpoints come from the environment of each process, as fsspec and boto read them: no secret is sent.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tagcore.store.storage import Folder, Storage, packed, unpacked


@dataclass(frozen=True)
class Remote:
    """Files behind an fsspec URL, where an object appears whole or not at all."""

    url: str

    def inside(self, name: str) -> "Remote":
        return Remote(f"{self.url}/{name}")

    def create(self) -> None:
        if self.names():
            raise FileExistsError(f"{self.url}: already stands and is not empty")

    def read(self, name: str) -> bytes:
        return self._system.cat_file(self._path(name))

    def write(self, name: str, content: bytes) -> None:
        self._system.pipe_file(self._path(name), content)

    def write_stream(self, name: str, content: BinaryIO) -> None:
        with self._system.open(self._path(name), "wb") as file:  # an error inside leaves no object behind
            shutil.copyfileobj(content, file)

    def open(self, name: str) -> BinaryIO:
        return self._system.open(self._path(name), "rb")

    def read_arrays(self, name: str) -> dict[str, np.ndarray]:
        try:
            return unpacked(load(self.read(name)))
        except SafetensorError as error:
            raise ValueError(f"{self._path(name)}: not a file of arrays ({error})") from error

    def write_arrays(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        self.write(name, save(packed(arrays)))

    def names(self) -> list[str]:
        self._system.invalidate_cache()  # others write here too
        try:
            paths = self._system.ls(self.url, detail=False)
        except FileNotFoundError:
            return []
        return sorted(path.rstrip("/").rsplit("/", 1)[-1] for path in paths)

    def remove(self, *names: str) -> None:
        self._system.invalidate_cache()
        for name in names:
            try:
                self._system.rm(self._path(name), recursive=True)
            except FileNotFoundError:
                continue

    def _path(self, name: str) -> str:
        return f"{self.url}/{name}"

    @property
    def _system(self) -> Any:
        import fsspec

        return fsspec.core.url_to_fs(self.url)[0]  # fsspec keeps one for all who ask alike

    def __str__(self) -> str:
        return self.url


def storage_at(root: Path | str) -> Storage:
    """The storage at a path or URL; ValueError where no file system for it is installed."""
    text = str(root)
    if "://" not in text or text.startswith("file://"):
        return Folder(Path(text.removeprefix("file://")).expanduser().absolute())
    import fsspec

    try:
        fsspec.core.url_to_fs(text)
    except (ImportError, ValueError) as error:
        raise ValueError(f"{text}: no file system for this address ({error})") from error
    return Remote(text.rstrip("/"))
