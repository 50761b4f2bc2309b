"""Bytes of input files, plain, gzip or in a zip, within limits that a hostile or broken file cannot pass."""

import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tagcore.readers.bad_rows import ReadError, shorten

CHUNK = 4 << 20
_BOM = b"\xef\xbb\xbf"
_FREE_EXPANSION = 64 << 20  # however well it was compressed, this much is never suspicious
_MOST_MEMBERS = 10_000


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """Options that every format takes."""

    row_bytes: int = 16 << 20  # the longest row
    expanded_bytes: int = 64 << 30  # what one compressed file may become
    expansion: int = 300  # by how many times; real text reaches about 30, a bomb of gzip 1,000

    def __post_init__(self) -> None:
        for name in ("row_bytes", "expanded_bytes", "expansion"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value!r}, expected a whole number of at least 1")


@dataclass(frozen=True)
class InputFile:
    """A file, or one member of a zip, and the part of an official split that it holds."""

    path: Path
    member: str | None = None
    split: str | None = None

    @property
    def name(self) -> str:
        """Name that messages show; a member's name is text and never becomes a path."""
        return str(self.path) if self.member is None else f"{self.path}!{self.member}"

    @property
    def stem(self) -> str:
        """File name up to its first dot."""
        inner = self.member.rpartition("/")[2] if self.member is not None else self.path.name
        return inner.partition(".")[0]


class Chunk(NamedTuple):
    """Whole lines, or where `too_long` the start of one line that passes the limit."""

    data: bytes
    line: int  # number of its first line, counted from 1
    too_long: bool = False

    @property
    def next_line(self) -> int:
        """Number of the line after the chunk."""
        return self.line + int(np.count_nonzero(np.frombuffer(self.data, np.uint8) == ord("\n")))


def read_chunks(file: InputFile, limits: ReadLimits) -> Generator[bytes, None, None]:
    """Reads the expanded bytes, a few MiB at a time."""
    with errors_named(file.name), _open(file, limits) as (stream, packed):
        total = 0
        for data in _read(stream) if packed is None else _read_ahead(stream):
            total += len(data)
            if packed is not None:
                check_expansion(file, total, packed, limits)
            yield data


def _read(stream: Any) -> Iterator[bytes]:
    while data := stream.read(CHUNK):
        yield data


def _read_ahead(stream: Any) -> Iterator[bytes]:
    """Reads a stream while another thread expands the next bytes, so that the caller need not wait for them."""
    other = ThreadPoolExecutor(1)
    following = other.submit(stream.read, CHUNK)
    try:
        while data := following.result():
            following = other.submit(stream.read, CHUNK)
            yield data
    finally:
        # until the stream may be closed, and not until the thread has ended: where garbage collection ends this within
        # the start of another thread, that one holds a lock which an ending thread needs
        wait([following])
        other.shutdown(wait=False)


def line_chunks(file: InputFile, limits: ReadLimits) -> Iterator[Chunk]:
    """Reads whole lines, a few MiB at a time, without a byte order mark."""
    held, line, dropping, first = b"", 1, False, True
    for data in read_chunks(file, limits):
        if first:
            data, first = data.removeprefix(_BOM), False
        if dropping:
            _, newline, data = data.partition(b"\n")
            if not newline:
                continue
            dropping, line = False, line + 1
        data = held + data
        cut = data.rfind(b"\n") + 1
        held = data[cut:]
        whole = Chunk(data[:cut], line)
        yield from _within(whole, limits.row_bytes)
        line = whole.next_line
        if len(held) > limits.row_bytes:
            yield Chunk(held, line, too_long=True)
            held, dropping = b"", True
    if held:
        yield Chunk(held, line)


def first_bytes(file: InputFile, limits: ReadLimits, size: int = 4096) -> bytes:
    """Reads how the file begins, without a byte order mark."""
    with errors_named(file.name), _open(file, limits) as (stream, _):
        return stream.read(size).removeprefix(_BOM)


def read_small(file: InputFile, limits: ReadLimits) -> bytes:
    """Reads all of a companion file, which must keep within the limit of one row."""
    with errors_named(file.name), _open(file, limits) as (stream, _):
        data = stream.read(limits.row_bytes + 1)
    if len(data) > limits.row_bytes:
        raise ReadError(f"{file.name}: longer than {limits.row_bytes} bytes, the limit row_bytes")
    return data.removeprefix(_BOM)


def zip_members(path: Path) -> list[str]:
    """Lists the files in a zip, hidden and system ones left out."""
    with errors_named(str(path)), _zip(path) as archive:
        infos = archive.infolist()
    if len(infos) > _MOST_MEMBERS:
        raise ReadError(f"{path}: a zip of {len(infos)} files, expected at most {_MOST_MEMBERS}")
    names = dict.fromkeys(info.filename for info in infos if info.filename and not info.is_dir())
    return [n for n in names if not n.startswith("__MACOSX/") and not n.rpartition("/")[2].startswith(".")]


def is_zip(path: Path) -> bool:
    """Says whether the file is a zip, by its name or by how it begins."""
    return path.suffix.lower() == ".zip" or _starts_with(path, b"PK\x03\x04")


def _starts_with(path: Path, magic: bytes) -> bool:
    with errors_named(str(path)), open(path, "rb") as file:
        return file.read(len(magic)) == magic


def too_long(limit: int) -> str:
    """Words the limit of a row for a message."""
    return f"at most {limit} bytes a row (the limit row_bytes)"


@contextmanager
def _open(file: InputFile, limits: ReadLimits) -> Iterator[tuple[Any, int | None]]:
    """Opens the expanded bytes: (stream, compressed size or None where the file is plain)."""
    if file.path.is_dir():
        raise ReadError(f"{file.name}: a folder, expected a file")
    if file.path.exists() and not file.path.is_file():
        raise ReadError(f"{file.name}: neither a file nor a folder")
    if file.member is not None:
        with _zip(file.path) as archive:
            info = archive.getinfo(file.member)
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ReadError(f"{file.name}: zip method {info.compress_type}, expected stored or deflated")
            check_expansion(file, info.file_size, info.compress_size, limits)
            with archive.open(info) as stream:
                yield stream, info.compress_size
    elif file.path.suffix.lower() == ".gz" or _starts_with(file.path, b"\x1f\x8b"):
        with open(file.path, "rb") as raw, pa.CompressedInputStream(raw, "gzip") as stream:
            yield stream, file.path.stat().st_size
    else:
        with open(file.path, "rb") as stream:
            yield stream, None


@contextmanager
def _zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except ReadError:
        raise
    except (RuntimeError, LookupError, ValueError, OverflowError, struct.error) as error:
        # what zipfile raises for a password and for headers that make no sense
        raise zipfile.BadZipFile(str(error)) from error


@contextmanager
def errors_named(name: str) -> Iterator[None]:
    """Turns whatever goes wrong with a file into a ReadError that names it."""
    try:
        yield
    except ReadError:
        raise
    except FileNotFoundError:
        raise ReadError(f"{name}: there is no such file") from None
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise ReadError(f"{name}: cannot be read ({error.strerror})") from error
        raise ReadError(f"{name}: cut off or damaged ({shorten(error)})") from error


def check_expansion(file: InputFile, expanded: int, packed: int, limits: ReadLimits) -> None:
    """Raises where compressed bytes become more than the limits allow."""
    if expanded > limits.expanded_bytes:
        raise ReadError(
            f"{file.name}: expands to {expanded} bytes, the limit expanded_bytes is {limits.expanded_bytes}"
        )
    if expanded > max(_FREE_EXPANSION, limits.expansion * packed):
        raise ReadError(
            f"{file.name}: {packed} bytes expand to {expanded}, the limit expansion is {limits.expansion} times"
        )


def _within(chunk: Chunk, longest: int) -> Iterator[Chunk]:
    """Gives the lines as one chunk, or cut around those that are too long."""
    data, line = chunk.data, chunk.line
    if len(data) <= longest:
        if data:
            yield chunk
        return
    start = begin = 0
    first = line
    while begin < len(data):
        end = data.index(b"\n", begin) + 1
        if end - begin - 1 > longest:
            if begin > start:
                yield Chunk(data[start:begin], first)
            yield Chunk(data[begin:end], line, too_long=True)
            start, first = end, line + 1
        begin, line = end, line + 1
    if start < len(data):
        yield Chunk(data[start:], first)
