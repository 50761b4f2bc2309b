"""Multi-label ARFF, sparse or dense: an XML file (Mulan) or the relation's name (MEKA) says what the tags are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagcore.corpus import Block, Names
from tagcore.kernels.parsing.arff import arff_rows
from tagcore.kernels.parsing.rules import AFTER, BINARY, NUMBER, PAIR, TWICE, WIDTH, WORD
from tagcore.readers.arff.header import Header, read_header
from tagcore.readers.arff.labels import read_labels
from tagcore.readers.bad_rows import ReadError, shorten
from tagcore.readers.input_files import Chunk, InputFile, ReadLimits
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import FirstRows, SparseRows


@dataclass(frozen=True, kw_only=True)
class ArffOptions(ReadLimits):
    """`labels`: the XML file beside the data, by default NAME.xml for NAME.arff, NAME-train.arff and NAME-test.arff.

    Without one, the relation must be named as in MEKA: with `-C 22` its first 22 attributes are tags, with `-C -22` its
    last; with `-split-number 1000` the first 1000 rows are for training. `tag_prefix` is taken off the names of tags.
    """

    labels: str | None = None
    tag_prefix: str = ""


class Arff(Source):
    """Documents of ARFF files: attributes are numeric or {0,1}; what a sparse row leaves out is 0."""

    format = "arff"
    Options = ArffOptions

    def __init__(self, files: Sequence[InputFile], options: ArffOptions, *, skip_bad_rows: Path | None = None) -> None:
        super().__init__(files, options, skip_bad_rows=skip_bad_rows)
        self._labels = _label_file(self.files, options.labels)
        headers = self._headers = [read_header(file, options) for file in self.files]
        attributes = headers[0].attributes
        for file, header in zip(self.files, headers, strict=True):
            _check_same(headers[0], header, file, self.files[0])
        if self._labels is not None:
            named = set(read_labels(InputFile(self._labels), options))
        else:
            named = _labels_by_number(self.files[0], headers[0])
        place = self._labels or self.files[0].name
        labels = [attribute.name for attribute in attributes if attribute.name in named]
        if missing := named - set(labels):
            raise ReadError(f"{place}: label {shorten(min(missing))} is no attribute of {self.files[0].name}")
        self.tags = Names(label.removeprefix(options.tag_prefix) for label in labels)
        if len(self.tags) < len(labels):
            raise ReadError(f"{place}: two labels are the same without the prefix {options.tag_prefix!r}")
        self.words = Names(a.name for a in attributes if a.name not in named)
        numbers = {label: number for number, label in enumerate(labels)}
        self._is_tag = np.array([a.name in named for a in attributes])
        self._is_binary = np.array([a.binary for a in attributes]) | self._is_tag
        self._column = np.array([numbers.get(a.name, self.words.find(a.name)) for a in attributes], np.int32)

    @property
    def inputs(self) -> list[Path]:
        return [*super().inputs, *([self._labels] if self._labels else [])]

    def _raw_blocks(self) -> Iterator[Block]:
        for file, header in zip(self.files, self._headers, strict=True):
            meka = self._labels is None and file.split is None and header.n_train is not None
            first_rows = FirstRows(header.n_train or 0, self._rejected_rows) if meka else None
            for chunk in self._lines(file):
                rows = after_line(chunk, header.data_line)
                if rows.data:
                    yield from self._read(file, rows, first_rows)
            if first_rows:
                first_rows.check(file, "-split-number")

    def _read(self, file: InputFile, chunk: Chunk, first_rows: FirstRows | None) -> Iterator[Block]:
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
        splits = first_rows.train_mask(rows) if first_rows else None
        rows.report(self._rejected_rows, file, chunk, expected)
        rows.round_exactly(chunk.data)
        if len(rows.lines):
            yield rows.block(file, chunk.line, self._id_prefix(file), len(self.words or ()), splits)


def after_line(chunk: Chunk, line: int) -> Chunk:
    """Keeps the lines after the given one."""
    data = chunk.data
    if chunk.line > line:
        return chunk
    at = 0
    for _ in range(line - chunk.line + 1):
        at = data.find(b"\n", at) + 1
        if at == 0:
            return Chunk(b"", line + 1)
    return Chunk(data[at:], line + 1)


def _label_file(files: Sequence[InputFile], named: str | None) -> Path | None:
    folder = files[0].path.parent
    if named is not None:
        return folder / named
    base = files[0].stem
    for ending in ("-train", "-test", "_train", "_test"):
        base = base.removesuffix(ending)
    path = folder / f"{base}.xml"
    return path if path.is_file() else None


def _labels_by_number(file: InputFile, header: Header) -> set[str]:
    """Names the tags: the first `-C` attributes, or where it is negative the last."""
    n = header.n_labels
    if n is None:
        raise ReadError(
            f"{file.name}: no XML file of its name beside it and no -C in the name of its relation to say which "
            "attributes are tags; name the XML file by labels=..."
        )
    if not 0 < abs(n) < len(header.attributes):
        most = len(header.attributes) - 1
        raise ReadError(f"{file.name}: -C {n} in the name of its relation, expected from 1 to {most}, or the negative")
    labels = header.attributes[:n] if n > 0 else header.attributes[n:]
    return {attribute.name for attribute in labels}


def _check_same(expected: Header, header: Header, file: InputFile, first: InputFile) -> None:
    n = len(expected.attributes)
    if len(header.attributes) != n:
        raise ReadError(f"{file.name}: {len(header.attributes)} attributes, expected {n} as in {first.name}")
    for a, b in zip(expected.attributes, header.attributes, strict=True):
        if (a.name, a.binary) != (b.name, b.binary):
            expected_name = f"expected {shorten(a.name)} as in {first.name}"
            raise ReadError(f"{file.name}, line {b.line}: attribute {shorten(b.name)}, {expected_name}")
