"""What a night leaves for the next one: which results it made, and how long words have been weighed as they are."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tagcore.store.files import write_text

NIGHTS = "nights"  # the folder of the state whose files are the nights of one name each
_KEPT = 30  # nights


@dataclass(frozen=True)
class Lineage:
    """Features of one kind, and what has happened to their documents since idf was learnt; folders are of the store."""

    features: str
    learnt_at: str  # when idf was learnt, ISO 8601
    documents: int  # there were then
    nights: int = 0  # that went on since then
    new: int = 0
    changed: int = 0  # documents with another text or other tags
    gone: int = 0


@dataclass(frozen=True)
class NightRecord:
    """One night that passed its guards."""

    number: int
    at: str  # when it began, ISO 8601
    corpus: str
    ledger: str
    asked_split: dict[str, Any]  # as the recipe had it
    split: dict[str, Any]  # as the first night settled it
    full: bool  # whether a person or a schedule asked for it
    lineages: dict[str, Lineage]  # by feature settings
    models: dict[str, str]  # folders, by label and seed


def read_nights(path: Path) -> list[NightRecord]:
    """Reads the nights of one name, oldest first; none where there is no such file, or it cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        nights = json.loads(path.read_text(encoding="utf-8"))
        return [
            NightRecord(**{**night, "lineages": {k: Lineage(**one) for k, one in night["lineages"].items()}})
            for night in nights
        ]
    return []


def note_night(path: Path, nights: list[NightRecord], night: NightRecord) -> None:
    """Notes a night behind the others; the same data again are the same night."""
    before = nights[:-1] if nights and nights[-1].corpus == night.corpus else nights
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps([asdict(one) for one in [*before, night][-_KEPT:]], indent=1))
