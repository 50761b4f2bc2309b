"""Word n-grams with ids in the order of their first appearance."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.kernels.text import ngrams as kernel
from tagcore.text.terms import TermTable, random_seed
from tagcore.text.tokens import Sequences


class GramTable:
    """A growing table of n-grams over word ids; prefixes of a gram are grams too."""

    def __init__(self) -> None:
        self._seed = random_seed()
        self._slots = np.zeros((4096, 2), np.uint64)
        self._prefixes = np.empty(2048, np.int32)
        self._lasts = np.empty(2048, np.int32)
        self._used = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self._used[0])

    def extract(self, words: Sequences, ngram_range: tuple[int, int], *, grow: bool) -> Sequences:
        """Gives the grams of every text; unknown ones are added, or left out if the table may not `grow`."""
        shortest, longest = ngram_range
        rows = words.indptr.size - 1
        out = np.empty(words.ids.size * (longest - shortest + 1), np.int32)
        indptr = np.zeros(rows + 1, np.int64)
        row = 0
        while (row := kernel.extract(*words, row, shortest, longest, out, indptr, grow, *self._arrays)) < rows:
            self._widen()
        return Sequences(out[: indptr[-1]].copy(), indptr)

    def plant(self, words: Sequences) -> np.ndarray:
        """Gives the id of each whole sequence as one gram, added if it is new."""
        rows = words.indptr.size - 1
        grams = np.empty(rows, np.int32)
        row = 0
        while (row := kernel.plant(*words, row, grams, *self._arrays)) < rows:
            self._widen()
        return grams

    def strings(self, grams: np.ndarray, words: TermTable) -> pa.Array:
        """Gives the grams with these ids, their words joined by a space."""
        grams = np.asarray(grams, np.int64)
        joined = words.strings(self._lasts[grams])
        left = self._prefixes[grams]
        while (left >= 0).any():
            heads = words.strings(self._lasts[np.maximum(left, 0)])
            longer = pc.binary_join_element_wise(heads, joined, pa.scalar(" ", pa.large_string()))
            joined = pc.if_else(pa.array(left >= 0), longer, joined)
            left = np.where(left >= 0, self._prefixes[np.maximum(left, 0)], -1)
        return joined

    def words(self, grams: np.ndarray) -> Sequences:
        """Gives the words of the grams with these ids."""
        lengths = np.ones(len(grams), np.int64)
        for _, longer in self._prefixes_of(grams):
            lengths[longer] += 1
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.empty(indptr[-1], np.int32)
        ids[indptr[1:] - 1] = self._lasts[grams]
        for back, (prefixes, longer) in enumerate(self._prefixes_of(grams), 2):
            ids[indptr[longer + 1] - back] = self._lasts[prefixes]
        return Sequences(ids, indptr)

    def _prefixes_of(self, grams: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields prefixes, one word shorter each time, and the places of the grams that have them."""
        places = np.arange(len(grams))
        while len(grams := self._prefixes[grams]):
            longer = grams >= 0
            grams, places = grams[longer], places[longer]
            yield grams, places

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self._seed, self._slots, self._prefixes, self._lasts, self._used

    def _widen(self) -> None:
        self._slots = kernel.rehash_grams(self._slots, 2 * len(self._slots), self._seed)
        self._prefixes = np.concatenate([self._prefixes, np.empty_like(self._prefixes)])
        self._lasts = np.concatenate([self._lasts, np.empty_like(self._lasts)])
