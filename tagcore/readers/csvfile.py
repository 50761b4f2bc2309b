"""Tables with a header, such as .csv and .tsv: one document a row, its tags in one column."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue, ReadError
from tagcore.readers.csv_table import CsvLimits, CsvTable
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile
from tagcore.readers.records import DEFAULT_NAMES, BlockBuilder, TextOptions, looks_like_html
from tagcore.readers.source import Source

_PART = 2048  # rows
_SEPARATORS = "|;,"


@dataclass(frozen=True, kw_only=True)
class CsvOptions(TextOptions, CsvLimits):
    """`tag_separator`: by default the first of | ; , that any of the first 2,048 tag cells holds, else white space."""

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
        separator, html = self._separator(), self.options.html
        if self.options.tag_separator is None:
            between = "white space" if separator is None else repr(separator)
            self.remark = f"tags are split at {between}, which the option tag_separator changes"
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file), self.options.further)
            more = True
            table = self._table(file)
            while more:
                more = self._fill(rows, table, separator)
                if rows:
                    html = looks_like_html(rows.texts) if html is None else html
                    yield rows.block(html)

    def _fill(self, rows: BlockBuilder, table: CsvTable, separator: str | None) -> bool:
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

    def _table(self, file: InputFile) -> CsvTable:
        return CsvTable(file, self.options, partial(_columns, self.options))

    def _separator(self) -> str | None:
        """Finds out what stands between tags; None is white space."""
        if self.options.tag_separator is not None:
            return self.options.tag_separator
        table, seen = self._table(self.files[0]), set[str]()
        for _ in range(_PART):
            try:
                record = table.record()
            except BadValue:
                continue
            if record is None:
                break
            seen.update(record.get("tags") or "")
        return next((s for s in _SEPARATORS if s in seen), None)


def split_tags(cell: str | None, separator: str | None) -> list[str]:
    """Splits a cell into tags, by white space where the separator is None. Empty ones do not count: a|b| has two."""
    return [tag for tag in (cell or "").split(separator) if tag and not tag.isspace()]


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
