"""Dumps of BibSonomy: bookmarks and publications (`bookmark`, `bibtex`), and who tagged them (`tas`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue, ReadError
from tagcore.readers.companions import companion_file
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile, ReadLimits
from tagcore.readers.records import BlockBuilder
from tagcore.readers.source import Source
from tagcore.readers.tab_rows import cells, tab_rows
from tagcore.readers.tagging_index import TaggingIndex

_TAS, _BOOKMARKS, _PUBLICATIONS = "tas", "bookmark", "bibtex"
# places of what is read, by the tables.sql that comes with a dump
_BOOKMARK_CELLS = {"url": 2, "title": 3, "text": 4}
_PUBLICATION_CELLS = {"url": 16, "text": 26, "title": 31}
_ROWS = 2048


class BibSonomy(Source):
    """Posts of BibSonomy; a post is one person's, so that all its tags have one user.

    The taggings go to a temporary file while the posts are read: memory does not grow with a dump.
    """

    format = "bibsonomy"
    Options = ReadLimits

    def __init__(self, files: Sequence[InputFile], options: ReadLimits, *, skip_bad_rows: Path | None = None) -> None:
        self._tas = companion_file(files[0], _TAS)
        posts = []
        for name in (_BOOKMARKS, _PUBLICATIONS):
            try:
                posts.append(companion_file(files[0], name))
            except ReadError:
                continue  # a dump may have one of the two
        if not posts:
            raise ReadError(f"{files[0].name}: neither {_BOOKMARKS} nor {_PUBLICATIONS} beside it")
        super().__init__(posts, options, skip_bad_rows=skip_bad_rows)

    @property
    def inputs(self) -> list[Path]:
        return list(dict.fromkeys([*super().inputs, self._tas.path]))

    def _raw_blocks(self) -> Iterator[Block]:
        with TaggingIndex() as taggings:
            taggings.fill(self._taggings())
            ids = DocumentIds(self.files)
            for number, file in enumerate(self.files):
                rows = BlockBuilder(self.tags, ids, number, file.split, "")
                for line, row in self._rows(file):
                    try:
                        rows.add(line, self._post(file, row, taggings))
                    except BadValue as error:
                        self._rejected_rows.add(file.name, line, error.value, error.expected, row)
                    if len(rows) >= _ROWS:
                        yield rows.block(html=False)
                if rows:
                    yield rows.block(html=False)

    def _post(self, file: InputFile, row: bytes, taggings: TaggingIndex) -> dict[str, Any]:
        places = _BOOKMARK_CELLS if file.stem == _BOOKMARKS else _PUBLICATION_CELLS
        found = cells(row, max(places.values()) + 1)
        if not found[0]:
            raise BadValue(found[0], "a content_id in the first cell")
        return {
            "id": found[0],
            "tags": taggings.of(found[0]),
            **{name: found[place] or None for name, place in places.items()},
        }

    def _taggings(self) -> Iterator[tuple[str, str, str, str | None]]:
        for line, row in self._rows(self._tas):
            try:
                user, tag, document, _, time, *_ = cells(row, 5)
                if not user or not document or not (tag or "").strip():
                    raise BadValue(row.decode(errors="replace"), "a user, a tag and a content_id")
                yield document, user, tag or "", time
            except BadValue as error:
                self._rejected_rows.add(self._tas.name, line, error.value, error.expected, row)

    def _rows(self, file: InputFile) -> Iterator[tuple[int, bytes]]:
        return tab_rows(self._lines(file))
