"""CiteULike as collected for collaborative topic regression: papers as counted words, their tags, and who keeps them.

citeulike-t lists the papers of every tag (tag-item.dat), citeulike-a the tags of every paper (item-tag.dat).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tagcore.corpus import Block, Names
from tagcore.kernels.parsing.leading_number import number_then_ids, number_then_pairs
from tagcore.kernels.parsing.rules import NUMBER, PAIR, TAG, TWICE, WIDTH, WORD
from tagcore.ratings import Ratings
from tagcore.readers.bad_rows import BadRow, ReadError, RejectedRows
from tagcore.readers.companions import companion_file, read_names
from tagcore.readers.input_files import InputFile, ReadLimits, line_chunks, too_long
from tagcore.readers.source import Source
from tagcore.readers.sparse_rows import SparseRows, reject_bad_rows
from tagcore.store.schemas import RATINGS

_BAGS, _WORDS, _TAGS, _USERS = "mult.dat", "vocabulary.dat", "tags.dat", "users.dat"
_BY_TAG, _BY_PAPER = "tag-item.dat", "item-tag.dat"


class CiteULike(Source):
    """Papers of CiteULike; the id of each is its row, counted from 0.

    Links of tags and papers stay in memory, bags of words do not.
    """

    format = "citeulike"
    Options = ReadLimits

    def __init__(self, files: Sequence[InputFile], options: ReadLimits, *, skip_bad_rows: Path | None = None) -> None:
        super().__init__([companion_file(files[0], _BAGS)], options, skip_bad_rows=skip_bad_rows)
        self._links = companion_file(files[0], _BY_TAG, _BY_PAPER)
        word_file, tag_file = companion_file(files[0], _WORDS), companion_file(files[0], _TAGS)
        self.words, self.tags = read_names(word_file, options), read_names(tag_file, options)
        self._others = [word_file.path, tag_file.path, self._links.path]

    @property
    def inputs(self) -> list[Path]:
        return list(dict.fromkeys([*super().inputs, *self._others]))

    def _raw_blocks(self) -> Iterator[Block]:
        tags = self._read_tags()
        file, n_words = self.files[0], len(self.words or ())
        expected = {
            TAG: "a whole number first, how many words there are",
            WIDTH: "as many pairs word:count as this number says",
            PAIR: "a pair word:count",
            NUMBER: "a finite number as count",
            WORD: f"a word number from 0 to {n_words - 1}",
            TWICE: "every word once in a row",
        }
        for chunk in self._lines(file):
            rows = SparseRows(*number_then_pairs(np.frombuffer(chunk.data, np.uint8), n_words, 0, True))
            rows.report(self._rejected_rows, file, chunk, expected)
            rows.round_exactly(chunk.data)
            if len(rows.lines):
                here = tags[chunk.line - 1 + rows.lines]
                rows = rows._replace(tag_ptr=here.indptr, tags=here.indices)
                yield rows.block(file, chunk.line - 1, "", n_words)

    def _read_tags(self) -> sp.csr_matrix:
        """Reads the matrix of papers × tags."""
        n_papers = _count_lines(self.files[0], self.options)
        return _papers_by_tags(self._links, self.options, n_papers, len(self.tags))


def read_libraries(path: Path | str) -> Ratings:
    """Reads who keeps which papers (users.dat, or its folder), each with the value 1; users are named by row."""
    path = Path(path)
    limits = ReadLimits()
    file = companion_file(InputFile(path / _USERS if path.is_dir() else path), _USERS)
    n_users, n_papers = _count_lines(file, limits), _count_lines(companion_file(file, _BAGS), limits)
    kept = _read_lists(file, limits, n_users, n_papers, "paper")
    columns = [np.repeat(np.arange(n_users), np.diff(kept.indptr)), kept.indices, np.ones(kept.nnz), [None] * kept.nnz]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, RATINGS, strict=True)], schema=RATINGS)
    return Ratings(table, [str(i) for i in range(n_users)], [str(i) for i in range(n_papers)])


def read_paper_tags(path: Path | str) -> tuple[sp.csr_matrix, Names]:
    """Reads papers × tags as ones, of the folder that a file of the set stands in, and the names of the tags."""
    limits, beside = ReadLimits(), InputFile(Path(path))
    links, names = companion_file(beside, _BY_TAG, _BY_PAPER), read_names(companion_file(beside, _TAGS), limits)
    n_papers = _count_lines(companion_file(beside, _BAGS), limits)
    return _papers_by_tags(links, limits, n_papers, len(names)), names


def _papers_by_tags(links: InputFile, limits: ReadLimits, n_papers: int, n_tags: int) -> sp.csr_matrix:
    if links.stem == "tag-item":
        return _read_lists(links, limits, n_tags, n_papers, "paper").T.tocsr()
    return _read_lists(links, limits, n_papers, n_tags, "tag")


def _read_lists(file: InputFile, limits: ReadLimits, n_rows: int, n_columns: int, what: str) -> sp.csr_matrix:
    """Reads rows `n id id ...` as a matrix of ones; a bad one always raises, for without it links are lost."""
    expected = {
        TAG: f"a whole number first, how many {what}s there are",
        WIDTH: f"as many {what}s as this number says",
        WORD: f"a {what} number from 0 to {n_columns - 1}",
        TWICE: f"every {what} once in a row",
    }
    starts, parts = [np.zeros(1, np.int64)], []
    for chunk in line_chunks(file, limits):
        if chunk.too_long:
            raise BadRow(file.name, chunk.line, len(chunk.data), too_long(limits.row_bytes))
        _, ptr, ids, bad = number_then_ids(np.frombuffer(chunk.data, np.uint8), n_columns)
        reject_bad_rows(bad, RejectedRows(None), file, chunk, expected)
        starts.append(ptr[1:] + starts[-1][-1])
        parts.append(ids)
    indptr, indices = np.concatenate(starts), np.concatenate([np.empty(0, np.int32), *parts])
    if len(indptr) - 1 != n_rows:
        raise ReadError(f"{file.name}: {len(indptr) - 1} rows, expected {n_rows}: cut off?")
    matrix = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(n_rows, n_columns))
    matrix.sort_indices()
    return matrix


def _count_lines(file: InputFile, limits: ReadLimits) -> int:
    last = 0
    for chunk in line_chunks(file, limits):
        last = chunk.next_line - chunk.data.endswith(b"\n")
    return last
