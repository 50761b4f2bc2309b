"""Rows of counted words as the parsing kernels give them: made into a Block, and the bad ones rejected."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.corpus import Block, documents_table, taggings_table
from tagcore.kernels.parsing.lines import gather
from tagcore.readers.bad_rows import ReadError, RejectedRows
from tagcore.readers.input_files import Chunk, InputFile

MOST_COLUMNS = 1 << 24  # words or tags of one set
FREE_COLUMNS = 1 << 18  # that a head may name whatever the rows say: their names cost little
BORNE_OUT = 16  # beyond them, rows must have one in so many of the words, and of the tags, that a head names
_NO_DIGIT = re.compile(rb"[^-+.0-9eE]")  # what cannot be part of a number


def reject_bad_rows(
    bad: np.ndarray, rejected_rows: RejectedRows, file: InputFile, chunk: Chunk, expected: Mapping[int, str]
) -> None:
    """Rejects the rows in a kernel's table of bad ones; `expected` says for each rule what should have been there."""
    for line, rule, start, end, first, last in bad.tolist():
        token = chunk.data[start:end].decode(errors="replace")
        rejected_rows.add(file.name, chunk.line + line, token, expected[rule], chunk.data[first:last])


class SparseRows(NamedTuple):
    """Arrays that every kernel for rows of words gives; their meaning is told at `xc_rows`."""

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

    def report(self, rejected_rows: RejectedRows, file: InputFile, chunk: Chunk, expected: Mapping[int, str]) -> None:
        """Rejects the bad rows of the chunk."""
        reject_bad_rows(self.bad, rejected_rows, file, chunk, expected)

    def block(
        self, file: InputFile, first_line: int, prefix: str, n_words: int, splits: np.ndarray | None = None
    ) -> Block:
        """Makes the rows documents whose ids are their line numbers after the prefix.

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

    def __init__(self, number: int, rejected_rows: RejectedRows) -> None:
        self.number, self.good = number, 0
        self._rejected_rows, self._before = rejected_rows, rejected_rows.count

    @property
    def rows(self) -> int:
        """Number of rows so far, good and bad."""
        return self.good + self._rejected_rows.count - self._before

    def train_mask(self, rows: SparseRows) -> np.ndarray:
        """Says which of the good rows are for training; to be asked before the bad ones are reported."""
        places = self.rows + np.arange(len(rows.lines)) + np.searchsorted(rows.bad[:, 0], rows.lines)
        self.good += len(rows.lines)
        return places < self.number

    def check(self, file: InputFile, option: str) -> None:
        """Raises at the end of the file unless rows were left for the test."""
        if self.rows <= self.number:
            raise ReadError(f"{file.name}: {self.rows} rows, expected more than {option} {self.number}: cut off?")


def dictionary_encode(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, list[bytes]]:
    """Numbers the texts data[start:stop]: (number of each among the different ones, those as they first appear)."""
    text, offsets = gather(data, starts, stops)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    encoded = pa.Array.from_buffers(pa.large_binary(), len(starts), buffers).dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
