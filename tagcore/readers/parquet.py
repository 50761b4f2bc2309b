"""Parquet: a table of documents, one row each, with the columns that JSON lines have as keys."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pyarrow.parquet as pq

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue, ReadError, shorten
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile
from tagcore.readers.records import DEFAULT_NAMES, BlockBuilder, TextOptions
from tagcore.readers.source import Source

MAGIC = b"PAR1"
_ROWS = 2048


class Parquet(Source):
    """Documents of parquet files; tags are a column of lists of texts, or of objects with tag, user, count and time."""

    format = "parquet"
    Options = TextOptions

    def _raw_blocks(self) -> Iterator[Block]:
        ids, html = DocumentIds(self.files), self.options.html
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file), self.options.further)
            line = 0
            for batch in self._batches(file):
                for record in batch:
                    line += 1
                    try:
                        rows.add(line, self._by_field(record))
                    except BadValue as error:
                        raw = str(record).encode(errors="replace")
                        self._rejected_rows.add(file.name, line, error.value, error.expected, raw)
                if rows:
                    html = rows.look_like_html() if html is None else html
                    yield rows.block(html)

    def _batches(self, file: InputFile) -> Iterator[list[dict[str, Any]]]:
        if file.member is not None:
            raise ReadError(f"{file.name}: parquet inside a zip, expected the file by itself")
        try:
            with pq.ParquetFile(file.path) as table:
                present = table.schema_arrow.names
                self.options.check_names(present, file.name)
                wanted = [n for field in DEFAULT_NAMES for n in self.options.names(field)]
                wanted += [name for name in self.options.further if name not in wanted]
                for batch in table.iter_batches(_ROWS, columns=[name for name in wanted if name in present]):
                    yield batch.to_pylist()
        except ReadError:
            raise
        except Exception as error:  # of a damaged file any may come, such as a time zone that is none
            raise ReadError(f"{file.name}: not readable as parquet ({shorten(str(error))})") from error

    def _by_field(self, record: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for field in DEFAULT_NAMES:
            name = next((n for n in self.options.names(field) if record.get(n) is not None), None)
            if name is not None:
                found[field] = _plain(record[name])
        return found | {name: record.get(name) for name in self.options.further}


def _plain(value: Any) -> Any:
    """A value as JSON would have it: times as texts, also inside lists of objects."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value
