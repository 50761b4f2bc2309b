"""One story of Reuters-21578: its attributes, its part of an official split, its tags and its text."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from tagcore.readers.bad_rows import BadValue

FIELDS = ("topics", "places", "people", "orgs", "exchanges")
_ATTRIBUTE = re.compile(r'([A-Z]+)="([^"]*)"')
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|(lt|gt|amp|quot|apos));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DATE = re.compile(r"\s*(\d{1,2})-([A-Z]{3})-(\d{4})\s+(\d\d:\d\d:\d\d)(\.\d{1,6})?(?!\d)")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class SplitRule(NamedTuple):
    """An official split: which attribute decides, by which value, among stories of which TOPICS attribute."""

    attribute: str
    train: str
    test: str
    topics: tuple[str, ...]


# the README of the collection, section VIII
SPLITS: Mapping[str, SplitRule] = {
    "modapte": SplitRule("LEWISSPLIT", "TRAIN", "TEST", ("YES",)),
    "modlewis": SplitRule("LEWISSPLIT", "TRAIN", "TEST", ("YES", "NO")),
    "modhayes": SplitRule("CGISPLIT", "TRAINING-SET", "PUBLISHED-TESTSET", ("YES", "NO", "BYPASS")),
}


def attributes(story: str) -> dict[str, str]:
    """Reads the attributes of the tag <REUTERS ...> that the story begins with."""
    tag = story[: story.find(">") + 1]
    if not tag:
        raise BadValue(story[:80], '<REUTERS NAME="VALUE" ...>')
    return dict(_ATTRIBUTE.findall(tag))


def part(attributes: Mapping[str, str], split: str) -> str | None:
    """Returns train, test, or None for a story that the split does not use."""
    rule = SPLITS[split]
    for name in ("TOPICS", rule.attribute):
        if name not in attributes:
            raise BadValue(" ".join(attributes) or None, f"the attribute {name}, which the split {split} goes by")
    if attributes["TOPICS"] not in rule.topics:
        return None
    return {rule.train: "train", rule.test: "test"}.get(attributes[rule.attribute])


def tags(story: str, field: str) -> list[str]:
    """Reads the names of one kind of category, such as topics or places."""
    content = _required(story, field.upper())
    before, *rest = content.split("<D>")
    names = [name.partition("</D>") for name in rest]
    if before.strip() or not all(end and name.strip() and not after.strip() for name, end, after in names):
        raise BadValue(content, f"<D>NAME</D> for each of the {field}")
    return [plain(name) for name, _, _ in names]


def record(story: str, attributes: Mapping[str, str], field: str) -> dict[str, Any]:
    """Reads the fields of the document. The dateline begins the text; by-lines are left out."""
    if not attributes.get("NEWID", "").isdecimal():
        raise BadValue(attributes.get("NEWID"), "a whole number as NEWID")
    text = _required(story, "TEXT")
    title, body = _element(text, "TITLE"), _element(text, "BODY")
    if title is None and body is None:  # TYPE="UNPROC": a story whose form was unusual
        body = text
    dateline = _element(text, "DATELINE") or ""
    return {
        "id": attributes["NEWID"],
        "title": " ".join(plain(title or "").split()) or None,
        "text": f"{plain(dateline)} {plain(body or '')}".strip() or None,
        "tags": tags(story, field),
        "fetched_at": _time(_element(story, "DATE") or ""),
    }


def plain(text: str) -> str:
    """Decodes entities; control characters become blanks, as in the stories they stand where characters were lost."""
    return _CONTROL.sub(" ", _ENTITY.sub(_decoded, text)).strip()


def _decoded(entity: re.Match[str]) -> str:
    if entity[2]:
        return _ENTITIES[entity[2]]
    code = int(entity[1])
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else entity[0]


def _element(text: str, name: str) -> str | None:
    """Returns the text from the first <NAME>, perhaps with attributes, to the next </NAME>."""
    begin = _begin(name).search(text)
    if not begin:
        return None
    end = text.find(f"</{name}>", begin.end())
    if end < 0:
        raise BadValue(begin[0], f"</{name}> after it")
    return text[begin.end() : end]


@cache
def _begin(name: str) -> re.Pattern[str]:
    return re.compile(rf"<{name}(?:\s[^<>]*)?>")


def _required(text: str, name: str) -> str:
    content = _element(text, name)
    if content is None:
        raise BadValue(text[:80], f"<{name}>...</{name}> in the story")
    return content


def _time(text: str) -> str | None:
    """Writes a date as ISO 8601, or None for what is no date: one of the stories says 31-MAR-1987 605:12:19.12."""
    match = _DATE.match(text)
    if not match or match[2] not in _MONTHS:
        return None
    day, month, year, clock, fraction = match.groups()
    time = f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}T{clock}{(fraction or '.').ljust(7, '0')}"
    try:
        datetime.fromisoformat(time)
    except ValueError:
        return None
    return time
