"""Distinct strings with ids in the order of their first appearance."""

import secrets

import numpy as np
import pyarrow as pa

from tagcore.kernels.text import terms as kernel
from tagcore.text.string_arrays import buffers, from_buffers


def random_seed() -> np.ndarray:
    """Draws two random words for a hash, so that no text can be written to collide; ids do not depend on them."""
    return np.frombuffer(secrets.token_bytes(16), np.uint64)


class TermTable:
    """A growing hash table of strings; the kernels read and fill its arrays."""

    def __init__(self, size: int = 1024) -> None:
        self._seed = random_seed()
        self._slots = np.zeros((2 << max(size, 8).bit_length(), 2), np.uint64)
        self._spans = np.empty((len(self._slots) // 2, 2), np.int64)
        self._pool = np.empty(len(self._slots), np.uint64)
        self._used = np.zeros(2, np.int64)

    def __len__(self) -> int:
        return int(self._used[0])

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays that the kernels take: seed, slots, spans, pool, used."""
        return self._seed, self._slots, self._spans, self._pool, self._used

    def copy(self) -> "TermTable":
        """Gives a table that knows the same strings by the same ids, and grows on its own."""
        table = object.__new__(TermTable)
        table._seed, table._slots, table._spans = self._seed, self._slots.copy(), self._spans.copy()
        table._pool, table._used = self._pool.copy(), self._used.copy()
        return table

    def widen(self) -> None:
        """Makes room after a kernel stopped for the want of it."""
        if 2 * (len(self) + 1) > len(self._slots):
            self._slots = kernel.rehash(self._slots, 2 * len(self._slots))
            self._spans = np.concatenate([self._spans, np.empty_like(self._spans)])
        else:
            self._pool = np.concatenate([self._pool, np.empty_like(self._pool)])

    def add(self, strings: pa.Array) -> np.ndarray:
        """Gives ids of the strings; new ones get the next ids."""
        return self._intern(strings, grow=True)

    def find(self, strings: pa.Array) -> np.ndarray:
        """Gives ids of the strings, -1 for unknown ones."""
        return self._intern(strings, grow=False)

    def strings(self, ids: np.ndarray) -> pa.Array:
        """Gives the strings with these ids."""
        offsets, data = kernel.spell(np.asarray(ids, np.int64), self._spans, self._pool)
        return from_buffers(data, offsets)

    def _intern(self, strings: pa.Array, grow: bool) -> np.ndarray:
        data, offsets = buffers(strings)
        ids = np.empty(len(strings), np.int32)
        row = 0
        while (row := kernel.intern(data, offsets, row, ids, grow, *self.arrays)) < len(strings):
            self.widen()
        return ids
