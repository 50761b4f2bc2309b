"""The table "to change X, open Y": every file that it sends a newcomer to is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACEHOLDERS = ("NAME", "FORMAT", "COMMAND")


def rows() -> list[list[str]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("## To change X") : text.index("## Habits")]
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]


def test_twelve_usual_changes() -> None:
    assert len(rows()) == 12


def test_every_place_is_there() -> None:
    places = {name for row in rows() for cell in row[1:] for name in re.findall(r"`([\w./]+(?:/|\.\w+))`", cell)}
    assert len(places) > 25
    missing = {p for p in places if not (ROOT / p).exists() and not any(word in p for word in PLACEHOLDERS)}
    assert missing == set()
