"""Mulan's multi-label ARFF: attributes of which an XML file says which are tags, then sparse or dense rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagcore.corpus import Block, Names
from tagcore.kernels.arff import arff_rows
from tagcore.kernels.parsing import AFTER, BINARY, NUMBER, PAIR, TWICE, WIDTH, WORD
from tagcore.readers.arff_header import Attribute, read_header
from tagcore.readers.files import Chunk, InputFile, Limits
from tagcore.readers.labels import read_labels
from tagcore.readers.rejects import ReadError
from tagcore.readers.source import Source
from tagcore.readers.sparse import SparseRows


@dataclass(frozen=True, kw_only=True)
class ArffOptions(Limits):
    """`labels`: the XML file beside the data, by default NAME.xml for NAME.arff, NAME-train.arff and NAME-test.arff.

    `tag_prefix` is taken off the names of tags.
    """

    labels: str | None = None
    tag_prefix: str = ""


class Arff(Source):
    """Attributes are numeric or {0,1}; what a sparse row leaves out is 0."""

    format = "arff"
    Options = ArffOptions

    def __init__(self, files: Sequence[InputFile], options: ArffOptions, *, skip_bad_rows: Path | None = None) -> None:
        super().__init__(files, options, skip_bad_rows=skip_bad_rows)
        self._labels = _label_file(self.files, options.labels)
        named = read_labels(InputFile(self._labels), options)
        headers = [read_header(file, options) for file in self.files]
        attributes = headers[0].attributes
        for file, header in zip(self.files, headers, strict=True):
            _check_same(attributes, header.attributes, file, self.files[0])
        self._data_lines = [header.data_line for header in headers]
        labels = [attribute.name for attribute in attributes if attribute.name in named]
        if missing := named.keys() - set(labels):
            raise ReadError(f"{self._labels}: label {min(missing)!r} is no attribute of {self.files[0].name}")
        self.tags = Names(label.removeprefix(options.tag_prefix) for label in labels)
        if len(self.tags) < len(labels):
            raise ReadError(f"{self._labels}: two labels are the same without the prefix {options.tag_prefix!r}")
        self.words = Names(a.name for a in attributes if a.name not in named)
        numbers = {label: number for number, label in enumerate(labels)}
        self._is_tag = np.array([a.name in named for a in attributes])
        self._is_binary = np.array([a.binary for a in attributes]) | self._is_tag
        self._column = np.array([numbers.get(a.name, self.words.find(a.name)) for a in attributes], np.int32)

    @property
    def inputs(self) -> list[Path]:
        return [*super().inputs, self._labels]

    def _parts(self) -> Iterator[Block]:
        for file, data_line in zip(self.files, self._data_lines, strict=True):
            for chunk in self._lines(file):
                rows = _after(chunk, data_line)
                if rows.data:
                    yield from self._read(file, rows)

    def _read(self, file: InputFile, chunk: Chunk) -> Iterator[Block]:
        n = len(self._column)
        expected = {
            NUMBER: "a finite number of single precision",
            PAIR: "pairs `attribute value` between commas",
            WORD: f"an attribute number from 0 to {n - 1}",
            TWICE: "every attribute once in a row",
            BINARY: "0 or 1",
            WIDTH: f"{n} values, one for every attribute",
            AFTER: "one closing brace at the end of the row",
        }
        rows = SparseRows(*arff_rows(np.frombuffer(chunk.data, np.uint8), self._column, self._is_tag, self._is_binary))
        rows.report(self._rejects, file, chunk, expected)
        rows.round_exactly(chunk.data)
        if len(rows.lines):
            yield rows.block(file, chunk.line, self._id_prefix(file), len(self.words or ()))


def _after(chunk: Chunk, line: int) -> Chunk:
    """The lines after the given one."""
    data = chunk.data
    if chunk.line > line:
        return chunk
    at = 0
    for _ in range(line - chunk.line + 1):
        at = data.find(b"\n", at) + 1
        if at == 0:
            return Chunk(b"", line + 1)
    return Chunk(data[at:], line + 1)


def _label_file(files: Sequence[InputFile], named: str | None) -> Path:
    folder = files[0].path.parent
    if named is not None:
        return folder / named
    base = files[0].stem
    for ending in ("-train", "-test", "_train", "_test"):
        base = base.removesuffix(ending)
    path = folder / f"{base}.xml"
    if not path.is_file():
        raise ReadError(
            f"{files[0].name}: no {path.name} beside it says which attributes are tags; name it by labels=..."
        )
    return path


def _check_same(expected: list[Attribute], found: list[Attribute], file: InputFile, first: InputFile) -> None:
    if len(found) != len(expected):
        raise ReadError(f"{file.name}: {len(found)} attributes, expected {len(expected)} as in {first.name}")
    for a, b in zip(expected, found, strict=True):
        if (a.name, a.binary) != (b.name, b.binary):
            raise ReadError(f"{file.name}, line {b.line}: attribute {b.name!r}, expected {a.name!r} as in {first.name}")
