"""Records, such as JSON objects or rows of a table, checked field by field and gathered into a Block of documents."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tagcore.corpus import Block, Names, documents_table, fields_table, taggings_table
from tagcore.readers.bad_rows import BadValue, ReadError, shorten
from tagcore.readers.ids import DocumentIds
from tagcore.readers.input_files import ReadLimits
from tagcore.readers.lengths import LONGEST, require_length
from tagcore.text.document_fields import field_text
from tagcore.text.html import strip_html, strip_html_of_title

DEFAULT_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "title": ("title",),
    "text": ("text", "content", "body"),
    "tags": ("tags",),
    "url": ("url",),
    "language": ("language",),
    "fetched_at": ("fetched_at",),
    "split": ("split",),
}
_STRINGS = ("url", "title", "text", "language")
_WRITTEN = ("title", "text")  # what may be HTML
_SPLITS = ("train", "test")
_MOST = 2**53  # beyond it a count is no longer exact as a float
# an opening tag alone proves nothing: mathematics has a<b and b>c
_HTML = re.compile(
    r"</(?:p|a|b|i|em|strong|code|pre|ul|ol|li|div|span|blockquote|h[1-6]|table|html)\s*>|<[bh]r\s*/?>", re.IGNORECASE
)
_Tagging = tuple[str, str | None, int, datetime | None]  # tag, user, count, time


@dataclass(frozen=True, kw_only=True)
class TextOptions(ReadLimits):
    """Names of the columns where they differ from the usual ones; whether they hold HTML (None: it is found out).

    `fields` names further columns to keep beside title and text, such as description or comments.
    """

    id: str | None = None
    title: str | None = None
    text: str | None = None
    tags: str | None = None
    url: str | None = None
    language: str | None = None
    fetched_at: str | None = None
    split: str | None = None
    html: bool | None = None
    fields: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.further:
            if not isinstance(name, str) or not name or ":" in name:
                raise ValueError(f"fields has {name!r}, expected names of columns, without a colon")
            if name in DEFAULT_NAMES:
                raise ValueError(f"fields has {name!r}, which every document has: name its column by {name}=...")

    @property
    def further(self) -> tuple[str, ...]:
        """The names of the further fields; one string may hold several, with commas between."""
        names = self.fields.split(",") if isinstance(self.fields, str) else self.fields
        return tuple(dict.fromkeys(name.strip() if isinstance(name, str) else name for name in names))

    def names(self, field: str) -> tuple[str, ...]:
        """Names that a field may have, the likeliest first."""
        given = getattr(self, field)
        return DEFAULT_NAMES[field] if given is None else (given,)

    def check_names(self, present: Collection[str], where: str) -> None:
        """Raises where a name that was given is not among those `present`, or nothing can be text or tags."""
        for field in DEFAULT_NAMES:
            if (name := getattr(self, field)) is not None and name not in present:
                raise ReadError(f"{where}: no {name!r}, which was named as {field}; there are {_listed(present)}")
        for name in self.further:
            if name not in present:
                raise ReadError(f"{where}: no {name!r}, which fields names; there are {_listed(present)}")
        for field, fields in (("text", ("text", "title")), ("tags", ("tags",))):
            names = [name for f in fields for name in self.names(f)]
            names += self.further if field == "text" else ()
            if not any(name in present for name in names):
                usual = ", ".join(names)
                raise ReadError(f"{where}: no {usual}; there are {_listed(present)}: {how_to_name(field)}")


class BlockBuilder:
    """Gathers checked records of one file until they are given as a Block."""

    def __init__(
        self,
        tags: Names,
        ids: DocumentIds,
        file: int,
        split: str | None,
        prefix: str,
        further: Sequence[str] = (),
    ) -> None:
        self._further = further
        self._tags, self._ids, self._file, self._split, self._prefix = tags, ids, file, split, prefix
        self._columns: dict[str, list] = {}
        self._fields: list[dict[str, str]] = []
        self._taggings: tuple[list, list, list, list, list] = ([], [], [], [], [])
        self._clear()

    def add(self, line: int, record: Mapping[str, Any]) -> None:
        """Adds one record, by the names of DEFAULT_NAMES and those of further fields. Nothing of one that raises
        BadValue is kept."""
        row: dict[str, Any] = {field: _string(field, record.get(field)) for field in _STRINGS}
        row["fetched_at"] = _time("fetched_at", record.get("fetched_at"))
        row["split"] = _split(record.get("split")) or self._split
        taggings = _taggings(record.get("tags"))
        fields = {name: text for name in self._further if (text := field_value(name, record.get(name)))}
        row["id"] = _id(record.get("id"), f"{self._prefix}{line}")
        self._ids.claim(row["id"], self._file, line)
        number = len(self._columns["id"])
        for field, value in row.items():
            self._columns[field].append(value)
        self._fields.append(fields)
        documents, tags, users, counts, times = self._taggings
        for tag, user, count, time in taggings:
            documents.append(number)
            tags.append(self._tags.id(tag))
            users.append(user)
            counts.append(count)
            times.append(time)

    def __len__(self) -> int:
        return len(self._columns["id"])

    def look_like_html(self) -> bool:
        """Whether at least one in ten of the first thousand texts, or of the titles, holds a well-known HTML tag."""
        return any(_hold_html(self._columns[field]) for field in _WRITTEN)

    def block(self, html: bool) -> Block:
        """Returns the records so far as a Block and forgets them."""
        if html:
            for field in _WRITTEN:
                strip = partial(_without_markup, strip=strip_html_of_title if field == "title" else strip_html)
                self._columns[field] = list(map(strip, self._columns["id"], self._columns[field]))
            self._fields = [
                {name: plain for name, text in fields.items() if (plain := _without_markup(id_, text))}
                for id_, fields in zip(self._columns["id"], self._fields, strict=True)
            ]
        documents, tags, users, counts, times = self._taggings
        taggings = taggings_table(documents, tags, users, counts, times)
        fields = fields_table(self._fields) if self._further else None
        block = Block(documents_table(**self._columns), taggings, fields=fields)
        self._clear()
        return block

    def _clear(self) -> None:
        self._columns = {field: [] for field in (*_STRINGS, "id", "fetched_at", "split")}
        self._fields = []
        self._taggings = ([], [], [], [], [])


def how_to_name(field: str) -> str:
    """Tells how the column of a field is named: for readers, for `ingest` and for a recipe."""
    return f"name the right one by {field}=NAME (--option {field}=NAME, in a recipe data.options.{field})"


def _hold_html(texts: Sequence[str | None]) -> bool:
    some = [t for t in texts[:1000] if t]
    return bool(some) and sum(bool(_HTML.search(t)) for t in some) * 10 >= len(some)


def _without_markup(document: str, text: str | None, strip: Callable[[str, int], str] = strip_html) -> str | None:
    try:
        # a row's length was limited when it was read, so that no second limit is needed
        return text if text is None else strip(text, len(text))
    except ValueError as error:
        raise ReadError(f"document {shorten(document)}: {error}") from None


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:20]
    return ", ".join(map(shorten, shown)) + (", …" if len(names) > len(shown) else "")


def _string(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadValue(value, f"a string as {field}")
    return require_length(value, field) if field in LONGEST else value


def field_value(name: str, value: Any) -> str:
    """Reads the text of a field: a string, or of further fields a list of them."""
    if name in DEFAULT_NAMES:
        return _string(name, value) or ""
    try:
        return field_text(value, name)
    except ValueError:
        raise BadValue(value, f"a string, or a list of strings, as {name}") from None


def _id(value: Any, default: str) -> str:
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return require_length(value, "id")
    raise BadValue(value, "a string that is not empty, or a whole number, as id")


def _time(field: str, value: Any) -> datetime | None:
    """Reads a time in ISO 8601; without an offset it is UTC."""
    if value is None or value == "":
        return None
    try:
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise BadValue(value, f"a time like 2024-05-01T12:00:00Z as {field}") from None


def _split(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if value in _SPLITS:
        return value
    raise BadValue(value, "train or test as split")


def _taggings(value: Any) -> list[_Tagging]:
    """Reads a list of strings, of which the same ones count once, and of objects with the key tag."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadValue(value, "a list as tags")
    names = dict.fromkeys(_tag_name(tag) for tag in value if isinstance(tag, str))
    return [(name, None, 1, None) for name in names] + [_tagging(tag) for tag in value if not isinstance(tag, str)]


def _tagging(value: Any) -> _Tagging:
    if not isinstance(value, dict):
        raise BadValue(value, "a string, or an object with the key tag, in tags")
    user = _string("user", value.get("user"))
    return _tag_name(value.get("tag")), user, _count(value.get("count")), _time("time", value.get("time"))


def _tag_name(value: Any) -> str:
    if isinstance(value, str) and (tag := value.strip()):
        return require_length(tag, "tag")
    raise BadValue(value, "a tag that is not empty")


def _count(value: Any) -> int:
    if value is None:
        return 1
    whole = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value) and value.is_integer())
    if whole and not isinstance(value, bool) and 1 <= value <= _MOST:
        return int(value)
    raise BadValue(value, "a whole number of at least 1 as count")
