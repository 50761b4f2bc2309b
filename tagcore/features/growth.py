"""What a night adds to features: words and tags behind those that are known, and rows behind those that stand.

Ids only append and idf is frozen, so that a model of the night before can go on. Rows that stand are copied, not made
again; a document whose text changed gets another row in its old place.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.corpus import Names, csr_from_lists, names_table, tag_columns, tag_matrix
from tagcore.features.build import VECTORISER, rows_table
from tagcore.features.corpus_reader import CorpusReader, RowGroup
from tagcore.features.split import Split
from tagcore.progress import Progress, no_progress
from tagcore.store.datasets import Dataset, write_dataset
from tagcore.text import Vectoriser
from tagcore.text.frequencies import Arrays
from tagcore.text.growing import append_terms

GROWTH, INHERITED = "growth.json", "inherited.json"


@dataclass(frozen=True)
class Growth:
    """How words and tags grew, since the night before and since idf was last learnt."""

    base_words: int  # known when idf was learnt
    new_words: int
    new_tags: int
    removed_tags: int  # which the corpus no longer names; their ids stay
    occurrences: float = 0.0  # of known words, in the new documents to learn from
    unknown: float = 0.0  # of these, of words that came after idf was learnt

    @classmethod
    def load(cls, folder: Path) -> "Growth":
        return cls(**json.loads((folder / GROWTH).read_text(encoding="utf-8")))

    @property
    def unknown_share(self) -> float:
        """Of the words of new documents, those that came after idf was learnt."""
        return self.unknown / self.occurrences if self.occurrences else 0.0


def write_growth(
    corpus: Dataset, folder: Path, before: Dataset, ledger: Dataset, split: Split, base_words: int, **manifest: Any
) -> None:
    """Writes the grown vectoriser and tags; `before` are the features that grow, `ledger` tells what is new.

    ColumnsMoved where a source of counted words has them in other columns than before.
    """
    vectoriser = Vectoriser.load(before.folder / VECTORISER)
    reader = CorpusReader(corpus, split, fields=vectoriser.field_names).with_cuts()
    names = corpus.names("words") if reader.counted else None
    used, held_out, new = _marks(ledger, "used", "held_out", "new")
    grown, words = append_terms(vectoriser, _counted(reader, vectoriser, new & ~held_out), names, base_words)
    known = Names(before.names("tags"))
    tags, removed = _grown_tags(corpus, known, used & ~held_out, split.min_tag_df)
    growth = Growth(base_words, words.appended, len(tags) - len(known), removed, words.occurrences, words.unknown)
    with write_dataset(folder, "growth", **manifest) as writer:
        writer.append("tags", names_table(tags))
        (writer.folder / VECTORISER).mkdir()
        grown.save(writer.folder / VECTORISER)
        (writer.folder / GROWTH).write_text(json.dumps(asdict(growth)), encoding="utf-8")


def extend_features(
    corpus: Dataset,
    folder: Path,
    before: Dataset,
    ledger: Dataset,
    growth: Dataset,
    split: Split,
    *,
    as_it_was: bool = False,
    progress: Progress | None = None,
    **manifest: Any,
) -> None:
    """Writes tonight's features: the rows of `before` first, in their order, then those of new documents.

    `inherited_rows` tells how many rows of a side stood before. Where the corpus stands `as_it_was`, with new documents
    behind, their files are linked; else every row is looked at.
    """
    progress, n = progress or no_progress, corpus.counts["documents"]
    vectoriser, names = Vectoriser.load(growth.folder / VECTORISER), growth.names("tags")
    reader = CorpusReader(corpus, split, fields=vectoriser.field_names).with_cuts()
    columns = tag_columns(corpus.names("tags"), Names(names))
    tags = None if as_it_was else _tags_of_documents(corpus, columns)
    used, held_out, changed, last = _marks(ledger, "used", "held_out", "changed", "before")
    now = _numbers_now(last)
    remade, at = _remade_rows(reader, vectoriser, changed)
    done = np.zeros(n, bool)
    inherited = {}
    with write_dataset(folder, "features", **manifest) as writer:
        for side, here in (("train", used & ~held_out), ("test", used & held_out)):
            inherited[side] = 0
            if tags is None:
                writer.link(side, before)
                inherited[side] = before.counts[side]
                done[now[before.read(side, ["document"])["document"].to_numpy()]] = True
                continue
            for block in before.blocks(side):
                numbers = block["document"].to_numpy()
                numbers = np.where(numbers < now.size, now[np.minimum(numbers, now.size - 1)], -1)
                stays = np.flatnonzero((numbers >= 0) & here[numbers])
                numbers = numbers[stays]
                words = csr_from_lists(block["words"], block["values"], len(vectoriser.idf_))[stays]
                words = _with_rows(words, remade, at[numbers])
                writer.append(side, rows_table(numbers, words, tags[numbers]))
                done[numbers] = True
                inherited[side] += numbers.size
                progress(int(done.sum()), n, {})
        for group, rows in _wanted(reader, used & ~done):
            words, tags_of_rows = _words(vectoriser, group, rows), _moved(group.tags[rows], columns)
            for side, held in (("train", False), ("test", True)):
                here = np.flatnonzero(group.held_out[rows] == held)
                if here.size:
                    writer.append(side, rows_table(group.first + rows[here], words[here], tags_of_rows[here]))
            progress(group.first + len(group.used), n, {})
        writer.append("tags", names_table(names))
        (writer.folder / VECTORISER).mkdir()
        vectoriser.save(writer.folder / VECTORISER)
        (writer.folder / INHERITED).write_text(json.dumps(inherited), encoding="utf-8")


def inherited_rows(features: Dataset, side: str) -> int:
    """How many rows of a side the features before had; 0 where these were made from nothing."""
    path = features.folder / INHERITED
    return int(json.loads(path.read_text(encoding="utf-8"))[side]) if path.is_file() else 0


def _marks(ledger: Dataset, *columns: str) -> list[np.ndarray]:
    table = ledger.read("documents", list(columns))
    return [table[column].to_numpy() for column in columns]


def _numbers_now(before: np.ndarray) -> np.ndarray:
    """Tonight's number of every document of the night before, -1 where it is gone."""
    now = np.full(int(before.max(initial=-1)) + 2, -1)
    now[before[before >= 0]] = np.flatnonzero(before >= 0)
    return now


def _grown_tags(corpus: Dataset, known: Names, to_learn: np.ndarray, least: int) -> tuple[list[str], int]:
    """(tags with the new ones behind, how many of the known ones the corpus no longer names)."""
    names = corpus.names("tags")
    enough = np.ones(len(names), bool)
    if least > 1:  # else all are taken, as in features made from nothing
        tags = tag_matrix(corpus.read("taggings", ["document", "tag", "count"]), to_learn.size, len(names))
        enough = np.bincount(tags[np.flatnonzero(to_learn)].indices, minlength=len(names)) >= least
    grown = [*known, *(n for n, has in zip(names, enough, strict=True) if has and known.find(n) is None)]
    there = set(names)
    return grown, sum(name not in there for name in known)


def _tags_of_documents(corpus: Dataset, columns: sp.csr_matrix) -> sp.csr_matrix:
    """Tonight's tags of all documents, in the columns of the features."""
    taggings = corpus.read("taggings", ["document", "tag", "count"])
    return _moved(tag_matrix(taggings, corpus.counts["documents"], corpus.counts["tags"]), columns)


def _moved(tags: sp.csr_matrix, columns: sp.csr_matrix) -> sp.csr_matrix:
    """Tags of the corpus in the columns of the features."""
    moved = sp.csr_matrix(tags @ columns)
    moved.sort_indices()
    return moved


def _counted(reader: CorpusReader, vectoriser: Vectoriser, wanted: np.ndarray) -> Iterator[Arrays]:
    """Counts the terms of the wanted documents, row group by row group."""
    for group, rows in _wanted(reader, wanted):
        if group.bags is not None:
            yield vectoriser.count_bags(group.bags, group.bags.shape[1], rows, group.first)
        else:
            yield vectoriser.count_terms([group.texts.take(rows)])


def _words(vectoriser: Vectoriser, group: RowGroup, rows: np.ndarray) -> sp.csr_matrix:
    if group.bags is not None:
        return vectoriser.transform_counts(group.bags[rows])
    return vectoriser.transform(group.texts.take(rows))


def _wanted(reader: CorpusReader, wanted: np.ndarray) -> Iterator[tuple[RowGroup, np.ndarray]]:
    """Row groups with wanted documents, and which of their rows these are; no other row group is read."""
    first = 0
    for number, size in enumerate(reader.group_sizes()):
        rows = np.flatnonzero(wanted[first : first + size])
        first += size
        if rows.size:
            (group,) = replace(reader, groups=range(number, number + 1))
            yield group, rows


def _remade_rows(reader: CorpusReader, vectoriser: Vectoriser, changed: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
    """(rows of documents whose text changed, where each document has its own among them, -1 elsewhere)."""
    blocks = [_words(vectoriser, group, rows) for group, rows in _wanted(reader, changed)]
    at = np.where(changed, np.cumsum(changed) - 1, -1)
    width = len(vectoriser.idf_)
    return sp.vstack(blocks, "csr") if blocks else sp.csr_matrix((0, width), dtype=np.float32), at


def _with_rows(rows: sp.csr_matrix, others: sp.csr_matrix, at: np.ndarray) -> sp.csr_matrix:
    """The rows, with those replaced that have a place among the others."""
    if (at < 0).all():
        return rows
    both = sp.vstack([rows, others], "csr")
    return both[np.where(at < 0, np.arange(rows.shape[0]), rows.shape[0] + at)]
