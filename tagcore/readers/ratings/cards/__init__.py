"""Cards of known sets of ratings: what each is and whose, told by how many ratings and taggings came out."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tagcore.readers.cards import find_file, require_bytes
from tagcore.readers.input_files import InputFile


@dataclass(frozen=True, kw_only=True)
class RatingCard:
    """One known set; file names of MovieLens are the same in all its sets, so that counts are what tells them apart."""

    name: str
    title: str
    source: str
    terms: str
    where: str  # it can be had from
    files: tuple[str, ...]
    checksums: dict[str, str]  # file name -> SHA-256 of its bytes, expanded
    expected: dict[str, int]  # ratings, and taggings where they were counted

    def find(self, place: Path) -> list[InputFile] | None:
        """Finds the files of this set in a folder or beside a file; None where one is missing."""
        folder = place if place.is_dir() else place.parent
        paths = [find_file(folder, name) for name in self.files]
        return None if None in paths else [InputFile(path) for path in paths if path is not None]

    def verify(self, place: Path) -> None:
        """Compares the bytes of the files with the card's, where it knows them; ReadError for one that differs."""
        for name, file in zip(self.files, self.find(place) or (), strict=False):
            if (wanted := self.checksums.get(name)) is not None:
                require_bytes(file, wanted, self.name)


@cache
def rating_cards() -> tuple[RatingCard, ...]:
    """Reads the cards of all known sets, by name."""
    return tuple(_load(path) for path in sorted(Path(__file__).parent.glob("*.toml")))


def card_of(counts: Mapping[str, int]) -> RatingCard | None:
    """The card of the set that has exactly so many ratings, and taggings where it knows them."""
    return next((card for card in rating_cards() if card.expected.items() <= counts.items()), None)


def _load(path: Path) -> RatingCard:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    entries = values.pop("files")
    checksums = {entry["name"]: entry["sha256"] for entry in entries if "sha256" in entry}
    return RatingCard(name=path.stem, files=tuple(entry["name"] for entry in entries), checksums=checksums, **values)
