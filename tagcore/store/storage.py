"""Storage of the files of a run, under one root that all processes at work can reach. A file is whole or not there."""

import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from tagcore.store.array_file import write_array_file

_COLUMN_MAJOR = "|columns"  # ends the name of an array that is stored transposed, because it lies column by column


class Storage(Protocol):
    """Named files below one root. Small enough to be sent to any process that reads or writes them."""

    def inside(self, name: str) -> "Storage":
        """Gives the storage below a name."""

    def create(self) -> None:
        """Creates the root itself; FileExistsError where there is one."""

    def read(self, name: str) -> bytes:
        """Reads a file; FileNotFoundError without such a file."""

    def write(self, name: str, content: bytes) -> None:
        """Replaces the content of a file, or makes a new one."""

    def write_stream(self, name: str, content: BinaryIO) -> None:
        """Writes a file as `write` does, from a stream that may be larger than memory."""

    def open(self, name: str) -> BinaryIO:
        """Opens a file, to be read in any order."""

    def read_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Reads a file of arrays that `write_arrays` wrote."""

    def write_arrays(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        """Writes arrays with all that decides how products round: values, types, shapes, order of rows or columns."""

    def names(self) -> list[str]:
        """Lists the files and parts right below the root, sorted."""

    def remove(self, *names: str) -> None:
        """Removes files or whole parts; one that is gone already is no error."""


@dataclass(frozen=True)
class Folder:
    """A folder of a file system that all processes share."""

    path: Path

    def inside(self, name: str) -> "Folder":
        return Folder(self.path / name)

    def create(self) -> None:
        self.path.mkdir(parents=True)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        filling = self._filling(name)
        filling.write_bytes(content)
        os.replace(filling, self.path / name)

    def write_stream(self, name: str, content: BinaryIO) -> None:
        filling = self._filling(name)
        with open(filling, "wb") as file:
            shutil.copyfileobj(content, file)
        os.replace(filling, self.path / name)

    def open(self, name: str) -> BinaryIO:
        return open(self.path / name, "rb")

    def read_arrays(self, name: str) -> dict[str, np.ndarray]:
        try:
            return unpacked(load_file(self.path / name))
        except SafetensorError as error:
            raise ValueError(f"{self.path / name}: not a file of arrays ({error})") from error

    def write_arrays(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        filling = self._filling(name)
        write_array_file(filling, packed(arrays))
        os.replace(filling, self.path / name)

    def names(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return sorted(p.name for p in self.path.iterdir() if not p.name.startswith("."))

    def remove(self, *names: str) -> None:
        for name in names:
            path = self.path / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _filling(self, name: str) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)
        return self.path / f".{name}.{uuid.uuid4().hex[:12]}"

    def __str__(self) -> str:
        return str(self.path)


def storage_of(place: Path | str | Storage) -> Storage:
    """Gives the storage of a folder by its path, or the storage that it is already."""
    return Folder(Path(place)) if isinstance(place, Path | str) else place


def packed(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Lays arrays out row by row, as safetensors takes them, and marks by name those that were column by column."""
    tensors = {}
    for name, values in arrays.items():
        values = np.asarray(values)
        if values.flags.f_contiguous and not values.flags.c_contiguous:
            tensors[name + _COLUMN_MAJOR] = values.T
        else:
            # not np.ascontiguousarray, which turns a number into a vector
            tensors[name] = np.asarray(values, order="C")
    return tensors


def unpacked(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Gives the arrays that `packed` laid out."""
    return {k.removesuffix(_COLUMN_MAJOR): v.T if k.endswith(_COLUMN_MAJOR) else v for k, v in arrays.items()}
