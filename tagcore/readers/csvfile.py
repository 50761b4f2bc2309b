"""Comma- or tab-separated tables with a header: one document a row, its tags in one column."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadRow, BadValue, ReadError, not_utf8
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile, ReadLimits, line_chunks, too_long
from tagcore.readers.records import DEFAULT_NAMES, BlockBuilder, TextOptions, looks_like_html
from tagcore.readers.source import Source

_PART = 2048  # rows
_SEPARATORS = "|;,"


@dataclass(frozen=True, kw_only=True)
class CsvOptions(TextOptions):
    """`delimiter`: by default a tab in .tsv and .tab files, else a comma.

    `tag_separator`: by default the first of | ; , that any of the first 2,048 tag cells holds, else white space.
    """

    delimiter: str | None = None
    tag_separator: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter is {self.delimiter!r}, expected one character, no quote and no line end")
        if self.tag_separator == "":
            raise ValueError("tag_separator is empty, expected at least one character, or none for white space")


class Csv(Source):
    """Documents of a table as in RFC 4180.

    Fields with delimiters, quotes or line ends stand in double quotes, quotes inside are doubled.
    """

    format = "csv"
    Options = CsvOptions

    def _raw_blocks(self) -> Iterator[Block]:
        # the csv module has one such limit for the whole process; ours is the length of a row
        csv.field_size_limit(max(csv.field_size_limit(), self.options.row_bytes))
        separator, html = self._separator(), self.options.html
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file))
            more = True
            table = _Table(file, self.options)
            while more:
                more = self._fill(rows, table, separator)
                if rows:
                    html = looks_like_html(rows.texts) if html is None else html
                    yield rows.block(html)

    def _fill(self, rows: BlockBuilder, table: "_Table", separator: str | None) -> bool:
        """Reads up to one part; False at the end of the file."""
        while len(rows) < _PART:
            try:
                record = table.record()
                if record is None:
                    return False
                rows.add(table.line, {**record, "tags": split_tags(record.get("tags"), separator)})
            except BadValue as error:
                self._rejected_rows.add(table.file.name, table.line, error.value, error.expected, b"".join(table.raw))
        return True

    def _separator(self) -> str | None:
        """Finds out what stands between tags; None is white space."""
        if self.options.tag_separator is not None:
            return self.options.tag_separator
        table, seen = _Table(self.files[0], self.options), set[str]()
        for _ in range(_PART):
            try:
                record = table.record()
            except BadValue:
                continue
            if record is None:
                break
            seen.update(record.get("tags") or "")
        return next((s for s in _SEPARATORS if s in seen), None)


class _Table:
    """Records of one file; `line` is the first line of the last one and `raw` its bytes."""

    def __init__(self, file: InputFile, options: CsvOptions) -> None:
        self.file, self.line, self.raw = file, 0, list[bytes]()
        self._limit, self._size = options.row_bytes, 0
        self._flaw: BadValue | None = None
        self._lines = _numbered_lines(file, options)
        self._reader = csv.reader(self, delimiter=options.delimiter or _delimiter(file), strict=True)
        try:
            header = self._row()
        except BadValue as error:
            raise BadRow(file.name, self.line, error.value, f"a header: {error.expected}") from None
        self._width = len(header or ())
        self._columns = _columns(f"{file.name}, line {self.line}", header, options) if header is not None else {}

    def record(self) -> dict[str, str | None] | None:
        """Reads the next row that is not blank as field → cell, None where empty; None at the end."""
        row = self._row()
        if row is None:
            return None
        if len(row) != self._width:
            raise BadValue(len(row), f"{self._width} fields as in the header")
        return {field: row[column] or None for field, column in self._columns.items()}

    def _row(self) -> list[str] | None:
        while True:
            self.raw, self._size, self._flaw = [], 0, None
            try:
                row = next(self._reader)
            except StopIteration:
                return None
            except csv.Error as error:
                start = b"".join(self.raw)[:200].decode(errors="replace")
                raise BadValue(start, f"fields and quotes as in RFC 4180 ({error})") from None
            if self._flaw:
                raise self._flaw
            if row:
                return row

    def __iter__(self) -> "_Table":
        return self

    def __next__(self) -> str:
        """Gives the next line to the csv module."""
        number, raw, cut = next(self._lines)
        if not self.raw:
            self.line = number
        self.raw.append(raw)
        self._size += len(raw)
        if cut or self._size > self._limit:
            raise BadValue(self._size, too_long(self._limit))
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            # the row goes on, so that what follows is not taken for rows of their own
            self._flaw = self._flaw or not_utf8(error)
            return raw.decode(errors="replace")


def split_tags(cell: str | None, separator: str | None) -> list[str]:
    """Splits a cell into tags, by white space where the separator is None. Empty ones do not count: a|b| has two."""
    return [tag for tag in (cell or "").split(separator) if tag and not tag.isspace()]


def _columns(where: str, header: list[str], options: CsvOptions) -> dict[str, int]:
    """Maps field → column. Names that were given count as they are, the usual ones in upper or lower case."""
    given = {getattr(options, field) for field in DEFAULT_NAMES}
    names = [name if name in given else name.strip().lower() for name in header]
    options.check_names(names, where)
    columns = {}
    for field in DEFAULT_NAMES:
        name = next((name for name in options.names(field) if name in names), None)
        if name is not None:
            if names.count(name) > 1:
                raise ReadError(f"{where}: two columns are called {name!r}, expected one")
            columns[field] = names.index(name)
    return columns


def _delimiter(file: InputFile) -> str:
    name = (file.member or file.path.name).lower().removesuffix(".gz")
    return "\t" if name.endswith((".tsv", ".tab")) else ","


def _numbered_lines(file: InputFile, limits: ReadLimits) -> Iterator[tuple[int, bytes, bool]]:
    for chunk in line_chunks(file, limits):
        for number, raw in enumerate(io.BytesIO(chunk.data), chunk.line):
            yield number, raw, chunk.too_long
