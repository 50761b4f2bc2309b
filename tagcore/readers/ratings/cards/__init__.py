"""Cards of known sets of ratings: what each is and whose, told by how many ratings and taggings came out."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class RatingCard:
    """One known set; file names of MovieLens are the same in all its sets, so that counts are what tells them apart."""

    name: str
    title: str
    source: str
    terms: str
    expected: dict[str, int]  # ratings, taggings


@cache
def rating_cards() -> tuple[RatingCard, ...]:
    """Reads the cards of all known sets, by name."""
    paths = sorted(Path(__file__).parent.glob("*.toml"))
    return tuple(RatingCard(name=path.stem, **tomllib.loads(path.read_text(encoding="utf-8"))) for path in paths)


def card_of(counts: Mapping[str, int]) -> RatingCard | None:
    """The card of the set that has exactly so many ratings and taggings."""
    return next((card for card in rating_cards() if card.expected == counts), None)
