"""JSON lines as the interfaces of Flickr and YouTube give pictures and videos: known by what is said around them."""

import re
from collections.abc import Iterator
from typing import Any

from tagcore.corpus import Block
from tagcore.readers.ids import DocumentIds
from tagcore.readers.jsonl import Jsonl
from tagcore.readers.records import BlockBuilder

# a text inside an object, as Flickr has them, or YouTube's part that has title and tags
LOOKS = re.compile(rb'"snippet"\s*:\s*\{|"_content"\s*:')
FIELDS = ("description", "related_names", "comments")


class MediaJsonl(Jsonl):
    """Pictures and videos: title and tags, and as fields their description, names of what is related, comments."""

    format = "media"

    def _raw_blocks(self) -> Iterator[Block]:
        self._keys = set()
        ids = DocumentIds(self.files)
        for number, file in enumerate(self.files):
            rows = BlockBuilder(self.tags, ids, number, file.split, self._id_prefix(file), FIELDS)
            for chunk in self._lines(file):
                for line, raw in enumerate(chunk.data.split(b"\n"), chunk.line):
                    if raw and not raw.isspace():
                        self._add(file, rows, line, raw)
                if rows:
                    yield rows.block(html=True)

    def _by_field(self, record: dict[str, Any]) -> dict[str, Any]:
        snippet = record.get("snippet")
        told = {**record, **snippet} if isinstance(snippet, dict) else record
        owner = told.get("owner")
        names = owner if isinstance(owner, dict) else {}
        user = _text(told.get("channelTitle") or names.get("username") or names.get("nsid") or told.get("user"))
        time = told.get("publishedAt") or told.get("date_taken")
        id_ = told.get("id")
        fields: dict[str, Any] = {
            "id": id_.get("videoId") if isinstance(id_, dict) else id_,
            "title": _text(told.get("title")),
            "text": _text(told.get("transcript") or told.get("text")),
            "url": _text(told.get("url") or told.get("link")),
            "language": _text(told.get("defaultLanguage") or told.get("language")),
            "tags": [_tag(tag, user, time) for tag in _listed(told.get("tags"), "tag")],
            "description": _text(told.get("description")),
        }
        for name, keys in (("comments", ("comments",)), ("related_names", ("related", "pools", "sets", "playlists"))):
            texts = [_text(piece) for key in keys for piece in _listed(told.get(key), key.removesuffix("s"))]
            fields[name] = [text for text in texts if text] or None
        return {name: value for name, value in fields.items() if value is not None}

    def _check(self) -> None:
        """Any key may be missing: what there is is taken."""


def _text(value: Any) -> str | None:
    """A text, plain or inside the object that holds it."""
    if isinstance(value, dict):
        value = next(
            (value[key] for key in ("_content", "title", "text", "textOriginal", "name") if key in value), None
        )
    return value if isinstance(value, str) and value else None


def _listed(value: Any, inside: str) -> list[Any]:
    """A list, plain or inside an object; a text is parted at blanks, with quotation marks around what has some."""
    if isinstance(value, dict):
        value = value.get(inside, value.get("items", []))
    if isinstance(value, str):
        return [quoted or word for quoted, word in re.findall(r'"([^"]+)"|(\S+)', value)]
    return value if isinstance(value, list) else []


def _tag(value: Any, user: str | None, time: Any) -> Any:
    """A tagging: of whoever the tag names as its author, else of whose picture it is."""
    if not isinstance(value, dict):
        return {"tag": value, "user": user, "time": time}
    name = value.get("raw") or value.get("_content") or value.get("tag")
    return {"tag": name, "user": _text(value.get("author")) or user, "time": time}
