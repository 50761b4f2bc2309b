"""Records of lines whose cells stand between `::`, tabs or bars, without quotes, as MovieLens and HetRec have them."""

from collections.abc import Callable, Iterator

from tagcore.readers.bad_rows import BadValue
from tagcore.readers.input_files import InputFile, ReadLimits, line_chunks, too_long

_OPEN = ("tag", "title")  # cells of free text, which may hold the delimiter


class PlainTable:
    """Records of one file; `line` is the number of the last one and `raw` its bytes, `recoded` counts lines that are no
    UTF-8.

    `names` are those of the columns where the file has no header. `columns` maps the fields to know to columns, and is
    told where these stand.
    """

    def __init__(
        self,
        file: InputFile,
        limits: ReadLimits,
        delimiter: str,
        names: list[str] | None,
        columns: Callable[[str, list[str]], dict[str, int]],
    ) -> None:
        self.file, self.line, self.raw, self.recoded = file, 0, list[bytes](), 0
        self._limits, self._delimiter = limits, delimiter
        self._lines = self._numbered_lines()
        header = self._cells() if names is None else names
        self._width = len(header or ())
        self._columns = columns(f"{file.name}, line {max(self.line, 1)}", header) if header is not None else {}
        self._open = next((self._columns[field] for field in _OPEN if field in self._columns), None)

    def record(self) -> dict[str, str | None] | None:
        """Reads the next line that is not blank as field → cell, None where empty; None at the end."""
        cells = self._cells()
        if cells is None:
            return None
        surplus = len(cells) - self._width
        if surplus > 0 and self._open is not None:
            stop = self._open + surplus + 1
            cells = [*cells[: self._open], self._delimiter.join(cells[self._open : stop]), *cells[stop:]]
        elif surplus:
            raise BadValue(len(cells), f"{self._width} cells between {self._delimiter!r}")
        return {field: cells[column] or None for field, column in self._columns.items()}

    def _cells(self) -> list[str] | None:
        for number, raw, cut in self._lines:
            self.line, self.raw = number, [raw]
            if cut:
                raise BadValue(len(raw), too_long(self._limits.row_bytes))
            if text := self._decoded(raw).rstrip("\r\n"):
                return text.split(self._delimiter)
        return None

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.recoded += 1
            return western(raw)

    def _numbered_lines(self) -> Iterator[tuple[int, bytes, bool]]:
        for chunk in line_chunks(self.file, self._limits):
            for number, raw in enumerate(chunk.data.split(b"\n"), chunk.line):
                yield number, raw, chunk.too_long


def western(raw: bytes) -> str:
    """Text of bytes that are no UTF-8: Windows-1252, which the older sets are in, or Latin-1 where even that fails."""
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
