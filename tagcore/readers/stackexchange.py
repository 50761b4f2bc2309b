"""Posts.xml of a Stack Exchange dump: questions with their tags, one row element each, streamed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue, ReadError
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile, ReadLimits, read_chunks
from tagcore.readers.records import BlockBuilder
from tagcore.readers.source import Source
from tagcore.readers.web.xml_events import BadXml, XmlEvents

_QUESTION = "1"
_TAGS = re.compile(r"[^<>|]+")  # <a><b> in older dumps, |a|b| in newer ones
_ROWS = 1024
_PIECE = 1 << 18  # bytes, so that the rows of a chunk are not all held at once


@dataclass(frozen=True, kw_only=True)
class StackExchangeOptions(ReadLimits):
    """`site` is the address that questions are found under, such as https://cooking.stackexchange.com."""

    site: str | None = None


class StackExchange(Source):
    """Questions of a dump; answers, wikis and the like are passed over. Who asked gave the tags."""

    format = "stackexchange"
    Options = StackExchangeOptions

    def _raw_blocks(self) -> Iterator[Block]:
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file))
            events = self._events(file, rows)
            try:
                for chunk in read_chunks(file, self.options):
                    for begin in range(0, len(chunk), _PIECE):
                        events.feed(chunk[begin : begin + _PIECE])
                        if len(rows) >= _ROWS:
                            yield rows.block(html=True)
                events.feed(b"", last=True)
            except BadXml as error:
                raise ReadError(f"{file.name}: {error}") from None
            if rows:
                yield rows.block(html=True)

    def _events(self, file: InputFile, rows: BlockBuilder) -> XmlEvents:
        events = XmlEvents(
            lambda name, row: self._add(file, rows, events.line, name, row), longest=self.options.row_bytes
        )
        return events

    def _add(self, file: InputFile, rows: BlockBuilder, line: int, name: str, row: dict[str, str]) -> None:
        if name != "row" or row.get("PostTypeId") != _QUESTION:
            return
        try:
            rows.add(line, self._record(row))
        except BadValue as error:
            self._rejected_rows.add(file.name, line, error.value, error.expected, str(row).encode())

    def _record(self, row: dict[str, str]) -> dict[str, Any]:
        if not (id_ := row.get("Id")):
            raise BadValue(None, "a row with an Id")
        user = row.get("OwnerUserId") or row.get("OwnerDisplayName")
        tags = dict.fromkeys(tag.strip() for tag in _TAGS.findall(row.get("Tags", "")) if tag.strip())
        return {
            "id": id_,
            "title": row.get("Title"),
            "text": row.get("Body"),
            "url": f"{self.options.site.rstrip('/')}/questions/{id_}" if self.options.site else None,
            "tags": [{"tag": tag, "user": user, "time": row.get("CreationDate")} for tag in tags],
        }
