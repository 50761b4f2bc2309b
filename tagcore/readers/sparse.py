"""From the arrays that the kernels give to a Block, and from their notes to bad rows."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.corpus import Block, documents_table, taggings_table
from tagcore.kernels.parsing.lines import gather
from tagcore.readers.files import Chunk, InputFile
from tagcore.readers.rejects import ReadError, Rejects

MOST_COLUMNS = 1 << 24  # words or tags of one set
_NO_DIGIT = re.compile(rb"[^-+.0-9eE]")  # what cannot be part of a number


def report_bad(bad: np.ndarray, rejects: Rejects, file: InputFile, chunk: Chunk, expected: Mapping[int, str]) -> None:
    """The kernels' table of bad rows; `expected` says of each rule what should have been there."""
    for line, rule, start, end, first, last in bad.tolist():
        token = chunk.data[start:end].decode(errors="replace")
        rejects.add(file.name, chunk.line + line, token, expected[rule], chunk.data[first:last])


class SparseRows(NamedTuple):
    """What the kernels that read rows give, with its meaning told at `xc_rows`."""

    lines: np.ndarray
    word_ptr: np.ndarray
    words: np.ndarray
    values: np.ndarray
    tag_ptr: np.ndarray
    tags: np.ndarray
    starts: np.ndarray
    bad: np.ndarray

    def round_exactly(self, data: bytes) -> None:
        """Fills in the few values, now NaN, whose last bit the kernel left open."""
        for at in np.flatnonzero(np.isnan(self.values)):
            start = int(self.starts[at])
            after = _NO_DIGIT.search(data, start)
            self.values[at] = np.float32(float(data[start : after.start() if after else None]))

    def report(self, rejects: Rejects, file: InputFile, chunk: Chunk, expected: Mapping[int, str]) -> None:
        report_bad(self.bad, rejects, file, chunk, expected)

    def block(
        self, file: InputFile, first_line: int, prefix: str, n_words: int, splits: np.ndarray | None = None
    ) -> Block:
        """The rows as documents whose ids are their line numbers after the prefix.

        `splits` says for every row whether it is for training, where one file holds both sides.
        """
        n = len(self.lines)
        split = [file.split] * n if splits is None else np.where(splits, "train", "test").tolist()
        numbers = pc.cast(pa.array(self.lines + first_line), pa.string())
        ids = pc.binary_join_element_wise(prefix, numbers, "") if prefix else numbers
        words = sp.csr_matrix((self.values, self.words, self.word_ptr), shape=(n, n_words))
        words.sort_indices()
        documents = np.repeat(np.arange(n), np.diff(self.tag_ptr))
        return Block(
            documents_table(id=ids, split=split),
            taggings_table(documents, self.tags),
            words,
        )


class FirstRows:
    """A published split of one file: its first `number` rows are for training, rows that are rejected among them."""

    def __init__(self, number: int, rejects: Rejects) -> None:
        self.number, self.good = number, 0
        self._rejects, self._before = rejects, rejects.count

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self.good + self._rejects.count - self._before

    def of(self, rows: SparseRows) -> np.ndarray:
        """Which of the good rows are for training; to be asked before the bad ones are reported."""
        places = self.rows + np.arange(len(rows.lines)) + np.searchsorted(rows.bad[:, 0], rows.lines)
        self.good += len(rows.lines)
        return places < self.number

    def check(self, file: InputFile, option: str) -> None:
        """Raises at the end of the file unless rows were left for the test."""
        if self.rows <= self.number:
            raise ReadError(f"{file.name}: {self.rows} rows, expected more than {option} {self.number}: cut off?")


def spelled(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, list[bytes]]:
    """(number of every piece data[start:stop] among the different ones, those in the order of their first place)."""
    text, offsets = gather(data, starts, stops)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    encoded = pa.Array.from_buffers(pa.large_binary(), len(starts), buffers).dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
