"""One story of Reuters-21578: its attributes, its part of an official split, its tags and its text."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from tagcore.readers.rejects import Unexpected

FIELDS = ("topics", "places", "people", "orgs", "exchanges")
_ATTRIBUTE = re.compile(r'([A-Z]+)="([^"]*)"')
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|(lt|gt|amp|quot|apos));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DATE = re.compile(r"\s*(\d{1,2})-([A-Z]{3})-(\d{4})\s+(\d\d:\d\d:\d\d)(\.\d{1,6})?(?!\d)")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class Rule(NamedTuple):
    """An official split: which attribute decides, by which value, among stories of which TOPICS attribute."""

    attribute: str
    train: str
    test: str
    topics: tuple[str, ...]


# the README of the collection, section VIII
SPLITS: Mapping[str, Rule] = {
    "modapte": Rule("LEWISSPLIT", "TRAIN", "TEST", ("YES",)),
    "modlewis": Rule("LEWISSPLIT", "TRAIN", "TEST", ("YES", "NO")),
    "modhayes": Rule("CGISPLIT", "TRAINING-SET", "PUBLISHED-TESTSET", ("YES", "NO", "BYPASS")),
}


def attributes(story: str) -> dict[str, str]:
    """Those of the tag <REUTERS ...> that the story begins with."""
    tag = story[: story.find(">") + 1]
    if not tag:
        raise Unexpected(story[:80], '<REUTERS NAME="VALUE" ...>')
    return dict(_ATTRIBUTE.findall(tag))


def part(found: Mapping[str, str], split: str) -> str | None:
    """train, test, or None for a story that the split does not use."""
    rule = SPLITS[split]
    for name in ("TOPICS", rule.attribute):
        if name not in found:
            raise Unexpected(" ".join(found) or None, f"the attribute {name}, which the split {split} goes by")
    if found["TOPICS"] not in rule.topics:
        return None
    return {rule.train: "train", rule.test: "test"}.get(found[rule.attribute])


def tags(story: str, field: str) -> list[str]:
    content = _required(story, field.upper())
    before, *rest = content.split("<D>")
    names = [name.partition("</D>") for name in rest]
    if before.strip() or not all(end and name.strip() and not after.strip() for name, end, after in names):
        raise Unexpected(content, f"<D>NAME</D> for each of the {field}")
    return [plain(name) for name, _, _ in names]


def record(story: str, found: Mapping[str, str], field: str) -> dict[str, Any]:
    """The fields of the document. The dateline begins the text; by-lines are left out."""
    if not found.get("NEWID", "").isdecimal():
        raise Unexpected(found.get("NEWID"), "a whole number as NEWID")
    text = _required(story, "TEXT")
    title, body = _element(text, "TITLE"), _element(text, "BODY")
    if title is None and body is None:  # TYPE="UNPROC": a story whose form was unusual
        body = text
    dateline = _element(text, "DATELINE") or ""
    return {
        "id": found["NEWID"],
        "title": " ".join(plain(title or "").split()) or None,
        "text": f"{plain(dateline)} {plain(body or '')}".strip() or None,
        "tags": tags(story, field),
        "fetched_at": _time(_element(story, "DATE") or ""),
    }


def plain(text: str) -> str:
    """Entities decoded; control characters become blanks, as in the stories they stand where characters were lost."""
    return _CONTROL.sub(" ", _ENTITY.sub(_decoded, text)).strip()


def _decoded(entity: re.Match[str]) -> str:
    if entity[2]:
        return _ENTITIES[entity[2]]
    code = int(entity[1])
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else entity[0]


def _element(text: str, name: str) -> str | None:
    """What stands between the first <NAME>, perhaps with attributes, and the next </NAME>."""
    begin = _begin(name).search(text)
    if not begin:
        return None
    end = text.find(f"</{name}>", begin.end())
    if end < 0:
        raise Unexpected(begin[0], f"</{name}> after it")
    return text[begin.end() : end]


@cache
def _begin(name: str) -> re.Pattern[str]:
    return re.compile(rf"<{name}(?:\s[^<>]*)?>")


def _required(text: str, name: str) -> str:
    content = _element(text, name)
    if content is None:
        raise Unexpected(text[:80], f"<{name}>...</{name}> in the story")
    return content


def _time(text: str) -> str | None:
    """As ISO 8601, or None for what is no date: one of the collection's own stories says 31-MAR-1987 605:12:19.12."""
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
