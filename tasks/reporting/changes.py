"""What changed since the last night: a small note of every night beside its report."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tagcore.store.files import write_text

_NOTE, _BEFORE = "night.json", "night-before.json"


@dataclass(frozen=True)
class Night:
    """What is compared from night to night; `key` is that of its report, so that a repetition is no new night."""

    key: str
    measure: str
    counts: dict[str, int]
    values: dict[str, float]  # of the measure, by model
    in_service: str | None


def changes_since(folder: Path, night: Night) -> list[list[str]]:
    """Rows of (what, before, now) against the night before; nothing where there was none."""
    before = _read(folder / _NOTE)
    if before is not None and before.key == night.key:
        before = _read(folder / _BEFORE)
    if before is None:
        return []
    rows = [
        [name, f"{before.counts.get(name, 0):,}", f"{night.counts.get(name, 0):,}"]
        for name in dict.fromkeys((*night.counts, *before.counts))
    ]
    if before.measure == night.measure:
        rows += [
            [f"{night.measure} of {model}", _told(before.values.get(model)), _told(night.values.get(model))]
            for model in dict.fromkeys((*night.values, *before.values))
        ]
    return [*rows, ["version in service", before.in_service or "none", night.in_service or "none"]]


def note_night(folder: Path, night: Night) -> None:
    """Notes the night, and keeps the note of the one before."""
    before = _read(folder / _NOTE)
    if before is not None and before.key != night.key:
        write_text(folder / _BEFORE, json.dumps(asdict(before), indent=1))
    write_text(folder / _NOTE, json.dumps(asdict(night), indent=1))


def _read(path: Path) -> Night | None:
    with suppress(OSError, ValueError, TypeError):
        return Night(**json.loads(path.read_text(encoding="utf-8")))
    return None


def _told(value: float | None) -> str:
    return "not there" if value is None else f"{value:.4f}"
