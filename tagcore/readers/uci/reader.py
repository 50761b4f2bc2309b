"""Tables of the UCI repository: numbers between commas and one class, which becomes the only tag of its row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagcore.corpus import Block, Names
from tagcore.kernels.parsing.rules import BINARY, NUMBER, TAG, TEXT, WIDTH
from tagcore.kernels.parsing.uci import CLASS, FLAG, uci_rows
from tagcore.readers.arff.reader import after_line
from tagcore.readers.bad_rows import ReadError
from tagcore.readers.input_files import Chunk, InputFile, ReadLimits
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import FirstRows, SparseRows, dictionary_encode
from tagcore.readers.uci.header import read_table


@dataclass(frozen=True, kw_only=True)
class UciOptions(ReadLimits):
    """`class_column`: "first" or "last"; by default what a KEEL header calls its output, else the first where the first
    row does not begin with a number, else the last.

    `split_column`: the number, from 0, of a column that is 0 in rows for training, 1 in rows for the test, and no word.
    `split_number`: how many rows at the beginning are for training.
    """

    class_column: str | None = None
    split_column: int | None = None
    split_number: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.class_column not in (None, "first", "last"):
            raise ValueError(f'class_column is {self.class_column!r}, expected "first" or "last"')
        for name, least in (("split_column", 0), ("split_number", 1)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise ValueError(f"{name} is {value!r}, expected a whole number of at least {least}")
        if self.split_column is not None and self.split_number is not None:
            raise ValueError("split_column and split_number are both given, expected one of them")


class Uci(Source):
    """Rows of a UCI table as documents.

    Words are called as in the header of KEEL where there is one, else w0, w1, ...; classes as they are written.
    """

    format = "uci"
    Options = UciOptions

    def __init__(self, files: Sequence[InputFile], options: UciOptions, *, skip_bad_rows: Path | None = None) -> None:
        super().__init__(files, options, skip_bad_rows=skip_bad_rows)
        tables = self._tables = [read_table(file, options.class_column, options) for file in self.files]
        for file, table in zip(self.files, tables, strict=True):
            if table[:2] != tables[0][:2]:
                raise ReadError(f"{file.name}: other columns than {self.files[0].name}, expected the same")
        first, flag = tables[0], options.split_column
        n = len(first.names) + 1
        if flag is not None and (flag >= n or flag == first.class_column or n < 3):
            raise ReadError(f"{self.place}: column {flag} cannot be the split: {n} columns, class {first.class_column}")
        others = [k for k in range(n) if k not in (first.class_column, flag)]
        self._column = np.full(n, CLASS, np.int32)
        self._column[others] = np.arange(len(others))
        if flag is not None:
            self._column[flag] = FLAG
        self.words = Names(first.names[k - (k > first.class_column)] for k in others)

    def _raw_blocks(self) -> Iterator[Block]:
        for file, table in zip(self.files, self._tables, strict=True):
            number = self.options.split_number
            first_rows = FirstRows(number, self._rejected_rows) if number is not None else None
            for chunk in self._lines(file):
                yield from self._read(file, after_line(chunk, table.data_line), first_rows)
            if first_rows:
                first_rows.check(file, "split_number")

    def _read(self, file: InputFile, chunk: Chunk, first_rows: FirstRows | None) -> Iterator[Block]:
        expected = {
            NUMBER: "a finite number of single precision",
            TAG: "a class",
            TEXT: "UTF-8 text",
            BINARY: "0 (train) or 1 (test) in the column of the split",
            WIDTH: f"{len(self._column)} values between commas",
        }
        data = np.frombuffer(chunk.data, np.uint8)
        arrays, class_starts, class_stops, flags = uci_rows(data, self._column)
        rows = SparseRows(*arrays)
        splits = first_rows.train_mask(rows) if first_rows else None
        if self.options.split_column is not None:
            splits = ~flags
        rows.report(self._rejected_rows, file, chunk, expected)
        rows.round_exactly(chunk.data)
        classes, names = dictionary_encode(data, class_starts, class_stops)
        tags = np.array([self.tags.id(name.decode()) for name in names], np.int32)[classes]
        rows = rows._replace(tag_ptr=np.arange(len(tags) + 1), tags=tags)
        if len(rows.lines):
            yield rows.block(file, chunk.line, self._id_prefix(file), len(self.words or ()), splits)
