"""Dates in the names of files: the export of another day is the same data set."""

import re

_TIME = r"(?:[T_-]?(?:[01]\d|2[0-3])[-:.]?[0-5]\d(?:[-:.]?[0-5]\d)?Z?)?"
_DATE = re.compile(rf"[-_. ]*(?<!\d)(?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01]){_TIME}(?!\d)")


def undated(name: str) -> str:
    """Takes whole dates, with a time or without, out of the name of a file; a name that is nothing else stays.

    >>> undated("notes-2026-11-16.jsonl"), undated("20261116T0300_notes.csv"), undated("2026-11-16.jsonl")
    ('notes.jsonl', 'notes.csv', '2026-11-16.jsonl')
    """
    rest = _DATE.sub("", name).lstrip("-_ ")
    return name if not rest or rest.startswith(".") else rest
