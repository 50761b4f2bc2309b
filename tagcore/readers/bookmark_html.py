"""Netscape bookmark files, which every browser and bookmarking service exports: addresses, titles, tags, notes."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tagcore.corpus import Block
from tagcore.readers.bad_rows import BadValue
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import InputFile, ReadLimits
from tagcore.readers.records import BlockBuilder
from tagcore.readers.source import Source
from tagcore.readers.web.urls import BadUrl, canonical_url
from tagcore.text.html import strip_html

HEAD = re.compile(rb"\s*<!DOCTYPE\s+NETSCAPE-Bookmark-file", re.IGNORECASE)
_LINK, _FOLDER = (re.compile(rf"<{name}(?=[\s>])", re.IGNORECASE) for name in ("A", "H3"))
_NOTE = re.compile(r"<DD>(.*)", re.IGNORECASE)
_END = re.compile(r"</DL>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\b([A-Z_]{1,40})\s*=\s*\"([^\"]*)\"", re.IGNORECASE)
_ROOT = re.compile(r"PERSONAL_TOOLBAR_FOLDER|UNFILED_BOOKMARKS_FOLDER", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class BookmarkOptions(ReadLimits):
    """`folders`: whether the names of a bookmark's folders are its tags where it has none of its own."""

    folders: bool = True


@dataclass
class _Element:
    """An element of a line: what stands in its tag, and what between it and its end."""

    attributes: str
    inside: str

    @classmethod
    def first(cls, line: str, name: re.Pattern[str]) -> "_Element | None":
        """Finds the first one of a name, in one pass: a line of many that do not end is no trap."""
        found = name.search(line)
        close = line.find(">", found.end()) if found else -1
        end = line.find("</", close) if close >= 0 else -1
        return cls(line[found.end() : close], line[close + 1 : end]) if found and end >= 0 else None


@dataclass
class _Bookmark:
    line: int
    url: str
    title: str
    time: str | None
    tags: dict[str, None] = field(default_factory=dict)
    note: str = ""


class BookmarkHtml(Source):
    """Bookmarks, one document for every address; one that is saved in two folders has the tags of both."""

    format = "bookmarks"
    Options = BookmarkOptions

    def _raw_blocks(self) -> Iterator[Block]:
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, "")
            for bookmark in self._bookmarks(file):
                try:
                    rows.add(
                        bookmark.line,
                        {
                            "id": bookmark.url,
                            "url": bookmark.url,
                            "title": bookmark.title or None,
                            "text": bookmark.note or None,
                            "tags": [{"tag": tag, "time": bookmark.time} for tag in bookmark.tags],
                        },
                    )
                except BadValue as error:
                    row = bookmark.url.encode()
                    self._rejected_rows.add(file.name, bookmark.line, error.value, error.expected, row)
            if rows:
                yield rows.block(html=False)

    def _bookmarks(self, file: InputFile) -> list[_Bookmark]:
        found: dict[str, _Bookmark] = {}
        folders: list[str] = []
        last: _Bookmark | None = None
        for chunk in self._lines(file):
            for number, raw in enumerate(chunk.data.split(b"\n"), chunk.line):
                line = raw.decode(errors="replace")
                if named := _Element.first(line, _FOLDER):
                    outermost = _ROOT.search(named.attributes) or (not folders and not named.attributes)
                    folders.append("" if outermost else _plain(named.inside))
                elif link := _Element.first(line, _LINK):
                    last = self._bookmark(file, number, link, folders)
                    if last is not None and (known := found.setdefault(last.url, last)) is not last:
                        known.tags |= last.tags
                        last = known
                elif (match := _NOTE.search(line)) and last is not None:
                    last.note = _plain(match[1])
                if _END.search(line) and folders:
                    folders.pop()
        return list(found.values())

    def _bookmark(self, file: InputFile, line: int, link: _Element, folders: list[str]) -> _Bookmark | None:
        attributes = {name.upper(): html.unescape(value) for name, value in _ATTRIBUTE.findall(link.attributes)}
        address = attributes.get("HREF", "")
        try:
            url = canonical_url(address)
        except BadUrl:
            if not re.match(r"(?:place|javascript|about|chrome|file|data|ftp|mailto):", address):  # no page of the web
                self._rejected_rows.add(file.name, line, address, "an address as HREF", link.attributes.encode())
            return None
        tags = [tag.strip() for tag in attributes.get("TAGS", "").split(",") if tag.strip()]
        if not tags and self.options.folders:
            tags = [folder for folder in folders if folder]
        return _Bookmark(line, url, _plain(link.inside), _time(attributes.get("ADD_DATE", "")), dict.fromkeys(tags))


def _plain(text: str) -> str:
    return " ".join(strip_html(text).split())


def _time(seconds: str) -> str | None:
    """Reads seconds since 1970; some exporters write milliseconds or microseconds."""
    if not seconds.isdigit() or len(seconds) > 20:
        return None
    value = int(seconds)
    while value > 10_000_000_000:
        value //= 1000
    return datetime.fromtimestamp(value, UTC).isoformat()
