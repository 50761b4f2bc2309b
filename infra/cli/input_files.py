"""Files of texts to be tagged, in any known format and of any size."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from infra.cli.input_texts import BATCH, JSON, LINES, Batch, Text, Texts, batched, decoded, plain_lines
from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, BadValue, ReadError
from tagcore.readers.csv_table import CsvTable
from tagcore.readers.input_files import InputFile, ReadLimits, first_bytes, line_chunks, read_small, too_long
from tagcore.readers.jsonl import parse_object
from tagcore.readers.records import DEFAULT_NAMES, TextOptions, field_value
from tagcore.readers.source import Source
from tagcore.text.document_fields import field_texts

_PLAIN_ENDINGS = ("", ".txt", ".text", ".md", ".log")


def texts_of_file(path: Path, format: str | None, whole: bool, options: dict[str, Any]) -> Texts:
    file, limits = InputFile(path), ReadLimits()
    if whole:
        return Texts(lambda fields: iter([Batch(["1"], [decoded(read_small(file, limits), file.name, 1)])]))
    if format == LINES or (format is None and path.is_file() and _is_plain(file, limits)):
        return Texts(lambda fields: batched(plain_lines(file.name, _file_lines(file, limits))))
    try:
        source = open_source(path, format=format, **options)
    except ReadError as error:
        hint = f" (--format {LINES} takes it as one text a line)" if format is None and path.is_file() else ""
        raise ReadError(f"{error}{hint}") from error
    if source.card is None and source.format in ("jsonl", "csv"):
        return Texts(lambda fields: batched(_untagged(source, fields)), named=True)
    return Texts(lambda fields: _blocks(source, fields), named=True)


def _is_plain(file: InputFile, limits: ReadLimits) -> bool:
    ending = Path(file.path.name.lower().removesuffix(".gz")).suffix
    return ending in _PLAIN_ENDINGS and not JSON.match(first_bytes(file, limits))


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


def _file_lines(file: InputFile, limits: ReadLimits) -> Iterator[tuple[int, bytes]]:
    """Numbers every line of a file, blank ones too."""
    for chunk in line_chunks(file, limits):
        if chunk.too_long:
            raise BadRow(file.name, chunk.line, len(chunk.data), too_long(limits.row_bytes))
        data = chunk.data.removesuffix(b"\n")
        yield from enumerate(data.split(b"\n"), chunk.line)


def _id(value: Any, default: str) -> str:
    if value is None:
        return default
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise BadValue(value, "a string or a whole number as id")
