"""svmlight (libsvm) text with any number of labels: `label,label word:value word:value ... # comment`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tagcore.corpus import Block, Names
from tagcore.kernels.parsing.rules import NUMBER, ORDER, PAIR, TAG, TWICE, WORD
from tagcore.kernels.parsing.svmlight import svmlight_rows
from tagcore.readers.input_files import InputFile, ReadLimits, line_chunks
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import MOST_COLUMNS, SparseRows


@dataclass(frozen=True, kw_only=True)
class SvmlightOptions(ReadLimits):
    """`zero_based`: whether the first word is number 0; by default only where a file uses that number or has no words.

    `n_features`: how many words there may be: a larger number is a bad row. By default any up to 2^24.
    """

    zero_based: bool | None = None
    n_features: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        n = self.n_features
        if n is not None and not (type(n) is int and 1 <= n <= MOST_COLUMNS):
            raise ValueError(f"n_features is {n!r}, expected a whole number from 1 to {MOST_COLUMNS}")


class Svmlight(Source):
    """Documents of svmlight files, which are read twice, first for their words and tags.

    Words are called w0, w1, ... and tags 0, 1, ... by their numbers in the file; `qid:...` is left out. Words that no
    row has get no name and no column: one large number costs no more than a small one. The other columns are those of
    scikit-learn's `load_svmlight_files(..., multilabel=True)`, in single precision.
    """

    format = "svmlight"
    Options = SvmlightOptions
    _labels: np.ndarray | None = None
    _numbers: np.ndarray  # of the words, in the order of their columns
    _first, _most = 0, 0

    def _raw_blocks(self) -> Iterator[Block]:
        if self._labels is None:
            self._labels = self._survey()
        lowest, most = self._first, self._most
        expected = {
            TAG: "whole numbers between commas as labels",
            PAIR: "a pair word:value",
            WORD: f"a word number from {lowest} to {most - 1}",
            TWICE: "every label once in a row",
            ORDER: "word numbers that rise",
            NUMBER: "a finite number of single precision as value",
        }
        for file in self.files:
            for chunk in self._lines(file):
                arrays, _, _ = svmlight_rows(np.frombuffer(chunk.data, np.uint8), lowest, most)
                rows = SparseRows(*arrays)
                rows.report(self._rejected_rows, file, chunk, expected)
                rows.round_exactly(chunk.data)
                words = np.searchsorted(self._numbers, rows.words).astype(np.int32)
                rows = rows._replace(words=words, tags=np.searchsorted(self._labels, rows.tags))
                if len(rows.lines):
                    yield rows.block(file, chunk.line, self._id_prefix(file), len(self._numbers))

    def _survey(self) -> np.ndarray:
        """Settles the words and the tags, in the order of their numbers; returns the labels."""
        zero_based, n_features = self.options.zero_based, self.options.n_features
        surveys = [self._survey_file(file) for file in self.files]
        if zero_based is None:
            zero_based = not all(high >= 0 and low > 0 for low, high, _, _ in surveys)
        high = max(high for _, high, _, _ in surveys)
        self._first = 0 if zero_based else 1
        self._most = self._first + n_features if n_features is not None else max(self._first, high) + 1
        numbers = np.unique(np.concatenate([words for _, _, words, _ in surveys]))
        self._numbers = numbers[(numbers >= self._first) & (numbers < self._most)]
        labels = np.unique(np.concatenate([labels for _, _, _, labels in surveys]))
        self.words = Names(f"w{number}" for number in self._numbers.tolist())
        self.tags = Names(map(str, labels.tolist()))
        return labels

    def _survey_file(self, file: InputFile) -> tuple[int, int, np.ndarray, np.ndarray]:
        """Finds (smallest number of a word, largest, words, labels) of the good rows; the largest is -1 without any."""
        low, high, words, labels = MOST_COLUMNS, -1, np.empty(0, np.int32), np.empty(0, np.int64)
        lowest = 0 if self.options.zero_based is not False else 1
        for chunk in line_chunks(file, self.options):
            if not chunk.too_long:
                arrays, first, last = svmlight_rows(np.frombuffer(chunk.data, np.uint8), lowest, MOST_COLUMNS)
                rows = SparseRows(*arrays)
                low, high = min(low, int(first)), max(high, int(last))
                words, labels = np.union1d(words, rows.words), np.union1d(labels, rows.tags)
        return low, high, words, labels
