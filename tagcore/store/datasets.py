"""Data sets on disk: folders of parquet files, each with a manifest that says what it is and proves it.

The manifest holds the kind, schema version, counts, the key (a hash of inputs and parameters, known before the
work is done) and the hash of every file. A folder appears by one rename, so it is whole or not there. A stored model is
such a folder, too: its hashes are compared here, before it is read or meanwhile. The columns of tables: `schemas.py`.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tagcore.store.files import link_or_copy, new_folder, write_text
from tagcore.store.schemas import KINDS, LATER, VERSION

MANIFEST = "manifest.json"


class StoreError(ValueError):
    """A folder that is not the data set it should be; the message says what is wrong and where."""


def content_key(kind: str, parameters: dict[str, Any], inputs: dict[str, str]) -> str:
    """Names a result before it is made: equal inputs and parameters give an equal key."""
    identity = {"kind": kind, "schema": VERSION, "parameters": parameters, "inputs": inputs}
    plain = json.loads(json.dumps(identity, default=str))  # as it will be read back: keys are text
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


class Writer:
    """Fills one data set, row group by row group."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.counts: dict[str, int] = {}
        self._tables = KINDS[kind]
        self._kind = kind
        self._open: dict[str, pq.ParquetWriter] = {}
        self._linked: dict[str, int] = {}

    def link(self, name: str, other: "Dataset") -> None:
        """Begins the table `name` with that of another data set, by links to its files: no byte is written."""
        files = other.files_of(name)
        for number, file in enumerate(files):
            link_or_copy(other.folder / file, self.folder / part_name(name, number))
        self._linked[name] = len(files)
        self.counts[name] = other.counts[name]

    def append(self, name: str, table: pa.Table) -> None:
        """Appends a row group to the table `name`."""
        schema, _ = self._tables[name]
        if name not in self._open:
            path = self.folder / part_name(name, self._linked.get(name, 0))
            self._open[name] = pq.ParquetWriter(
                path, schema, compression="zstd", compression_level=1, write_page_checksum=True
            )
        try:
            table = table.cast(schema)
        except (ValueError, NotImplementedError) as error:  # names, types, or nulls where none may be
            raise StoreError(f"{self._kind}.{name}: {error}") from error
        self._open[name].write_table(table, row_group_size=max(1, table.num_rows))
        self.counts[name] = self.counts.get(name, 0) + table.num_rows

    def close(self) -> None:
        for writer in self._open.values():
            writer.close()


@contextmanager
def write_dataset(
    folder: Path | str,
    kind: str,
    *,
    parameters: dict[str, Any] | None = None,
    inputs: dict[str, str] | None = None,
) -> Iterator[Writer]:
    """Gives a Writer whose data set appears at `folder`, with its manifest, when the block ends well."""
    parameters, inputs = parameters or {}, inputs or {}
    with new_folder(Path(folder)) as filling:
        writer = Writer(filling, kind)
        try:
            yield writer
        finally:
            writer.close()
        for name, (schema, always) in KINDS[kind].items():
            if always and name not in writer.counts:
                writer.append(name, schema.empty_table())
                writer.close()
        files = {
            str(p.relative_to(filling)): {"bytes": p.stat().st_size, "sha256": file_hash(p)}
            for p in sorted(filling.rglob("*"))
            if p.is_file()
        }
        manifest = {
            "format": "tagflow",
            "schema": VERSION,
            "kind": kind,
            "key": content_key(kind, parameters, inputs),
            "parameters": parameters,
            "inputs": inputs,
            "counts": writer.counts,
            "files": files,
        }
        write_text(filling / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True, default=str) + "\n")


@dataclass(frozen=True)
class Dataset:
    """A stored data set whose manifest, schemas and hashes were found right."""

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path | str, kind: str, *, verify: bool = True) -> "Dataset":
        """Opens a data set of this kind; StoreError says what is wrong with a folder that is none.

        `verify` reads every byte once to compare hashes; without it only sizes and schemas are compared.
        """
        folder = Path(folder)
        manifest = read_manifest(folder, kind)
        for name, expected in manifest["files"].items():
            _check_file(folder / name, expected, verify)
        dataset = cls(folder, manifest)
        for table, (schema, always) in KINDS[kind].items():
            if dataset.has(table):
                _check_tables([folder / file for file in dataset.files_of(table)], schema, dataset.counts.get(table))
            elif always:
                raise StoreError(f"{folder}: {table}.parquet is missing")
        return dataset

    @classmethod
    @contextmanager
    def open_and_verify_beside(cls, folder: Path | str, kind: str) -> "Iterator[Dataset]":
        """Opens a data set and compares hashes in a thread while the block reads it, which must stand any content.

        Where a file was altered, that is the error, whatever the block made of its content.
        """
        dataset = cls.open(folder, kind, verify=False)
        with ThreadPoolExecutor(1) as beside:
            verified = beside.submit(dataset._verify)
            try:
                yield dataset
            finally:
                verified.result()

    def _verify(self) -> None:
        for name, expected in self.manifest["files"].items():
            _check_file(self.folder / name, expected, True)

    @property
    def key(self) -> str:
        return self.manifest["key"]

    @property
    def counts(self) -> dict[str, int]:
        return self.manifest["counts"]

    def has(self, table: str) -> bool:
        return f"{table}.parquet" in self.manifest["files"]

    def files_of(self, table: str) -> list[str]:
        """The files of a table, whose rows follow one another; most have one."""
        names = (part_name(table, number) for number in itertools.count())
        return list(itertools.takewhile(lambda name: name in self.manifest["files"], names))

    def read(self, table: str, columns: list[str] | None = None) -> pa.Table:
        return pa.concat_tables([self._read_file(file, columns) for file in self.files_of(table)])

    def _read_file(self, name: str, columns: list[str] | None) -> pa.Table:
        with pq.ParquetFile(self.folder / name) as file:  # `read_table` imports pandas
            return file.read(columns)

    def n_row_groups(self, table: str) -> int:
        return sum(self._row_groups(file) for file in self.files_of(table))

    def blocks(self, table: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Reads one row group at a time; only one is in memory."""
        for name in self.files_of(table):
            with pq.ParquetFile(self.folder / name) as file:
                for group in range(file.num_row_groups):
                    yield file.read_row_group(group, columns=columns)

    def _row_groups(self, file: str) -> int:
        with pq.ParquetFile(self.folder / file) as opened:
            return opened.num_row_groups

    def names(self, table: str) -> list[str]:
        return self.read(table)["name"].to_pylist()


def stored_kind(folder: Path | str) -> str | None:
    """The kind of data set that a folder says it holds; None where it says nothing of the sort."""
    try:
        manifest = json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
        return str(manifest["kind"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    """Reads the manifest of a data set; StoreError where it is of another kind or schema version, or was altered."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        reason = "there is no such folder" if not folder.exists() else f"it has no {MANIFEST}"
        raise StoreError(f"{folder}: not a stored {kind}: {reason}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != "tagflow":
        raise StoreError(f"{path}: not a manifest of tagflow")
    if manifest.get("schema") != VERSION:
        raise StoreError(f"{path}: schema version {manifest.get('schema')!r}, this version reads {VERSION}")
    if manifest.get("kind") != kind:
        raise StoreError(f"{path}: a data set of kind {manifest.get('kind')!r}, expected {kind!r}")
    for entry in ("parameters", "inputs", "counts", "files"):
        if not isinstance(manifest.get(entry), dict):
            raise StoreError(f"{path}: {entry!r} is {manifest.get(entry)!r}, expected an object: it was altered")
    if manifest.get("key") != content_key(kind, manifest["parameters"], manifest["inputs"]):
        raise StoreError(f"{path}: its key does not follow from its inputs and parameters: it was altered")
    return manifest


def is_complete(folder: Path, key: str, kind: str) -> bool:
    """Tells whether the result of this key is already there, whole: then its step need not run again."""
    try:
        return Dataset.open(folder, kind).key == key
    except StoreError:
        return False


def file_hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_file(path: Path, expected: Any, verify: bool) -> None:
    if not isinstance(expected, dict) or not {"bytes", "sha256"} <= expected.keys():
        raise StoreError(f"{path}: the manifest says {expected!r} of it, expected its bytes and sha256")
    if not path.is_file():
        raise StoreError(f"{path}: the manifest lists this file, but it is missing")
    size = path.stat().st_size
    if size != expected["bytes"]:
        raise StoreError(f"{path}: {size} bytes, the manifest says {expected['bytes']}: cut off or altered")
    if verify and (actual := file_hash(path)) != expected["sha256"]:
        raise StoreError(f"{path}: sha256 {actual[:12]}…, the manifest says {expected['sha256']!s:.12}…: altered")


def part_name(table: str, number: int) -> str:
    """The name of a file of a table: train.parquet, then train.1.parquet."""
    return f"{table}.{number}.parquet" if number else f"{table}.parquet"


def _check_tables(paths: list[Path], expected: pa.Schema, expected_rows: Any) -> None:
    rows = sum(_checked_rows(path, expected) for path in paths)
    if rows != expected_rows:
        raise StoreError(f"{paths[0]}: {rows} rows, the manifest says {expected_rows}: it was altered")


def _checked_rows(path: Path, expected: pa.Schema) -> int:
    """The rows of a file of a table, whose columns are found right."""
    try:
        with pq.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        raise StoreError(f"{path}: not a parquet file ({error})") from error
    for field in expected:
        if field.name not in schema.names:
            if field.name in LATER:
                continue
            raise StoreError(f"{path}: column {field.name!r} ({field.type}) is missing")
        if not schema.field(field.name).type.equals(field.type):
            raise StoreError(f"{path}: column {field.name!r} is {schema.field(field.name).type}, expected {field.type}")
    return n_rows
