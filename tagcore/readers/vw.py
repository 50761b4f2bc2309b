"""Vowpal Wabbit text: `label,label 'id |namespace word:value word ... |namespace ...`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tagcore.corpus import Block, Names
from tagcore.kernels.parsing.rules import NUMBER, PAIR, SPACE_NAME, TAG, TEXT, TWICE, WIDTH
from tagcore.kernels.parsing.vw import NAME_ROOM, NAMED, vw_rows
from tagcore.readers.input_files import Chunk, ReadLimits, line_chunks
from tagcore.readers.lengths import LONGEST
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import SparseRows, dictionary_encode

_LONGEST = 255  # bytes of the name of a namespace, which stands once in the file but before each of its words
_EXPECTED = {
    TAG: f"whole numbers, or names of at most {LONGEST['tag']:,} bytes that do not begin like one, between commas as "
    "labels, then at most an id like 'id; weights and costs are not read",
    TWICE: "every label once in a row",
    WIDTH: "a bar before the words",
    PAIR: "a word with a name",
    SPACE_NAME: f"a namespace of at most {_LONGEST} bytes and without a weight after the bar",
    TEXT: "UTF-8 text",
    NUMBER: "a number from -1e30 to 1e30 as value",
}


class VowpalWabbit(Source):
    """Documents of Vowpal Wabbit files, which are read twice, first for their words and tags.

    Words are called as they are, or namespace^word, and tags by their numbers, or their names where these are no
    numbers. A word that a row repeats is added up, as the linear model of Vowpal Wabbit does; the name of a tag that a
    row repeats counts once. Ids are line numbers, those in the file are left out.
    """

    format = "vw"
    Options = ReadLimits
    _labels: np.ndarray | None = None  # that are numbers; those that are names come after them
    _names: Names

    def _raw_blocks(self) -> Iterator[Block]:
        if self._labels is None:
            self._labels = self._survey()
        for file in self.files:
            for chunk in self._lines(file):
                rows = _numbered(chunk, self.words or Names())
                rows.report(self._rejected_rows, file, chunk, _EXPECTED)
                rows.round_exactly(chunk.data)
                rows = _once(rows._replace(tags=self._tag_ids(chunk, rows.tags)))
                if len(rows.lines):
                    block = rows.block(file, chunk.line, self._id_prefix(file), len(self.words or ()))
                    words: Any = block.words
                    words.sum_duplicates()
                    words.eliminate_zeros()
                    yield block

    def _survey(self) -> np.ndarray:
        """Settles the words and named tags as they come, the others by number; returns the labels that are numbers."""
        self.words, self._names, labels = Names(), Names(), np.empty(0, np.int64)
        for file in self.files:
            for chunk in line_chunks(file, self.options):
                if not chunk.too_long:
                    tags = _numbered(chunk, self.words).tags
                    labels = np.union1d(labels, tags[tags < NAMED])
                    self._name_ids(chunk, tags[tags >= NAMED])
        self.tags = Names([*map(str, labels.tolist()), *self._names])
        return labels

    def _tag_ids(self, chunk: Chunk, tags: np.ndarray) -> np.ndarray:
        assert self._labels is not None
        ids, named = np.searchsorted(self._labels, tags), tags >= NAMED
        ids[named] = len(self._labels) + self._name_ids(chunk, tags[named])
        return ids

    def _name_ids(self, chunk: Chunk, named: np.ndarray) -> np.ndarray:
        """Numbers the labels that are names, to which new ones are added."""
        starts, lengths = np.divmod(named - NAMED, NAME_ROOM)
        numbers, names = dictionary_encode(np.frombuffer(chunk.data, np.uint8), starts, starts + lengths)
        return np.array([self._names.id(name.decode()) for name in names], np.int64)[numbers]


def _once(rows: SparseRows) -> SparseRows:
    """Leaves every tag of a row there once."""
    n = len(rows.lines)
    of_row = np.repeat(np.arange(n), np.diff(rows.tag_ptr))
    most = int(rows.tags.max(initial=0)) + 1
    kept = np.sort(np.unique(of_row * most + rows.tags, return_index=True)[1])
    sizes = np.bincount(of_row[kept], minlength=n)
    return rows._replace(tags=rows.tags[kept], tag_ptr=np.append(0, np.cumsum(sizes)))


def _numbered(chunk: Chunk, names: Names) -> SparseRows:
    """Reads the rows with words by their numbers among the names, to which new ones are added."""
    data = np.frombuffer(chunk.data, np.uint8)
    arrays, stops, spaces, space_starts, space_stops = vw_rows(data, _LONGEST, LONGEST["tag"])
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
