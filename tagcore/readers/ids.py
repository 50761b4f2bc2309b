"""Ids of documents that came before, so that a document that comes twice is noticed."""

from collections.abc import Sequence

import numpy as np

from tagcore.readers.bad_rows import BadValue
from tagcore.readers.input_files import InputFile

_LINES = 2**40  # a place is file × _LINES + line
_RECENT = 2**16  # ids that are not yet in the arrays


class DocumentIds:
    """Ids that are texts, and the line of each, so that a duplicate can name both lines; 16 bytes a document.

    What is kept is Python's hash of an id, whose key is drawn anew for every process: two ids of ten million take one
    another's hash in 3 of a million readings, and no file can be made to let them.
    """

    def __init__(self, files: Sequence[InputFile]) -> None:
        self._files = files
        self._recent: dict[int, int] = {}  # hash -> place
        self._hashes, self._places = np.empty(0, np.int64), np.empty(0, np.int64)  # of those before, in order of hash

    def claim(self, id_: str, file: int, line: int) -> None:
        """Takes the id for a line of a file; raises BadValue where another line has it."""
        key, place = hash(id_), file * _LINES + line
        first = self._settled(key)
        if first is None:
            first = self._recent.setdefault(key, place)
        if first != place:
            before = self._files[first // _LINES].name
            raise BadValue(id_, f"an id of its own; line {first % _LINES} of {before} has the same")
        if len(self._recent) >= _RECENT:
            self._settle()

    def _settled(self, key: int) -> int | None:
        at = self._hashes.searchsorted(key)
        return int(self._places[at]) if at < len(self._hashes) and self._hashes[at] == key else None

    def _settle(self) -> None:
        """Moves what is recent to the arrays, which take a tenth of the memory."""
        keys, places = (np.fromiter(each, np.int64) for each in (self._recent.keys(), self._recent.values()))
        order = np.argsort(keys)
        at = self._hashes.searchsorted(keys[order])
        self._hashes = np.insert(self._hashes, at, keys[order])
        self._places = np.insert(self._places, at, places[order])
        self._recent.clear()


class DocumentNumbers:
    """Ids that are numbers; eight bytes each, so that millions can be told apart."""

    def __init__(self) -> None:
        self._numbers = np.empty(0, np.int64)

    def seen_before(self, numbers: np.ndarray) -> np.ndarray:
        """True where a number came before, in an earlier call or earlier in this one. All have now been seen."""
        new, first = np.unique(numbers, return_index=True)
        again = np.ones(len(numbers), bool)
        again[first] = np.isin(new, self._numbers, assume_unique=True)
        # two sorted runs, which the stable sort merges in one pass
        self._numbers = np.sort(np.concatenate([self._numbers, new[~again[first]]]), kind="stable")
        return again
