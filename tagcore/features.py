"""From a stored corpus to rows that models learn from: two passes, block by block, one row group in memory.

Pass 1 learns the vocabulary from the documents to learn from; pass 2 writes every document as one row of word
weights and tag counts, into `train` or `test`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.base import Progress, silent
from tagcore.corpus import csr_from_lists, lists_from_csr, names_table, tag_matrix
from tagcore.schemas import ROWS
from tagcore.split import Cuts, Split
from tagcore.store import Dataset, writing
from tagcore.text import Vectoriser

VECTORISER = "vectoriser"


class Piece(NamedTuple):
    """One row group of a corpus as the models will see it."""

    first: int
    texts: Any  # an arrow array of title and text, None where the source gave counted words
    bags: sp.csr_matrix | None  # those counted words
    tags: sp.csr_matrix
    held_out: np.ndarray
    used: np.ndarray  # False for documents that are left out of both sides


@dataclass(frozen=True)
class CorpusPieces:
    """A corpus read again and again, one row group at a time."""

    corpus: Dataset
    split: Split

    def __iter__(self) -> Iterator[Piece]:
        bags_of = self.corpus.blocks("bags") if self.corpus.has("bags") else None
        n_words, n_tags = self.corpus.counts.get("words", 0), self.corpus.counts["tags"]
        first = 0
        tables = zip(self.corpus.blocks("documents"), self.corpus.blocks("taggings"), strict=True)
        for documents, taggings in tables:
            n = documents.num_rows
            tags = tag_matrix(taggings, n, n_tags, first)
            bags = None
            if bags_of is not None:
                block = next(bags_of)
                bags = csr_from_lists(block["words"], block["values"], n_words)
            held_out, used = self._sides(documents, tags)
            texts = document_texts(documents) if bags is None else None
            yield Piece(first, texts, bags, self.split.shown(documents, tags, held_out), held_out, used)
            first += n

    def count(self) -> dict[str, int]:
        """Documents on each side and with a tag, without reading a text."""
        train = test = tagged = 0
        for block, tags in self._heads():
            held_out, used = self._sides(block, tags)
            train += int((~held_out & used).sum())
            test += int((held_out & used).sum())
            tagged += int((np.diff(tags.indptr) > 0).sum())
        return {"train": train, "test": test, "tagged": tagged}

    @cached_property
    def _cuts(self) -> Cuts:
        return self.split.cuts(lambda: (block.filter(pa.array(_used(block, tags))) for block, tags in self._heads()))

    def _heads(self) -> Iterator[tuple[pa.Table, sp.csr_matrix]]:
        """Ids, official sides and tags, without a text."""
        first = 0
        documents = self.corpus.blocks("documents", ["id", "split"])
        for block, taggings in zip(documents, self.corpus.blocks("taggings"), strict=True):
            yield block, tag_matrix(taggings, block.num_rows, self.corpus.counts["tags"], first)
            first += block.num_rows

    def _sides(self, documents: pa.Table, tags: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        left_out = self.split.left_out(documents, self._cuts)
        return self.split.held_out(documents, self._cuts), _used(documents, tags) & ~left_out


def _used(documents: pa.Table, tags: sp.csr_matrix) -> np.ndarray:
    # a published set is kept whole, also redrawn; elsewhere an untagged document is one that nobody has tagged yet
    return (np.diff(tags.indptr) > 0) | pc.is_valid(documents["split"]).to_numpy()


def document_texts(documents: pa.Table) -> pa.Array:
    """What a model reads of a document: its title, then its text."""
    title, text = (pc.fill_null(documents[c].combine_chunks(), "") for c in ("title", "text"))
    return pc.binary_join_element_wise(title, text, "\n")


def make_features(
    corpus: Dataset,
    folder: Path,
    vectoriser: Vectoriser,
    split: Split,
    *,
    progress: Progress | None = None,
    **manifest: Any,
) -> None:
    """Writes the features data set at `folder`; ValueError where nothing is left to learn from or to measure on."""
    progress = progress or silent
    total = 2 * corpus.counts["documents"]
    pieces = CorpusPieces(corpus, split)
    _require_both_sides(corpus, pieces)
    if corpus.has("bags"):
        vectoriser.fit_counts((_watched(p, progress, total).bags[_learnt(p)] for p in pieces), corpus.names("words"))
    else:
        vectoriser.fit_blocks(_watched(p, progress, total).texts.filter(_mask(p)) for p in pieces)
    with writing(folder, "features", **manifest) as writer:
        for piece in pieces:
            given = piece.bags is not None
            words = vectoriser.transform_counts(piece.bags) if given else vectoriser.transform(piece.texts)
            for side, wanted in (("train", ~piece.held_out), ("test", piece.held_out)):
                rows = np.flatnonzero(wanted & piece.used)
                writer.append(side, rows_table(piece.first + rows, words[rows], piece.tags[rows]))
            progress(total // 2 + piece.first + len(piece.used), total, {})
        writer.append("tags", names_table(corpus.names("tags")))
        (writer.folder / VECTORISER).mkdir()
        vectoriser.save(writer.folder / VECTORISER)


def rows_table(documents: np.ndarray, words: sp.csr_matrix, tags: sp.csr_matrix) -> pa.Table:
    columns = [pa.array(documents, pa.int64()), *lists_from_csr(words), *lists_from_csr(tags)]
    return pa.table(columns, schema=ROWS)


def load_rows(features: Dataset, side: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """All of one side as (X, Y)."""
    table = features.read(side, ["words", "values", "tags", "counts"])
    n_words = len(Vectoriser.load(features.folder / VECTORISER).idf_)
    X = csr_from_lists(table["words"], table["values"], n_words)
    return X, csr_from_lists(table["tags"], table["counts"], features.counts["tags"])


def tag_frequencies(features: Dataset, side: str) -> np.ndarray:
    """How many documents of one side carry each tag, without reading their words."""
    counts = np.zeros(features.counts["tags"], np.int64)
    for block in features.blocks(side, ["tags"]):
        counts += np.bincount(pc.list_flatten(block["tags"]).to_numpy(), minlength=counts.size)
    return counts


def _learnt(piece: Piece) -> np.ndarray:
    return np.flatnonzero(~piece.held_out & piece.used)


def _mask(piece: Piece) -> pa.Array:
    return pa.array(~piece.held_out & piece.used)


def _watched(piece: Piece, progress: Progress, total: int) -> Any:
    progress(piece.first + len(piece.used), total, {})
    return piece


def _require_both_sides(corpus: Dataset, pieces: CorpusPieces) -> None:
    n = corpus.counts["documents"]
    if not n:
        raise ValueError(f"{corpus.folder}: the corpus is empty")
    found = pieces.count()
    if not found["tagged"]:
        raise ValueError(f"{corpus.folder}: none of its {n} documents has a tag: there is nothing to learn")
    if corpus.counts["tags"] < 2:
        raise ValueError(f"{corpus.folder}: all documents share one tag: there is nothing to choose between")
    for side, doing in (("train", "learn from"), ("test", "measure on")):
        if not found[side]:
            raise ValueError(f"{corpus.folder}: no document is left to {doing}, of {n} ({found['tagged']} tagged)")
