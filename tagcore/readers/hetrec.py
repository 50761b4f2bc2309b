"""HetRec 2011's Delicious: bookmarks with their titles and addresses, and who tagged them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue, ReadError, shorten
from tagcore.readers.companions import companion_file
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile, ReadLimits
from tagcore.readers.records import BlockBuilder
from tagcore.readers.source import Source
from tagcore.readers.tagging_index import TaggingIndex

_BOOKMARKS, _TAGS = "bookmarks.dat", "tags.dat"
_TAGGINGS = ("user_taggedbookmarks-timestamps.dat", "user_taggedbookmarks.dat")
_ROWS = 2048


class HetRecBookmarks(Source):
    """Bookmarks of HetRec's Delicious; every file has a head that names its columns, and text in Latin-1."""

    format = "hetrec-bookmarks"
    Options = ReadLimits

    def __init__(self, files: Sequence[InputFile], options: ReadLimits, *, skip_bad_rows: Path | None = None) -> None:
        super().__init__([companion_file(files[0], _BOOKMARKS)], options, skip_bad_rows=skip_bad_rows)
        self._names, self._links = companion_file(files[0], _TAGS), companion_file(files[0], *_TAGGINGS)

    @property
    def inputs(self) -> list[Path]:
        return list(dict.fromkeys([*super().inputs, self._names.path, self._links.path]))

    def _raw_blocks(self) -> Iterator[Block]:
        names = {row["id"]: row["value"] for _, row in self._table(self._names, ("id", "value"))}
        with TaggingIndex() as taggings:
            taggings.fill(self._taggings(names))
            (file,) = self.files
            rows = BlockBuilder(self.tags, DocumentIds(self.files), 0, file.split, "")
            for line, row in self._table(file, ("id", "title", "url")):
                record: dict[str, Any] = {name: row[name] or None for name in ("id", "title", "url")}
                try:
                    rows.add(line, record | {"tags": taggings.of(row["id"])})
                except BadValue as error:
                    self._rejected_rows.add(file.name, line, error.value, error.expected, str(row).encode())
                if len(rows) >= _ROWS:
                    yield rows.block(html=False)
            if rows:
                yield rows.block(html=False)

    def _taggings(self, names: dict[str, str]) -> Iterator[tuple[str, str, str, str | None]]:
        for line, row in self._table(self._links, ("userID", "bookmarkID", "tagID")):
            tag = names.get(row["tagID"], "").strip()
            if not tag:
                expected = f"the id of a tag in {self._names.name}"
                self._rejected_rows.add(self._links.name, line, row["tagID"], expected, str(row).encode())
                continue
            yield row["bookmarkID"], row["userID"], tag, _time(row)

    def _table(self, file: InputFile, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
        """Reads the rows of a file by the names of its head."""
        head: list[str] = []
        for chunk in self._lines(file):
            for line, row in enumerate(chunk.data.decode("latin-1").split("\n"), chunk.line):
                found = row.removesuffix("\r").split("\t")
                if not row.strip():
                    continue
                if not head:
                    head = [name.strip() for name in found]
                    if missing := [name for name in needed if name not in head]:
                        shown = ", ".join(map(shorten, head[:20]))
                        raise ReadError(f"{file.name}: no column {missing[0]!r} in its head: {shown}")
                elif len(found) < len(head):
                    expected = f"{len(head)} cells with tabs between them, as in the head"
                    self._rejected_rows.add(file.name, line, len(found), expected, row.encode())
                else:
                    yield line, dict(zip(head, found, strict=False))


def _time(row: dict[str, str]) -> str | None:
    """The time of a tagging: milliseconds since 1970, or year, month, day, hour, minute and second."""
    try:
        if "timestamp" in row:
            return datetime.fromtimestamp(int(row["timestamp"]) / 1000, UTC).isoformat()
        numbers = (int(row[name]) for name in ("year", "month", "day", "hour", "minute", "second"))
        return datetime(*numbers, tzinfo=UTC).isoformat()  # type: ignore[misc, arg-type]
    except (KeyError, ValueError, OverflowError, OSError):
        return None
