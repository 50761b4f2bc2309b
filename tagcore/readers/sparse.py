"""From the arrays that the kernels give to a Block, and from their notes to bad rows."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.corpus import Block, documents_table, taggings_table
from tagcore.readers.files import Chunk, InputFile
from tagcore.readers.rejects import Rejects

_NO_DIGIT = re.compile(rb"[^-+.0-9eE]")  # what cannot be part of a number


class SparseRows(NamedTuple):
    """What `xc_rows` and `arff_rows` give, with their meaning told there."""

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
        for line, rule, start, end, first, last in self.bad.tolist():
            token = chunk.data[start:end].decode(errors="replace")
            rejects.add(file.name, chunk.line + line, token, expected[rule], chunk.data[first:last])

    def block(self, file: InputFile, first_line: int, prefix: str, n_words: int) -> Block:
        """The rows as documents whose ids are their line numbers after the prefix."""
        n = len(self.lines)
        numbers = pc.cast(pa.array(self.lines + first_line), pa.string())
        ids = pc.binary_join_element_wise(prefix, numbers, "") if prefix else numbers
        words = sp.csr_matrix((self.values, self.words, self.word_ptr), shape=(n, n_words))
        words.sort_indices()
        documents = np.repeat(np.arange(n), np.diff(self.tag_ptr))
        return Block(
            documents_table(id=ids, split=[file.split] * n),
            taggings_table(documents, self.tags),
            words,
        )
