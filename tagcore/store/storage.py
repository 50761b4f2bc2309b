"""Where the files of a run lie: under one root that everyone at work on it can reach. A file is whole or not there."""

import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

_COLUMNS = "|columns"  # ends the name of an array that is stored transposed, because it lies column by column


class Storage(Protocol):
    """Small enough to be sent to whoever shall read or write."""

    def inside(self, name: str) -> "Storage":
        """the part below a name."""

    def create(self) -> None:
        """the root itself; FileExistsError where one stands."""

    def read(self, name: str) -> bytes:
        """the content; FileNotFoundError without such a file."""

    def write(self, name: str, content: bytes) -> None:
        """in place of what the file held."""

    def fill(self, name: str, content: BinaryIO) -> None:
        """as `write`, from a stream that may be larger than memory."""

    def open(self, name: str) -> BinaryIO:
        """the content, to be read in any order."""

    def read_arrays(self, name: str) -> dict[str, np.ndarray]:
        """what `write_arrays` was given."""

    def write_arrays(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        """values, types, shapes, and whether they lie row by row or column by column: products round differently."""

    def names(self) -> list[str]:
        """files and parts right below the root, in order."""

    def remove(self, *names: str) -> None:
        """files or whole parts; those that are gone already are no error."""


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

    def fill(self, name: str, content: BinaryIO) -> None:
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
        save_file(packed(arrays), filling)
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
    """A folder by its path, or the storage that it is already."""
    return Folder(Path(place)) if isinstance(place, Path | str) else place


def packed(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As safetensors takes them: row by row. Not np.ascontiguousarray, which turns a number into a vector."""
    found = {}
    for name, values in arrays.items():
        values = np.asarray(values)
        if values.flags.f_contiguous and not values.flags.c_contiguous:
            found[name + _COLUMNS] = values.T
        else:
            found[name] = np.asarray(values, order="C")
    return found


def unpacked(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays behind `packed` ones."""
    return {k.removesuffix(_COLUMNS): v.T if k.endswith(_COLUMNS) else v for k, v in arrays.items()}
