"""Several sources as one: a document that more than one of them has is one document, by its id or its address."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.corpus import Block, DocumentSource, Names, fields_table
from tagcore.readers.bad_rows import ReadError
from tagcore.readers.source import reblock
from tagcore.readers.web.urls import BadUrl, canonical_url
from tagcore.store.schemas import TAGGINGS

_Place = tuple[int, int]  # number of the source, number of the document in it


class SeveralSources:
    """Documents of the first source, then of the next; of one that comes again only its taggings are taken.

    The sources are read twice: which documents are the same must be known before the first is given.
    """

    def __init__(self, sources: Sequence[DocumentSource]) -> None:
        self.sources = list(sources)
        self.tags = Names()
        self.words: Names | None = None
        self.repeated = 0
        self._has_fields = False  # where a document of any source has, all get them

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        """Reads the documents, `rows` at a time."""
        repeats, extra = self._same_documents(rows)
        self.repeated = len(repeats)
        return reblock(self._each(rows, repeats, extra), rows)

    def _each(self, rows: int, repeats: set[_Place], extra: dict[_Place, list[tuple]]) -> Iterator[Block]:
        for number, source in enumerate(self.sources):
            first = 0
            for block in source.blocks(rows):
                n = block.documents.num_rows
                names = np.array([self.tags.id(tag) for tag in source.tags], np.int32)
                if self._has_fields and block.fields is None:
                    block = replace(block, fields=fields_table([{}] * n))
                yield _chosen(block, self.tags, names, number, first, repeats, extra)
                first += n

    def _same_documents(self, rows: int) -> tuple[set[_Place], dict[_Place, list[tuple]]]:
        """Finds documents that an earlier one repeats, and the taggings that the earlier ones get from them."""
        places: dict[str, _Place] = {}
        repeats: set[_Place] = set()
        extra: dict[_Place, list[tuple]] = defaultdict(list)
        counted: Counter[bool] = Counter()
        for number, source in enumerate(self.sources):
            first = 0
            for block in source.blocks(rows):
                counted[block.words is not None] += 1
                self._has_fields |= block.fields is not None
                if len(counted) > 1:
                    raise ReadError("sources of texts and of counted words, which cannot be read as one")
                keys = map(_keys, block.documents["id"].to_pylist(), block.documents["url"].to_pylist())
                again: dict[int, _Place] = {}
                for row, mine in enumerate(keys):
                    here = number, first + row
                    found = next((places[key] for key in mine if key in places and places[key][0] != number), None)
                    if found is not None:
                        again[row] = found
                        repeats.add(here)
                    for key in mine:
                        places.setdefault(key, found or here)
                if again:
                    tags = list(source.tags)
                    for document, tag, *rest in zip(*(c.to_pylist() for c in block.taggings.columns), strict=True):
                        if document in again:
                            extra[again[document]].append((tags[tag], *rest))
                first += block.documents.num_rows
        if counted[True] and len(self.sources) > 1:
            raise ReadError("several sources of counted words, expected one, or texts")
        return repeats, extra


def _keys(id_: str, url: str | None) -> list[str]:
    """What a document is known by: its id, and its address in one spelling."""
    keys = [id_]
    for address in (url, id_):
        try:
            keys.append(canonical_url(address or ""))
        except BadUrl:
            continue
    return list(dict.fromkeys(keys))


def _chosen(
    block: Block,
    tags: Names,
    names: np.ndarray,
    number: int,
    first: int,
    repeats: set[_Place],
    extra: dict[_Place, list[tuple]],
) -> Block:
    """The documents of a block that come for the first time, with the taggings that others give them."""
    n = block.documents.num_rows
    kept = np.array([(number, first + row) not in repeats for row in range(n)], bool)
    place = np.cumsum(kept) - 1
    where = block.taggings["document"].to_numpy()
    mine = block.taggings.filter(pa.array(kept[where]))
    mine = mine.set_column(0, TAGGINGS.field(0), pa.array(place[where[kept[where]]], pa.int64()))
    mine = mine.set_column(1, TAGGINGS.field(1), pa.array(names[mine["tag"].to_numpy()], pa.int32()))
    given = [
        (int(place[row]), tags.id(tag), *rest)
        for row in range(n)
        for tag, *rest in extra.get((number, first + row), ())
    ]
    if given:
        columns = [
            pa.array(list(column), field.type) for column, field in zip(zip(*given, strict=True), TAGGINGS, strict=True)
        ]
        mine = pa.concat_tables([mine, pa.table(columns, schema=TAGGINGS)])
        order = pc.sort_indices(mine, [("document", "ascending"), ("tag", "ascending")])
        mine = _each_once(mine.take(order))
    words = None if block.words is None else block.words[np.flatnonzero(kept)]
    fields = None if block.fields is None else block.fields.filter(pa.array(kept))
    return Block(block.documents.filter(pa.array(kept)), mine, words, fields)


def _each_once(taggings: pa.Table) -> pa.Table:
    """Leaves out what a person is told to have done twice."""
    seen: set[tuple] = set()
    keep = []
    for document, tag, user in zip(*(taggings[c].to_pylist() for c in ("document", "tag", "user")), strict=True):
        keep.append((document, tag, user) not in seen)
        seen.add((document, tag, user))
    return taggings.filter(pa.array(keep))
