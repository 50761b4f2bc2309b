"""The ledger of a corpus that grows from night to night: which documents are new, changed, or held out, and since when.

It has one row for every document, in the order of the corpus, and is made from the ledger of the night before, so that
nothing else of that night need be kept to tell what is new.
"""

import itertools
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.features.corpus_reader import CorpusReader, RowGroup
from tagcore.features.split import Split, string_hashes, text_hashes
from tagcore.kernels.random.splitmix import GOLDEN, mix
from tagcore.store.datasets import Dataset, write_dataset
from tagcore.store.schemas import LEDGER
from tagcore.text.document_fields import USUAL

CHANGES = "changes.json"


@dataclass(frozen=True)
class Changes:
    """What a night brought: numbers of documents that take part in learning or measuring."""

    documents: int
    new: int = 0
    new_held_out: int = 0
    changed: int = 0  # another text
    retagged: int = 0  # the same text with other tags
    gone: int = 0  # which the night before had
    swapped: int = 0  # held out last night and learnt from now, or the other way round

    @classmethod
    def load(cls, ledger: Path) -> "Changes":
        return cls(**json.loads((ledger / CHANGES).read_text(encoding="utf-8")))

    def told(self) -> str:
        """The numbers that are not 0, in one line."""
        parts = [f"{self.documents:,} documents"]
        if self.new:
            parts.append(f"{self.new:,} new ({self.new_held_out:,} held out)")
        parts += [f"{n:,} {name}" for name in ("changed", "retagged", "gone", "swapped") if (n := getattr(self, name))]
        return ", ".join(parts)


def write_ledger(
    corpus: Dataset, folder: Path, split: Split, night: int, before: Dataset | None = None, **manifest: Any
) -> None:
    """Writes the ledger of tonight's corpus behind that of the night `before`, if there was one."""
    tag_hashes = string_hashes(pa.array(corpus.names("tags"), pa.string()))
    known = None if before is None else before.read("documents")
    tables = []
    fields = corpus.blocks("fields") if corpus.has("fields") else itertools.repeat(None)
    with write_dataset(folder, "ledger", **manifest) as writer:
        # title and text apart from one another: to join them takes as long as to hash them
        reader = CorpusReader(corpus, split, fields=USUAL)
        for group, documents, further in zip(reader, corpus.blocks("documents", ["id"]), fields, strict=False):
            hashes = {"text": _content_hashes(group, further), **_hashes_of_tags(group, tag_hashes)}
            tables.append(_rows(documents["id"], group, hashes, night, known))
            writer.append("documents", tables[-1])
        changes = _changes(pa.concat_tables(tables), known)
        (writer.folder / CHANGES).write_text(json.dumps(asdict(changes)), encoding="utf-8")


def stay_on_sides(corpus: Dataset, split: Split, before: Dataset) -> Split:
    """Gives the split with exceptions for the documents that it would put on another side than the ledger has them."""
    known = before.read("documents", ["id", "used", "held_out"])
    exceptions: list[str] = []
    for documents in CorpusReader(corpus, split).used_documents():
        at, held_out = _places(documents["id"], known), split.held_out(documents)
        moved = at >= 0
        moved[moved] = _column(known, "used")[at[moved]] & (_column(known, "held_out")[at[moved]] != held_out[moved])
        exceptions += documents["id"].filter(pa.array(moved)).to_pylist()
    return replace(split, exceptions=tuple(sorted(exceptions)))


def _rows(
    ids: pa.ChunkedArray, group: RowGroup, hashes: dict[str, np.ndarray], night: int, known: pa.Table | None
) -> pa.Table:
    n = len(group.used)
    columns: dict[str, Any] = {
        "id": ids,
        "since": np.full(n, night, np.int32),
        "before": np.full(n, -1, np.int64),
        "used": group.used,
        "held_out": group.held_out & group.used,
        "new": group.used.copy(),
        "changed": np.zeros(n, bool),
        "retagged": np.zeros(n, bool),
        **hashes,
    }
    if known is not None:
        columns["before"] = at = _places(ids, known)
        old = np.flatnonzero(at >= 0)
        at = at[old]
        took_part = _column(known, "used")[at]  # who was untagged before comes tonight
        columns["since"][old] = np.where(took_part, _column(known, "since")[at], night)
        columns["new"][old] &= ~took_part
        stays = group.used[old] & ~columns["new"][old]
        other = {name: _column(known, name)[at] != hashes[name][old] for name in ("text", "tags")}
        columns["changed"][old] = stays & other["text"]
        columns["retagged"][old] = stays & ~other["text"] & other["tags"]
    return pa.table([columns[field.name] for field in LEDGER], schema=LEDGER)


def _changes(table: pa.Table, known: pa.Table | None) -> Changes:
    used, held_out, new = (_column(table, name) for name in ("used", "held_out", "new"))
    gone = swapped = 0
    if known is not None:
        stays = used & ~new
        at = _column(table, "before")[stays]
        gone = int(_column(known, "used").sum() - stays.sum())
        swapped = int((_column(known, "held_out")[at] != held_out[stays]).sum())
    return Changes(
        documents=int(used.sum()),
        new=int(new.sum()),
        new_held_out=int((new & held_out).sum()),
        changed=int(_column(table, "changed").sum()),
        retagged=int(_column(table, "retagged").sum()),
        gone=gone,
        swapped=swapped,
    )


def stands_as_it_was(ledger: Dataset, before: Dataset) -> bool:
    """Whether every document of the night before is in its place with the same text and taggings: then all that is new
    stands behind."""
    columns = ["before", "used", "held_out", "text", "counts"]
    known, now = before.read("documents", columns), ledger.read("documents", columns)
    if len(known) > len(now):
        return False
    now = now.slice(0, len(known))
    if not np.array_equal(_column(now, "before"), np.arange(len(known))):
        return False
    return all(np.array_equal(_column(known, name), _column(now, name)) for name in columns[1:])


def _hashes_of_tags(group: RowGroup, tag_hashes: np.ndarray) -> dict[str, np.ndarray]:
    tags, counts = tag_hashes[group.tags.indices], group.tags.data.astype(np.uint64)
    return {
        "tags": _sums(tags, group.tags.indptr),
        "counts": _sums(mix.py_func(tags ^ counts * GOLDEN), group.tags.indptr),
    }


def _content_hashes(group: RowGroup, fields: pa.Table | None) -> np.ndarray:
    """What each document says: its title and text, further fields, or counted words."""
    if group.bags is not None:
        values = group.bags.data.astype(np.float32).view(np.uint32).astype(np.uint64)
        return _sums(mix.py_func(group.bags.indices.astype(np.uint64) * GOLDEN ^ values), group.bags.indptr)
    title, text = (text_hashes(group.texts.field(name)) for name in USUAL)
    hashes = title * GOLDEN + text
    if fields is None:
        return hashes
    maps = fields["fields"].combine_chunks()
    offsets = maps.offsets.to_numpy()
    inside = slice(offsets[0], offsets[-1])
    keys, values = (text_hashes(pc.fill_null(part[inside], "")) for part in (maps.keys, maps.items))
    return hashes + _sums(mix.py_func(keys * GOLDEN ^ values), offsets - offsets[0])


def _sums(cells: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of 64-bit hashes by row, which no order of the cells changes."""
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)])
    return ends[starts[1:]] - ends[starts[:-1]]


def _places(ids: Any, known: pa.Table) -> np.ndarray:
    """The row of each id in the ledger, -1 where it has none."""
    found = pc.index_in(ids, value_set=known["id"])
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _column(table: pa.Table, name: str) -> np.ndarray:
    return table[name].to_numpy()
