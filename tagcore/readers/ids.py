"""Ids of documents that came before, so that a document that comes twice is noticed."""

from collections.abc import Sequence

import numpy as np

from tagcore.readers.bad_rows import BadValue
from tagcore.readers.input_files import InputFile

_LINES = 2**40  # a place is file × _LINES + line


class DocumentIds:
    """Ids that are texts, and the line of each; about 150 bytes a document, so that a duplicate can name both lines."""

    def __init__(self, files: Sequence[InputFile]) -> None:
        self._files = files
        self._places: dict[str, int] = {}

    def claim(self, id_: str, file: int, line: int) -> None:
        """Takes the id for a line of a file; raises BadValue where another line has it."""
        place = file * _LINES + line
        first = self._places.setdefault(id_, place)
        if first != place:
            before = self._files[first // _LINES].name
            raise BadValue(id_, f"an id of its own; line {first % _LINES} of {before} has the same")


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
