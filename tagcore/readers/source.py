"""Source, which every reader is: documents block by block, with a count of what went by."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.corpus import Block, Corpus, Names
from tagcore.readers.bad_rows import ReadError, RejectedRows
from tagcore.readers.cards import Card
from tagcore.readers.input_files import Chunk, InputFile, ReadLimits, line_chunks, too_long

_PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))  # what a map is, to count its entries


@dataclass
class ReadCounts:
    """Numbers of documents that one pass gave."""

    documents: int = 0
    train: int = 0
    test: int = 0
    untagged: int = 0
    wordless: int = 0

    def add(self, block: Block) -> None:
        """Counts the documents of one more block."""
        n = block.documents.num_rows
        self.documents += n
        self.train += pc.sum(pc.equal(block.documents["split"], "train")).as_py() or 0
        self.test += pc.sum(pc.equal(block.documents["split"], "test")).as_py() or 0
        self.untagged += n - len(np.unique(block.taggings["document"].to_numpy()))
        if block.words is not None:
            self.wordless += int((np.diff(block.words.indptr) == 0).sum())
        else:
            empty = [pc.equal(pc.fill_null(block.documents[c], ""), "") for c in ("title", "text")]
            wordless = pc.and_(*empty).to_numpy()
            if block.fields is not None:  # which holds no empty field
                wordless &= pc.list_value_length(block.fields["fields"].cast(_PAIRS)).to_numpy() == 0
            self.wordless += int(wordless.sum())


class Source(ABC):
    """Documents of one or more files of one format.

    `tags`, `words`, `counts` and `rejected` are complete once the blocks are exhausted; formats with a header know
    their tags and words from the start. Blocks can be read again, with the same numbers for the same names.
    """

    format: ClassVar[str]
    Options: ClassVar[type[ReadLimits]]

    def __init__(self, files: Sequence[InputFile], options: Any, *, skip_bad_rows: Path | None = None) -> None:
        self.files = list(files)
        self.options = options
        self.tags = Names()
        self.words: Names | None = None
        self.card: Card | None = None
        self.counts = ReadCounts()
        self.remark = ""  # how the files were understood, where that was found out
        self._rejected_rows = RejectedRows(None)
        self._skip_bad_rows = skip_bad_rows

    @property
    def place(self) -> str:
        """Names the files for messages."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0].name}{more}"

    @property
    def rejected(self) -> int:
        """Number of rows that were left out."""
        return self._rejected_rows.count

    @property
    def rejected_lines(self) -> int:
        """Number of lines that these rows have."""
        return self._rejected_rows.lines

    @property
    def inputs(self) -> list[Path]:
        """Lists every file that the documents depend on."""
        return list(dict.fromkeys(file.path for file in self.files))

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        """Reads blocks of `rows` documents, the last one shorter; only about one of them is in memory."""
        if rows < 1:
            raise ValueError(f"blocks of {rows} rows, expected at least 1")
        self.counts = ReadCounts()
        with RejectedRows(self._skip_bad_rows) as self._rejected_rows:
            for block in reblock(self._raw_blocks(), rows):
                self.counts.add(block)
                yield block
            if not self.counts.documents:
                why = f": all {self.rejected} rows were rejected" if self.rejected else ""
                raise ReadError(f"{self.place}: no documents{why}")
            self._check()
            if self.card:
                counts = {**vars(self.counts), "tags": len(self.tags), "words": len(self.words or ())}
                self.card.compare(counts, self.rejected, self.place)

    @abstractmethod
    def _raw_blocks(self) -> Iterator[Block]:
        """Reads the documents of all files in blocks of any size."""

    def _check(self) -> None:  # noqa: B027
        """Raises where the documents that were read cannot be all that was meant; a hook that few formats need."""

    def _lines(self, file: InputFile) -> Iterator[Chunk]:
        """Reads whole lines of the file; a line beyond the limit is a bad row."""
        for chunk in line_chunks(file, self.options):
            if chunk.too_long:
                limit = too_long(self.options.row_bytes)
                self._rejected_rows.add(file.name, chunk.line, len(chunk.data), limit, chunk.data)
            else:
                yield chunk

    def _id_prefix(self, file: InputFile) -> str:
        """Returns what ids begin with: nothing for one file, the part of the split or the file's name for more."""
        if len(self.files) == 1:
            return ""
        one_each = len({f.split for f in self.files}) == len(self.files)
        return f"{file.split if one_each and file.split else file.stem}:"


def reblock(parts: Iterable[Block], rows: int) -> Iterator[Block]:
    """Regroups documents into blocks of `rows`; the last one may be shorter."""
    held: list[Block] = []
    n = 0
    for part in parts:
        held.append(part)
        n += part.documents.num_rows
        if n >= rows:
            *whole, last = _sliced(held, rows)
            yield from whole
            held, n = [last], last.documents.num_rows
            if n == rows:
                yield last
                held, n = [], 0
    if n:
        yield from _sliced(held, rows)


def _sliced(parts: list[Block], rows: int) -> Iterator[Block]:
    firsts = np.cumsum([0] + [p.documents.num_rows for p in parts])
    taggings = pa.concat_tables(
        p.taggings.set_column(0, p.taggings.schema.field(0), pc.add(p.taggings["document"], int(first)))
        for p, first in zip(parts, firsts, strict=False)
    )
    words = [p.words for p in parts if p.words is not None]
    fields = [p.fields for p in parts if p.fields is not None]
    together = Corpus(
        pa.concat_tables(p.documents for p in parts),
        taggings,
        [],
        sp.vstack(words, format="csr") if words else None,
        fields=pa.concat_tables(fields) if fields else None,
    )
    return together.blocks(rows)
