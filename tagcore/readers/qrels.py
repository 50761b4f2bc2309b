"""Relevance judgements as TREC writes them, `TOPIC document 1`: documents that have tags and no words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.corpus import Block, documents_table, taggings_table
from tagcore.kernels.parsing.qrels import qrels_lines
from tagcore.kernels.parsing.rules import AFTER, BINARY, NUMBER, TAG
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.ids import DocumentNumbers
from tagcore.readers.input_files import Chunk, InputFile, ReadLimits
from tagcore.readers.lengths import LONGEST
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import dictionary_encode, reject_bad_rows

_EXPECTED = {
    TAG: f"a topic of at most {LONGEST['tag']:,} characters of printable ASCII, then a blank",
    NUMBER: "the number of a document, then a blank",
    BINARY: "1 for relevant",
    AFTER: "the end of the line: a topic, a document and 1",
}
_SHORTEST = len("A 1 1\n")


@dataclass(frozen=True, kw_only=True)
class QrelsOptions(ReadLimits):
    """`last_train`: documents up to this number are the train part of the official split, those after it the test."""

    last_train: int | None = None


class JudgedDocuments(NamedTuple):
    """Documents with all of their topics: CSR without values."""

    documents: np.ndarray
    starts: np.ndarray
    topics: np.ndarray


class _Judgements(NamedTuple):
    """Single judgements with their lines in the file."""

    lines: np.ndarray
    documents: np.ndarray
    topics: np.ndarray

    def cut(self, at: slice | np.ndarray) -> "_Judgements":
        return _Judgements(self.lines[at], self.documents[at], self.topics[at])

    def runs(self) -> np.ndarray:
        """Finds where the lines of each document begin."""
        return np.flatnonzero(np.diff(self.documents, prepend=-1))


class Qrels(Source):
    """Documents of TREC's judgements: the lines of one stand together, documents come in any order."""

    format = "qrels"
    Options = QrelsOptions

    def _raw_blocks(self) -> Iterator[Block]:
        for file, part in self.judged():
            sizes = np.diff(part.starts)
            split = official_split(part.documents, self.options.last_train, file)
            yield Block(
                documents_table(id=pc.cast(pa.array(part.documents), pa.string()), split=split),
                taggings_table(np.repeat(np.arange(len(sizes)), sizes), part.topics),
            )

    def judged(self) -> Iterator[tuple[InputFile, JudgedDocuments]]:
        """Reads whole documents, those of about one chunk of the file at a time."""
        seen = DocumentNumbers()
        for file in self.files:
            held = _Judgements(*np.empty((3, 0), np.int64))
            for chunk in self._lines(file):
                read = self._read(file, chunk)
                known = _Judgements(*(np.concatenate(pair) for pair in zip(held, read, strict=True)))
                last = int(known.runs()[-1]) if len(known.lines) else 0  # this document may go on in the next chunk
                held = known.cut(slice(last, None))
                self._check_size(file, held)
                yield from self._whole_documents(file, known.cut(slice(last)), seen)
            yield from self._whole_documents(file, held, seen)

    def _read(self, file: InputFile, chunk: Chunk) -> _Judgements:
        data = np.frombuffer(chunk.data, np.uint8)
        lines, documents, starts, stops, bad = qrels_lines(data, LONGEST["tag"])
        reject_bad_rows(bad, self._rejected_rows, file, chunk, _EXPECTED)
        topics, names = dictionary_encode(data, starts, stops)
        numbers = np.array([self.tags.id(name.decode()) for name in names], np.int64)
        return _Judgements(lines + chunk.line, documents, numbers[topics])

    def _whole_documents(
        self, file: InputFile, judgements: _Judgements, seen: DocumentNumbers
    ) -> Iterator[tuple[InputFile, JudgedDocuments]]:
        runs = judgements.runs()
        sizes = np.diff(runs, append=len(judgements.lines))
        again = np.repeat(seen.seen_before(judgements.documents[runs]), sizes)
        self._reject(file, judgements.cut(again), "the lines of a document together; lines before have the same")
        key = np.repeat(np.arange(len(runs)), sizes) * len(self.tags) + judgements.topics
        twice = ~again
        twice[np.unique(key, return_index=True)[1]] = False
        self._reject(file, judgements.cut(twice), "every topic of a document once")
        judgements = judgements.cut(~again & ~twice)
        if len(judgements.lines):
            runs = judgements.runs()
            yield (
                file,
                JudgedDocuments(judgements.documents[runs], np.append(runs, len(judgements.lines)), judgements.topics),
            )

    def _reject(self, file: InputFile, bad: _Judgements, expected: str) -> None:
        names = list(self.tags) if len(bad.lines) else []
        for line, document, topic in zip(*bad, strict=True):
            row = f"{names[topic]} {document} 1"
            self._rejected_rows.add(file.name, int(line), row, expected, row.encode())

    def _check_size(self, file: InputFile, held: _Judgements) -> None:
        """Raises where the lines of one document would fill the memory."""
        if len(held.lines) * _SHORTEST > self.options.row_bytes:
            limit = f"at most {self.options.row_bytes} bytes of lines for a document (the limit row_bytes)"
            raise BadRow(file.name, int(held.lines[0]), int(held.documents[0]), limit)


def read_qrels(path: Path | str) -> tuple[np.ndarray, sp.csr_matrix, list[str]]:
    """Reads (numbers of the documents, documents × topics, names of the topics), in the order of the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = Path(folder, "topics.qrels").write_text("E11 7 1\\nECAT 7 1\\nECAT 9 1\\n")
    ...     documents, topics, names = read_qrels(Path(folder, "topics.qrels"))
    >>> documents.tolist(), topics.toarray().tolist(), names
    ([7, 9], [[1.0, 1.0], [0.0, 1.0]], ['E11', 'ECAT'])
    """
    return read_judgements(InputFile(Path(path)), ReadLimits())


def read_judgements(file: InputFile, limits: ReadLimits) -> tuple[np.ndarray, sp.csr_matrix, list[str]]:
    """Reads what `read_qrels` does, within the limits of another reader."""
    bounds = {f.name: getattr(limits, f.name) for f in fields(ReadLimits)}
    source = Qrels([file], QrelsOptions(**bounds))
    parts = [part for _, part in source.judged()]
    if not parts:
        raise ReadError(f"{file.name}: no documents")
    indices = np.concatenate([part.topics for part in parts]).astype(np.int32)
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    shape = (len(sizes), len(source.tags))
    ones = np.ones(len(indices), np.float32)
    topics = sp.csr_matrix((ones, indices, np.append(0, np.cumsum(sizes))), shape=shape)
    topics.sort_indices()
    return np.concatenate([part.documents for part in parts]), topics, list(source.tags)


def official_split(documents: np.ndarray, last_train: int | None, file: InputFile) -> Sequence[str | None] | pa.Array:
    """Returns the part of each document: by its number where the split is by number, else that of the file."""
    if last_train is None:
        return [file.split] * len(documents)
    return pc.if_else(pc.less_equal(pa.array(documents), last_train), "train", "test")
