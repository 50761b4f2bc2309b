"""Tables with a header, such as .csv and .tsv: one document a row, its tags in one column."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue, ReadError
from tagcore.readers.csv_table import CsvLimits, CsvTable
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile
from tagcore.readers.records import DEFAULT_NAMES, BlockBuilder, TextOptions
from tagcore.readers.source import Source
from tagcore.readers.tag_cells import TagCells, detect_tag_cells

_PART = 2048  # rows


@dataclass(frozen=True, kw_only=True)
class CsvOptions(TextOptions, CsvLimits):
    """`tag_separator`: by default that of | ; , which most of the first 2,048 tag cells hold, else white space; cells
    like ["a", "b"] are then read as lists."""

    tag_separator: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tag_separator == "":
            raise ValueError("tag_separator is empty, expected at least one character, or none for white space")


class Csv(Source):
    """Documents of a table as in RFC 4180.

    Fields with delimiters, quotes or line ends stand in double quotes, quotes inside are doubled.
    """

    format = "csv"
    Options = CsvOptions

    def _raw_blocks(self) -> Iterator[Block]:
        cells, html = self._tag_cells(), self.options.html
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file), self.options.further)
            more = True
            table = self._table(file)
            while more:
                more = self._fill(rows, table, cells)
                if rows:
                    html = rows.look_like_html() if html is None else html
                    yield rows.block(html)

    def _fill(self, rows: BlockBuilder, table: CsvTable, cells: TagCells) -> bool:
        """Reads up to one part; False at the end of the file."""
        while len(rows) < _PART:
            try:
                record = table.record()
                if record is None:
                    return False
                rows.add(table.line, {**record, "tags": cells.tags(record.get("tags"))})
            except BadValue as error:
                self._rejected_rows.add(table.file.name, table.line, error.value, error.expected, b"".join(table.raw))
        return True

    def _table(self, file: InputFile) -> CsvTable:
        return CsvTable(file, self.options, partial(_columns, self.options))

    def _tag_cells(self) -> TagCells:
        """Finds out how tags stand in their cells, unless the options say it."""
        if self.options.tag_separator is not None:
            return TagCells(self.options.tag_separator, lists=False)
        cells, self.remark = detect_tag_cells(self._first_cells())
        return cells

    def _first_cells(self) -> Iterator[str]:
        table = self._table(self.files[0])
        for _ in range(_PART):
            try:
                record = table.record()
            except BadValue:
                continue
            if record is None:
                return
            if cell := record.get("tags"):
                yield cell


def _columns(options: CsvOptions, where: str, header: list[str]) -> dict[str, int]:
    """Maps field → column. Names that were given count as they are, the usual ones in upper or lower case."""
    given = {getattr(options, field) for field in DEFAULT_NAMES} | set(options.further)
    names = [name if name in given else name.strip().lower() for name in header]
    options.check_names(names, where)
    columns = {}
    for field, choices in [*((f, options.names(f)) for f in DEFAULT_NAMES), *((f, (f,)) for f in options.further)]:
        name = next((name for name in choices if name in names), None)
        if name is not None:
            if names.count(name) > 1:
                raise ReadError(f"{where}: two columns are called {name!r}, expected one")
            columns[field] = names.index(name)
    return columns
