"""Extreme Classification text: `rows words tags` on the first line, then one document a line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagcore.corpus import Block, Names
from tagcore.kernels.parsing.characters import NEWLINE
from tagcore.kernels.parsing.rules import NUMBER, PAIR, TAG, TWICE, WORD
from tagcore.kernels.parsing.xc import xc_rows
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.companions import read_names
from tagcore.readers.input_files import Chunk, InputFile, ReadLimits, first_bytes
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import BORNE_OUT, FREE_COLUMNS, MOST_COLUMNS, SparseRows

HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?(?:\n|$)")
_WORD_NAMES, _TAG_NAMES = ("words.txt", "Xf.txt"), ("tags.txt", "Yf.txt")


@dataclass(frozen=True, kw_only=True)
class XCOptions(ReadLimits):
    """Files of names, one a line, beside the data; by default words.txt or Xf.txt, tags.txt or Yf.txt if there."""

    word_names: str | None = None
    tag_names: str | None = None


class ExtremeClassification(Source):
    """Documents of Extreme Classification text; words are w0, w1, ... and tags 0, 1, ... unless files name them.

    Names are known from the start, except those of a head so large that its rows must bear it out first.
    """

    format = "xc"
    Options = XCOptions

    def __init__(self, files: Sequence[InputFile], options: XCOptions, *, skip_bad_rows: Path | None = None) -> None:
        super().__init__(files, options, skip_bad_rows=skip_bad_rows)
        headers = [_header(file, options) for file in self.files]
        for file, header in zip(self.files, headers, strict=True):
            if header[1:] != headers[0][1:]:
                raise ReadError(
                    f"{file.name}, line 1: {header[1]} words and {header[2]} tags, "
                    f"expected {headers[0][1]} and {headers[0][2]} as in {self.files[0].name}"
                )
        self._rows = [header[0] for header in headers]
        folder = self.files[0].path.parent
        self._word_file = _companion(folder, options.word_names, _WORD_NAMES)
        self._tag_file = _companion(folder, options.tag_names, _TAG_NAMES)
        _, n_words, n_tags = headers[0]
        self._n_words, self._n_tags = n_words, n_tags
        self._unproven: dict[str, np.ndarray] = {}  # words or tags -> those that a row has
        self.words, self.tags = Names(), Names()
        if self._word_file or n_words <= FREE_COLUMNS:
            self.words = _names(self._word_file, n_words, "w", options)
        else:
            self._unproven["words"] = np.zeros(n_words, bool)
        if self._tag_file or n_tags <= FREE_COLUMNS:
            self.tags = _names(self._tag_file, n_tags, "", options)
        else:
            self._unproven["tags"] = np.zeros(n_tags, bool)

    @property
    def inputs(self) -> list[Path]:
        return super().inputs + [path for path in (self._word_file, self._tag_file) if path]

    def _raw_blocks(self) -> Iterator[Block]:
        for file, rows in zip(self.files, self._rows, strict=True):
            yield from self._read(file, rows)

    def _read(self, file: InputFile, n_rows: int) -> Iterator[Block]:
        n_words, n_tags = self._n_words, self._n_tags
        expected = {
            TAG: f"tag numbers from 0 to {n_tags - 1} between commas, or a blank where there are none",
            PAIR: "a pair word:value",
            WORD: f"a word number from 0 to {n_words - 1}",
            TWICE: "every word and every tag once in a row",
            NUMBER: "a finite number of single precision as value",
        }
        good, before = 0, self._rejected_rows.count
        for chunk in self._lines(file):
            chunk, rest = _cut(_without_header(chunk), n_rows + 1)
            self._refuse(file, rest, n_rows)
            if not chunk.data:
                continue
            rows = SparseRows(*xc_rows(np.frombuffer(chunk.data, np.uint8), n_words, n_tags))
            rows.report(self._rejected_rows, file, chunk, expected)
            rows.round_exactly(chunk.data)
            for what, seen in self._unproven.items():
                seen[rows.words if what == "words" else rows.tags] = True
            good += len(rows.lines)
            if len(rows.lines):
                yield rows.block(file, chunk.line, self._id_prefix(file), n_words)
        rejected = self._rejected_rows.count - before
        if good + rejected < n_rows:
            raise ReadError(f"{file.name}: {good + rejected} rows, expected {n_rows} as its first line says: cut off?")

    def _check(self) -> None:
        """Makes the names of a large head once the rows have borne it out."""
        for what, seen in self._unproven.items():
            found = int(seen.sum())
            if found * BORNE_OUT < seen.size:
                least = -(-seen.size // BORNE_OUT)
                raise ReadError(
                    f"{self.place}, line 1: {seen.size} {what}, but the rows have {found} of them, expected at least "
                    f"{least} where a head names more than {FREE_COLUMNS}"
                )
        if "words" in self._unproven:
            self.words = _names(None, self._n_words, "w", self.options)
        if "tags" in self._unproven:
            self.tags = _names(None, self._n_tags, "", self.options)

    def _refuse(self, file: InputFile, rest: Chunk, n_rows: int) -> None:
        """Rejects rows after the last one that the header speaks of; blank lines are none."""
        for line, raw in enumerate(rest.data.split(b"\n"), rest.line):
            if raw.strip():
                text = raw[:200].decode(errors="replace")
                self._rejected_rows.add(
                    file.name, line, text, f"no more than {n_rows} rows as its first line says", raw
                )


def _header(file: InputFile, limits: ReadLimits) -> tuple[int, int, int]:
    head = first_bytes(file, limits)
    if not head:
        raise ReadError(f"{file.name}: no documents: the file is empty")
    match = HEADER.match(head)
    if not match:
        line = head.partition(b"\n")[0].decode(errors="replace")
        raise BadRow(file.name, 1, line, "three whole numbers: rows, words, tags")
    rows, words, tags = map(int, match.groups())
    for what, n in (("words", words), ("tags", tags)):
        if not 1 <= n <= MOST_COLUMNS:
            raise BadRow(file.name, 1, n, f"from 1 to {MOST_COLUMNS} {what}")
    return rows, words, tags


def _without_header(chunk: Chunk) -> Chunk:
    return Chunk(chunk.data.partition(b"\n")[2], 2) if chunk.line == 1 else chunk


def _cut(chunk: Chunk, last: int) -> tuple[Chunk, Chunk]:
    """Cuts the lines into those up to the line `last` and those after it."""
    if chunk.next_line <= last:
        return chunk, Chunk(b"", last + 1)
    room = max(0, last - chunk.line + 1)
    ends = np.flatnonzero(np.frombuffer(chunk.data, np.uint8) == NEWLINE)
    at = 0 if room == 0 else int(ends[room - 1]) + 1
    return Chunk(chunk.data[:at], chunk.line), Chunk(chunk.data[at:], chunk.line + room)


def _companion(folder: Path, named: str | None, usual: Sequence[str]) -> Path | None:
    if named is not None:
        return folder / named
    return next((folder / name for name in usual if (folder / name).is_file()), None)


def _names(path: Path | None, n: int, prefix: str, limits: ReadLimits) -> Names:
    if path is None:
        return Names(f"{prefix}{i}" for i in range(n))
    return read_names(InputFile(path), limits, n)
