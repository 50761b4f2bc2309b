"""Cards of known data sets: what each is, whose, its files and the counts that reading must give."""

import hashlib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tagcore.readers.bad_rows import ReadError
from tagcore.readers.input_files import InputFile, ReadLimits, read_chunks


@dataclass(frozen=True, kw_only=True)
class Card:
    """One known data set; beside this module stands one TOML file for each."""

    name: str
    title: str
    source: str
    terms: str
    where: str = ""  # it can be had from; none is known where this is empty
    format: str
    files: dict[str, str | None]  # file name without .gz -> part of the official split, if there is one
    options: dict[str, Any] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)  # file name -> SHA-256 of its bytes, expanded
    features: dict[str, Any] = field(default_factory=dict)  # what the vectoriser must be told of this set
    expected: dict[str, int] = field(default_factory=dict)  # documents, train, test, words, tags, untagged, wordless

    @property
    def learnable(self) -> bool:
        """Whether there is something to learn: words, and tags to choose between."""
        documents = self.expected.get("documents", self.expected.get("train", 0) + self.expected.get("test", 0))
        return self.expected.get("tags", 2) > 1 and self.expected.get("wordless", 0) < max(documents, 1)

    def find(self, place: Path) -> list[InputFile] | None:
        """Finds the files of this set in a folder or beside a file, plain or with .gz; None where one is missing."""
        files = []
        folder = place if place.is_dir() else place.parent
        for name, split in self.files.items():
            path = find_file(folder, name)
            if path is None:
                return None
            files.append(InputFile(path, split=split))
        return files

    def verify(self, place: Path) -> None:
        """Compares the bytes of the files with the card's, where it knows them; ReadError for one that differs."""
        for name, file in zip(self.files, self.find(place) or (), strict=False):
            if (wanted := self.checksums.get(name)) is not None:
                require_bytes(file, wanted, self.name)

    def compare(self, counts: dict[str, int], rejected: int, where: str) -> None:
        """Raises where what was read is not what the card says; rows that were rejected only count as rows."""
        expected = self.expected
        if rejected:
            documents = expected.get("documents", expected.get("train", 0) + expected.get("test", 0))
            expected, counts = {"documents": documents}, {"documents": counts["documents"] + rejected}
        wrong = [f"{counts[what]} {what} (expected {n})" for what, n in expected.items() if counts[what] != n]
        if wrong:
            raise ReadError(
                f"{where}: not the data set {self.name!r} of this name: {', '.join(wrong)}; "
                f"to read them all the same, name their format by format={self.format}"
            )


def find_file(folder: Path, name: str) -> Path | None:
    """Finds a file of a known set, plain or with .gz."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def require_bytes(file: InputFile, wanted: str, card: str) -> None:
    """Raises a ReadError where the SHA-256 of the expanded bytes is not the one that a card knows."""
    digest = hashlib.sha256()
    for data in read_chunks(file, ReadLimits()):
        digest.update(data)
    if digest.hexdigest() != wanted:
        raise ReadError(
            f"{file.name}: not the file that the card {card!r} knows: SHA-256 {digest.hexdigest()[:16]}…, "
            f"expected {wanted[:16]}…"
        )


@cache
def known_cards() -> tuple[Card, ...]:
    """Reads the cards of all known data sets, by name."""
    return tuple(_load(path) for path in sorted(Path(__file__).parent.glob("*.toml")))


def recognise(path: Path | str) -> Card | None:
    """Finds the card of a folder, of FOLDER:NAME, or of a file that is a whole set; None where it is no known set."""
    folder, name = split_name(path)
    if folder.is_file():
        mine = [card for card in known_cards() if list(card.files) == [folder.name.removesuffix(".gz")]]
        return mine[0] if mine else None
    here = {card.name: card for card in known_cards() if card.find(folder)}
    if name is not None:
        if name not in here:
            names = ", ".join(here) or "no known ones"
            raise ReadError(f"{folder}: no data set called {name!r} there; there are {names}")
        return here[name]
    if len(here) > 1:
        files_of_sets = [card.find(folder) or [] for card in here.values()]
        files = [files[0].name for files in files_of_sets if len(files) == 1]
        raise ReadError(
            f"{folder}: holds {len(here)} data sets; choose one: "
            f"{', '.join(f'{folder}:{name}' for name in here)} (or as a file: {', '.join(files)})"
        )
    return next(iter(here.values()), None)


def data_sets(folder: Path) -> list[str]:
    """Lists every known set to learn from, in a folder or one below it, as FOLDER or FOLDER:NAME."""
    sources = []
    for place in (folder, *sorted(p for p in folder.iterdir() if p.is_dir())):
        here = [card for card in known_cards() if card.find(place)]
        sources += [f"{place}:{c.name}" if len(here) > 1 else str(place) for c in here if c.learnable]
    return sources


def split_name(path: Path | str) -> tuple[Path, str | None]:
    """Splits FOLDER:NAME into (folder, NAME); anything else is (path, None)."""
    whole = Path(path)
    folder, colon, name = str(path).rpartition(":")
    if colon and name and not whole.exists() and Path(folder).is_dir():
        return Path(folder), name
    return whole, None


def _load(path: Path) -> Card:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    entries = values.pop("files")
    files = {entry["name"]: entry.get("split") for entry in entries}
    checksums = {entry["name"]: entry["sha256"] for entry in entries if "sha256" in entry}
    return Card(name=path.stem, files=files, checksums=checksums, **values)
