"""Limits on the length of names: of tags, ids, titles, users and items, which are held or sorted as a whole."""

from tagcore.readers.bad_rows import BadValue

LONGEST = {"tag": 1000, "id": 1000, "user": 1000, "item": 1000, "title": 10_000}  # characters


def require_length(value: str, what: str) -> str:
    """Returns the value; raises BadValue where it is longer than what it is may be."""
    if len(value) > LONGEST[what]:
        raise BadValue(value, f"at most {LONGEST[what]:,} characters as {what}")
    return value
