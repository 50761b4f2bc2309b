"""Cells of a table that hold several tags: between separators, or as a list in brackets."""

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tagcore.readers.bad_rows import BadValue, shorten

_SEPARATORS = "|;,"
_RARE = 20  # where only one in so many cells of several words holds a separator, it is a part of a tag
_SHOWN = 3  # tags, as examples

_OPENS = re.compile(r"""\[\s*+(?:["']|\]\Z)""")
_NUMBERS = re.compile(r"\[\s*+\d++\s*+(?:,\s*+\d++\s*+)*+\]")
# as Python writes it: no other escapes, and a comma between any two texts, which Python itself would run together
_ESCAPE = r"""\\(?:[\\'"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_TEXT = rf"""(?:'(?:[^'\\\n]|{_ESCAPE})*+'|"(?:[^"\\\n]|{_ESCAPE})*+")\s*+"""
_PYTHON = re.compile(rf"\[\s*+{_TEXT}(?:,\s*+{_TEXT})*+\]")


@dataclass(frozen=True)
class TagCells:
    """How cells are taken apart: lists as lists, any other at the separator, which is white space where it is None."""

    separator: str | None
    lists: bool = True

    def tags(self, cell: str | None) -> list[str]:
        """Splits a cell into tags; empty ones do not count: a|b| has two. BadValue where a list is broken."""
        cell = cell or ""
        tags = read_list(cell) if self.lists else None
        return [tag for tag in (cell.split(self.separator) if tags is None else tags) if tag and not tag.isspace()]


def read_list(cell: str) -> list[str] | None:
    """Reads ["a", "b"], ['a', 'b'] or [1, 2] as texts; None where the cell is no list, BadValue where it is broken."""
    cell = cell.strip()
    if cell[:1] != "[":
        return None
    if _NUMBERS.fullmatch(cell):
        return re.findall(r"\d+", cell)
    if not _OPENS.match(cell):
        return None
    tags = _parsed(cell)
    if tags is None:
        raise BadValue(cell, """a whole list of tags, such as ["a", "b"] or ['a', 'b']""")
    if not all(isinstance(tag, str) for tag in tags):
        raise BadValue(cell, "a list of tags that are texts")
    try:
        "".join(tags).encode()
    except UnicodeEncodeError:
        raise BadValue(ascii(cell), "tags of whole Unicode characters, no half surrogate") from None
    return tags


def _parsed(cell: str) -> list[Any] | None:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(cell) if _PYTHON.fullmatch(cell) else None
    except (ValueError, SyntaxError):  # a character beyond the last
        return None


@dataclass
class _Kind:
    """Cells that are taken apart in one way: how many, and the first of them."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, cell: str) -> None:
        self.count += 1
        if len(self.first) < _SHOWN:
            self.first.append(cell)


def detect_tag_cells(cells: Iterable[str]) -> tuple[TagCells, str]:
    """Finds out how cells are taken apart, and tells it.

    Every cell stands for the first of | ; , that it holds, and the separator of most cells is taken; that of one in
    twenty cells with white space at least, else white space is.
    """
    kinds: dict[Any, _Kind] = {key: _Kind() for key in (*_SEPARATORS, None, "one tag", "list")}
    for cell in cells:
        kinds[_kind(cell)].add(cell)
    most = max(_SEPARATORS, key=lambda s: kinds[s].count)  # the first of those that are level
    rare = kinds[most].count * _RARE <= kinds[None].count
    separator = None if rare else most
    how = TagCells(separator)
    split = kinds[separator].first
    if not split and kinds["list"].count:
        return how, f"tags are read as lists{_such_as(how, kinds['list'].first)}"
    between = "white space" if separator is None else repr(separator)
    told = f"tags are split at {between}{_such_as(how, split or kinds['one tag'].first)}"
    return how, f"{told}, which the option tag_separator changes"


def _kind(cell: str) -> str | None:
    """Says what a cell holds: one of the separators, white space (None), one tag or a list."""
    try:
        if read_list(cell) is not None:
            return "list"
    except BadValue:  # which is told when its row is read
        return "list"
    found = next((s for s in _SEPARATORS if s in cell), None)
    return "one tag" if found is None and len(cell.split(None, 1)) < 2 else found


def _such_as(how: TagCells, cells: list[str]) -> str:
    """Shows some of the tags in these cells."""
    shown = dict[str, None]()
    for cell in cells:
        try:
            shown |= dict.fromkeys(tag.strip() for tag in how.tags(cell))
        except BadValue:
            continue
    return f" (such as {', '.join(map(shorten, list(shown)[:_SHOWN]))})" if shown else ""
