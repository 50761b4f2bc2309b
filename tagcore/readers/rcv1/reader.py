"""RCV1-v2 as distributed with LYRL2004: rows `document  term:weight ...`, their topics in a file of qrels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.corpus import Block, Names, documents_table, taggings_table
from tagcore.kernels.parsing.leading_number import number_then_pairs
from tagcore.kernels.parsing.rules import NUMBER, PAIR, TAG, TWICE, WORD
from tagcore.readers.bad_rows import ReadError
from tagcore.readers.companions import companion_file
from tagcore.readers.ids import DocumentNumbers
from tagcore.readers.input_files import Chunk, InputFile
from tagcore.readers.qrels import QrelsOptions, official_split, read_judgements
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import MOST_COLUMNS, SparseRows


@dataclass(frozen=True, kw_only=True)
class Rcv1Options(QrelsOptions):
    """`qrels`: the file beside the vectors that gives the tags. `terms`: how many there are, numbered from 1."""

    qrels: str = "rcv1-v2.topics.qrels"
    terms: int = 47236

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.terms, int) or not 1 <= self.terms <= MOST_COLUMNS:
            raise ValueError(f"terms is {self.terms!r}, expected a whole number from 1 to {MOST_COLUMNS}")


class Rcv1(Source):
    """Documents of RCV1: words are called w1, w2, ... after their terms; one without judgements has no tags."""

    format = "rcv1"
    Options = Rcv1Options

    def __init__(self, files: Sequence[InputFile], options: Rcv1Options, *, skip_bad_rows: Path | None = None) -> None:
        super().__init__(files, options, skip_bad_rows=skip_bad_rows)
        self._qrels = companion_file(self.files[0], options.qrels.removesuffix(".gz"))
        self.words = Names(f"w{term}" for term in range(1, options.terms + 1))

    @property
    def inputs(self) -> list[Path]:
        return list(dict.fromkeys([*super().inputs, self._qrels.path]))

    def _raw_blocks(self) -> Iterator[Block]:
        documents, topics, names = read_judgements(self._qrels, self.options)
        for name in names:
            self.tags.id(name)
        judged, seen = _TopicsByDocument(documents, topics), DocumentNumbers()
        for file in self.files:
            for chunk in self._lines(file):
                documents, words = self._read(file, chunk, seen)
                if len(documents):
                    yield self._block(file, documents, words, judged.topics_of(documents))

    def _check(self) -> None:
        if self.counts.untagged == self.counts.documents:
            raise ReadError(f"{self.place}: none of its documents is in {self._qrels.name}")

    def _read(self, file: InputFile, chunk: Chunk, seen: DocumentNumbers) -> tuple[np.ndarray, sp.csr_matrix]:
        """Reads (numbers of the documents, documents × words)."""
        expected = {
            TAG: "the number of a document first, then a blank",
            PAIR: "a pair term:weight",
            WORD: f"a term number from 1 to {self.options.terms}",
            TWICE: "every term once in a row",
            NUMBER: "a finite number of single precision as weight",
        }
        rows = SparseRows(*number_then_pairs(np.frombuffer(chunk.data, np.uint8), self.options.terms, 1, False))
        rows.report(self._rejected_rows, file, chunk, expected)
        rows.round_exactly(chunk.data)
        documents = rows.tags
        words = sp.csr_matrix((rows.values, rows.words, rows.word_ptr), shape=(len(documents), self.options.terms))
        words.sort_indices()
        again = seen.seen_before(documents)
        for row in np.flatnonzero(again):
            line, document = int(chunk.line + rows.lines[row]), int(documents[row])
            self._rejected_rows.add(file.name, line, document, "every document once", b"%d" % document)
        return (documents[~again], words[~again]) if again.any() else (documents, words)

    def _block(self, file: InputFile, documents: np.ndarray, words: sp.csr_matrix, topics: sp.csr_matrix) -> Block:
        ids = pc.cast(pa.array(documents), pa.string())
        return Block(
            documents_table(id=ids, split=official_split(documents, self.options.last_train, file)),
            taggings_table(np.repeat(np.arange(len(documents)), np.diff(topics.indptr)), topics.indices),
            words,
        )


class _TopicsByDocument:
    """Topics of documents, asked for by their numbers."""

    def __init__(self, documents: np.ndarray, topics: sp.csr_matrix) -> None:
        order = np.argsort(documents)
        self._documents = documents[order]
        # one more row, without topics, for documents that are not there
        self._rows = np.append(order, len(order))
        self._topics = sp.vstack([topics, sp.csr_matrix((1, topics.shape[1]), dtype=topics.dtype)], format="csr")

    def topics_of(self, documents: np.ndarray) -> sp.csr_matrix:
        at = np.searchsorted(self._documents, documents)
        there = at < len(self._documents)
        there[there] = self._documents[at[there]] == documents[there]
        return self._topics[self._rows[np.where(there, at, -1)]]
