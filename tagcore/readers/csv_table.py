"""Records of a table with a header, its cells between commas, tabs, semicolons or bars, as in RFC 4180."""

import csv
import io
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tagcore.readers.bad_rows import BadRow, BadValue, not_utf8
from tagcore.readers.input_files import InputFile, ReadLimits, first_bytes, line_chunks, too_long

_DELIMITERS = ",;|\t"
_Line = tuple[int, bytes, bool]  # its number, its bytes, whether it was cut


@dataclass(frozen=True, kw_only=True)
class CsvLimits(ReadLimits):
    """`delimiter`: by default a tab in .tsv and .tab files, else that of , ; | and tab which parts the header most."""

    delimiter: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter is {self.delimiter!r}, expected one character, no quote and no line end")


class CsvTable:
    """Records of one file; `line` is the first line of the last one and `raw` its bytes.

    A quote that is not closed may join all lines up to the next one, or to the end. Such a row is its first line alone,
    and the others are read again, as long as that is no more than what was read, and some rows.

    `columns` maps the fields to know to columns of the header, and is told where that stands. `names` are those of the
    columns where the file has no header.
    """

    def __init__(
        self,
        file: InputFile,
        options: CsvLimits,
        columns: Callable[[str, list[str]], dict[str, int]],
        names: list[str] | None = None,
    ) -> None:
        # the csv module has one such limit for the whole process; ours is the length of a row
        csv.field_size_limit(max(csv.field_size_limit(), options.row_bytes))
        self.file, self.line = file, 0
        self._limit, self._size = options.row_bytes, 0
        self._flaw: BadValue | None = None
        self._lines = _numbered_lines(file, options)
        self._taken, self._again = list[_Line](), deque[_Line]()
        self._most_again = 4 * options.row_bytes
        self._reader = csv.reader(self, delimiter=options.delimiter or _delimiter(file, options), strict=True)
        try:
            header = self._row() if names is None else names
        except BadValue as error:
            raise BadRow(file.name, self.line, error.value, f"a header: {error.expected}") from None
        self._width = len(header or ())
        self._columns = columns(f"{file.name}, line {max(self.line, 1)}", header) if header is not None else {}

    @property
    def raw(self) -> list[bytes]:
        """The lines of the last row."""
        return [raw for _, raw, _ in self._taken]

    def record(self) -> dict[str, str | None] | None:
        """Reads the next row that is not blank as field → cell, None where empty; None at the end."""
        row = self._row()
        if row is None:
            return None
        if len(row) != self._width:
            raise BadValue(len(row), f"{self._width} fields as in the header{self._joined()}")
        return {field: row[column] or None for field, column in self._columns.items()}

    def _row(self) -> list[str] | None:
        while True:
            self._taken, self._size, self._flaw = [], 0, None
            try:
                row = next(self._reader)
            except StopIteration:
                return None
            except csv.Error as error:
                start = b"".join(self.raw)[:200].decode(errors="replace")
                joined = self._joined()
                self._go_back()
                raise BadValue(start, f"fields and quotes as in RFC 4180 ({error}){joined}") from None
            except BadValue as error:  # too long
                joined = self._joined()
                self._go_back()
                raise BadValue(error.value, f"{error.expected}{joined}") from None
            if self._flaw:
                raise self._flaw
            if row:
                return row

    def _joined(self) -> str:
        """Tells the lines of a row that has several."""
        return f"; a quote joins lines {self.line} to {self._taken[-1][0]}" if len(self._taken) > 1 else ""

    def _go_back(self) -> None:
        """Lets all lines of the row but its first be read again."""
        again = self._taken[1:]
        size = sum(len(raw) for _, raw, _ in again)
        if size <= self._most_again:
            self._most_again -= size
            self._again.extendleft(reversed(again))
            del self._taken[1:]

    def __iter__(self) -> "CsvTable":
        return self

    def __next__(self) -> str:
        """Gives the next line to the csv module."""
        line = self._again.popleft() if self._again else self._new_line()
        number, raw, cut = line
        if not self._taken:
            self.line = number
        self._taken.append(line)
        self._size += len(raw)
        if cut or self._size > self._limit:
            raise BadValue(self._size, too_long(self._limit))
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            # the row goes on, so that what follows is not taken for rows of their own
            self._flaw = self._flaw or not_utf8(error)
            return raw.decode(errors="replace")

    def _new_line(self) -> _Line:
        line = next(self._lines)
        self._most_again += len(line[1])
        return line


def _delimiter(file: InputFile, limits: ReadLimits) -> str:
    """Finds what stands between cells, by the name of the file or by its header."""
    name = (file.member or file.path.name).lower().removesuffix(".gz")
    if name.endswith((".tsv", ".tab")):
        return "\t"
    header = first_bytes(file, limits).lstrip().splitlines()[:1]
    text = b"".join(header).decode(errors="replace")
    return max(_DELIMITERS, key=lambda delimiter: len(next(csv.reader([text], delimiter=delimiter), ())))


def _numbered_lines(file: InputFile, limits: ReadLimits) -> Iterator[_Line]:
    for chunk in line_chunks(file, limits):
        for number, raw in enumerate(io.BytesIO(chunk.data), chunk.line):
            yield number, raw, chunk.too_long
