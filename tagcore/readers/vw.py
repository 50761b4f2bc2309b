"""Vowpal Wabbit text: `label,label 'id |namespace word:value word ... |namespace ...`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tagcore.corpus import Block, Names
from tagcore.kernels.parsing.rules import NUMBER, PAIR, SPACE_NAME, TAG, TEXT, TWICE, WIDTH
from tagcore.kernels.parsing.vw import vw_rows
from tagcore.readers.input_files import Chunk, ReadLimits, line_chunks
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import SparseRows, dictionary_encode

_LONGEST = 255  # bytes of the name of a namespace, which stands once in the file but before each of its words
_EXPECTED = {
    TAG: "whole numbers between commas as labels, then at most an id like 'id; weights and costs are not read",
    TWICE: "every label once in a row",
    WIDTH: "a bar before the words",
    PAIR: "a word with a name",
    SPACE_NAME: f"a namespace of at most {_LONGEST} bytes and without a weight after the bar",
    TEXT: "UTF-8 text",
    NUMBER: "a number from -1e30 to 1e30 as value",
}


class VowpalWabbit(Source):
    """Documents of Vowpal Wabbit files, which are read twice, first for their words and tags.

    Words are called as they are, or namespace^word, and tags by their numbers. A word that a row repeats is added up,
    as the linear model of Vowpal Wabbit does. Ids are line numbers, those in the file are left out.
    """

    format = "vw"
    Options = ReadLimits
    _labels: np.ndarray | None = None

    def _raw_blocks(self) -> Iterator[Block]:
        if self._labels is None:
            self._labels = self._survey()
        for file in self.files:
            for chunk in self._lines(file):
                rows = _numbered(chunk, self.words or Names())
                rows.report(self._rejected_rows, file, chunk, _EXPECTED)
                rows.round_exactly(chunk.data)
                rows = rows._replace(tags=np.searchsorted(self._labels, rows.tags))
                if len(rows.lines):
                    block = rows.block(file, chunk.line, self._id_prefix(file), len(self.words or ()))
                    words: Any = block.words
                    words.sum_duplicates()
                    words.eliminate_zeros()
                    yield block

    def _survey(self) -> np.ndarray:
        """Settles the words in the order of the files and the tags in that of their numbers; returns the labels."""
        self.words, labels = Names(), np.empty(0, np.int64)
        for file in self.files:
            for chunk in line_chunks(file, self.options):
                if not chunk.too_long:
                    labels = np.union1d(labels, _numbered(chunk, self.words).tags)
        self.tags = Names(map(str, labels.tolist()))
        return labels


def _numbered(chunk: Chunk, names: Names) -> SparseRows:
    """Reads the rows with words by their numbers among the names, to which new ones are added."""
    data = np.frombuffer(chunk.data, np.uint8)
    arrays, stops, spaces, space_starts, space_stops = vw_rows(data, _LONGEST)
    rows = SparseRows(*arrays)
    words, word_names = dictionary_encode(data, rows.words, stops)
    of_space, space_names = dictionary_encode(data, space_starts, space_stops)
    # namespace and word as one number, so that a name is made once and not for every time it is there
    keys = of_space[spaces].astype(np.int64) * len(word_names) + words
    _, firsts, numbers = np.unique(keys, return_index=True, return_inverse=True)
    ids = np.empty(len(firsts), np.int32)
    for i in np.argsort(firsts):
        at = firsts[i]
        space, word = space_names[of_space[spaces[at]]].decode(), word_names[words[at]].decode()
        ids[i] = names.id(f"{space}^{word}" if space else word)
    return rows._replace(words=ids[numbers])
