"""Texts to be tagged: from arguments, standard input or a file of any known format, a batch at a time."""

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import scipy.sparse as sp

from tagcore.corpus import Document, Names
from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, BadValue, ReadError, not_utf8
from tagcore.readers.csv_table import CsvTable
from tagcore.readers.input_files import InputFile, ReadLimits, first_bytes, line_chunks, read_small, too_long
from tagcore.readers.jsonl import parse_object
from tagcore.readers.records import DEFAULT_NAMES, TextOptions, field_value
from tagcore.readers.source import Source
from tagcore.text.fields import field_texts

LINES = "lines"
BATCH = 2048  # texts that are tagged together
BATCH_CHARACTERS = 4 << 20  # or fewer, where they are long

_PLAIN_ENDINGS = ("", ".txt", ".text", ".md", ".log")
_JSON = re.compile(rb'\s*\{\s*"')

Text = tuple[str, Document]  # id, text or its fields


class Batch(NamedTuple):
    """A run of texts with their ids; of sources that count words instead, the counts and the words of their columns."""

    ids: list[str]
    texts: list[Document] | None
    counts: sp.csr_matrix | None = None
    words: Names | None = None


@dataclass(frozen=True)
class Texts:
    """Batches in the order of the file, of texts or of the fields that are to be read; `named`: whether ids are the
    file's own, and not numbers of lines."""

    batches: Callable[[Sequence[str]], Iterator[Batch]]
    named: bool = False


@contextmanager
def open_texts(
    given: list[str] | None, file: Path | None, format: str | None, whole: bool, options: dict[str, Any]
) -> Iterator[Texts]:
    """Opens what a person gave: texts, a file, or neither, which is standard input."""
    if given:
        if file:
            raise ValueError("give a text or --file, not both")
        yield Texts(lambda fields: _batched((str(n), text) for n, text in enumerate(given, 1)))
    elif file is not None and str(file) != "-":
        yield _of_file(file, format, whole, options)
    elif sys.stdin.isatty():
        raise ValueError("no text: give one as an argument, with --file, or on standard input")
    elif whole:
        yield Texts(lambda fields: iter([Batch(["1"], [_decoded(_whole(sys.stdin.buffer), "-", 1)])]))
    elif format == LINES or (format is None and not _JSON.match(cast(BufferedReader, sys.stdin.buffer).peek())):
        yield Texts(lambda fields: _batched(_plain_lines("-", _stream_lines(sys.stdin.buffer))))
    else:  # readers read files
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, f"stdin.{format or 'jsonl'}")
            with open(copy, "wb") as out:
                shutil.copyfileobj(sys.stdin.buffer, out)
            yield _of_file(copy, format, False, options)


def _of_file(path: Path, format: str | None, whole: bool, options: dict[str, Any]) -> Texts:
    file, limits = InputFile(path), ReadLimits()
    if whole:
        return Texts(lambda fields: iter([Batch(["1"], [_decoded(read_small(file, limits), file.name, 1)])]))
    if format == LINES or (format is None and path.is_file() and _is_plain(file, limits)):
        return Texts(lambda fields: _batched(_plain_lines(file.name, _file_lines(file, limits))))
    try:
        source = open_source(path, format=format, **options)
    except ReadError as error:
        hint = f" (--format {LINES} takes it as one text a line)" if format is None and path.is_file() else ""
        raise ReadError(f"{error}{hint}") from error
    if source.card is None and source.format in ("jsonl", "csv"):
        return Texts(lambda fields: _batched(_untagged(source, fields)), named=True)
    return Texts(lambda fields: _blocks(source, fields), named=True)


def _is_plain(file: InputFile, limits: ReadLimits) -> bool:
    ending = Path(file.path.name.lower().removesuffix(".gz")).suffix
    return ending in _PLAIN_ENDINGS and not _JSON.match(first_bytes(file, limits))


def _blocks(source: Source, fields: Sequence[str]) -> Iterator[Batch]:
    for block in source.blocks(BATCH):
        ids = block.documents["id"].to_pylist()
        if block.words is None:
            yield Batch(ids, field_texts(block.documents, block.fields, fields).to_pylist())
        else:
            yield Batch(ids, None, block.words, source.words)


def _untagged(source: Source, fields: Sequence[str]) -> Iterator[Text]:
    """Reads ids and fields alone: no tags are asked for, and no id is remembered, so that any size passes."""
    for file in source.files:
        prefix = "" if len(source.files) == 1 else f"{file.stem}:"
        read = _json_records if source.format == "jsonl" else _table_rows
        by_use = sorted(fields, key=lambda field: field != "text")  # the likeliest first, for messages
        names = {field: _names(source.options, field) for field in ("id", *by_use)}
        records = read(file, source.options, names)
        for line, record in records:
            try:
                texts = {field: field_value(field, record.get(field)) for field in fields}
                yield _id(record.get("id"), f"{prefix}{line}"), texts
            except BadValue as error:
                raise BadRow(file.name, line, error.value, error.expected) from None


def _names(options: TextOptions, field: str) -> tuple[str, ...]:
    """Names that a field may have in the file, the likeliest first."""
    return options.names(field) if field in DEFAULT_NAMES else (field,)


def _json_records(
    file: InputFile, options: TextOptions, names: dict[str, tuple[str, ...]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    keys = [name for field in names if field != "id" for name in names[field]]
    for line, raw in _file_lines(file, options):
        if not raw.strip():
            continue
        try:
            record = parse_object(raw)
            fields = {f: next((record[n] for n in names[f] if record.get(n) is not None), None) for f in names}
            if not any(name in record for name in keys):
                raise BadValue(raw.decode(), f"an object with one of the keys {', '.join(keys)}")
        except BadValue as error:
            raise BadRow(file.name, line, error.value, error.expected) from None
        yield line, fields


def _table_rows(
    file: InputFile, options: Any, names: dict[str, tuple[str, ...]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    table = CsvTable(file, options, partial(_columns, options, names))
    while True:
        try:
            record = table.record()
        except BadValue as error:
            raise BadRow(file.name, table.line, error.value, error.expected) from None
        if record is None:
            return
        yield table.line, record


def _columns(options: TextOptions, fields: dict[str, tuple[str, ...]], where: str, header: list[str]) -> dict[str, int]:
    """Maps field → column. Names that were given count as they are, the usual ones in upper or lower case."""
    given = {getattr(options, field, field) for field in fields}
    names = [name if name in given else name.strip().lower() for name in header]
    candidates = {field: [name for name in usual if name in names] for field, usual in fields.items()}
    if not any(found for field, found in candidates.items() if field != "id"):
        wanted = ", ".join(name for field, usual in fields.items() if field != "id" for name in usual)
        raise ReadError(f"{where}: no {wanted}; there are {', '.join(header)}: name the right one by --option text=...")
    return {field: names.index(found[0]) for field, found in candidates.items() if found}


def _plain_lines(name: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Text]:
    for number, raw in lines:
        yield str(number), _decoded(raw, name, number)


def _file_lines(file: InputFile, limits: ReadLimits) -> Iterator[tuple[int, bytes]]:
    """Numbers every line of a file, blank ones too."""
    for chunk in line_chunks(file, limits):
        if chunk.too_long:
            raise BadRow(file.name, chunk.line, len(chunk.data), too_long(limits.row_bytes))
        data = chunk.data.removesuffix(b"\n")
        yield from enumerate(data.split(b"\n"), chunk.line)


def _stream_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Numbers every line of a stream that cannot be opened again."""
    limit, number = ReadLimits().row_bytes, 0
    while raw := stream.readline(limit + 1):
        number += 1
        if len(raw) > limit:
            raise BadRow("-", number, len(raw), too_long(limit))
        yield number, raw.removesuffix(b"\n")


def _whole(stream: IO[bytes]) -> bytes:
    limit = ReadLimits().row_bytes
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise ReadError(f"-: longer than {limit} bytes, the limit of one text")
    return data


def _batched(texts: Iterable[Text]) -> Iterator[Batch]:
    batch, characters = Batch([], []), 0
    for id_, text in texts:
        assert batch.texts is not None
        batch.ids.append(id_)
        batch.texts.append(text)
        characters += len(text) if isinstance(text, str) else sum(map(len, text.values()))
        if len(batch.ids) == BATCH or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = Batch([], []), 0
    if batch.ids:
        yield batch


def _decoded(raw: bytes, name: str, line: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        bad = not_utf8(error)
        raise BadRow(name, line, bad.value, bad.expected) from None


def _id(value: Any, default: str) -> str:
    if value is None:
        return default
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise BadValue(value, "a string or a whole number as id")
