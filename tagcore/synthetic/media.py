"""Planted items without a text of their own, such as images and videos: what is known of them stands around them.

An item is about what the planted document with its number is about, and has that one's tags and title. Its other
fields say less the longer they are: names of what is related, a description, comments, which are mostly about nothing.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tagcore.corpus import Block, Names
from tagcore.store.schemas import DOCUMENTS, FIELDS
from tagcore.synthetic.corpus import PlantedCorpus, demo_corpus
from tagcore.synthetic.kernels.media import draw_field


@dataclass(frozen=True)
class PlantedField:
    """How many words a field has, on average, and the share of them that have nothing to do with the item."""

    words: float
    noise: float


PLANTED_FIELDS = {
    "related_names": PlantedField(2, 0.3),
    "description": PlantedField(10, 0.6),
    "comments": PlantedField(60, 0.95),
}


class PlantedMedia:
    """A source of items whose titles, related names, descriptions and comments were planted; none has a text.

    `corpus` says what the items are about and how they are tagged.

    >>> media = PlantedMedia(PlantedCorpus(1000, seed=7))
    >>> block = next(media.blocks(rows=100))
    >>> block.documents["text"].null_count, [name for name, _ in block.fields["fields"][0].as_py()]
    (100, ['related_names', 'description', 'comments'])
    """

    words: Names | None = None

    def __init__(self, corpus: PlantedCorpus) -> None:
        if corpus.counted:
            raise ValueError("the corpus has counted words, expected texts: fields are made of them")
        self.corpus = corpus
        self.tags = corpus.tags

    def __len__(self) -> int:
        return len(self.corpus)

    def fingerprint(self) -> str:
        """Hashes all that decides the content; equal hashes mean equal items."""
        fields = {name: [field.words, field.noise] for name, field in PLANTED_FIELDS.items()}
        return hashlib.sha256(json.dumps([self.corpus.fingerprint(), fields]).encode()).hexdigest()

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        """Yields the items in order, `rows` at a time; only one block is in memory."""
        first = 0
        for block in self.corpus.blocks(rows):
            n = block.documents.num_rows
            texts = DOCUMENTS.get_field_index("text")
            documents = block.documents.set_column(texts, DOCUMENTS.field(texts), pa.nulls(n, pa.string()))
            yield Block(documents, block.taggings, fields=self._fields(first, n))
            first += n

    def _fields(self, first: int, n: int) -> pa.Table:
        """The further fields of items, those with no word left out."""
        corpus, columns, lengths = self.corpus, [], []
        for number, field in enumerate(PLANTED_FIELDS.values()):
            starts, words = draw_field(
                np.uint64(corpus.seed),
                number,
                first,
                n,
                corpus.plan.n_topics,
                field.words,
                field.noise,
                corpus.mixing,
                *corpus.plan.distributions,
            )
            columns.append(corpus.text(starts, words, first, 6, True))
            lengths.append(np.diff(starts))
        present = np.stack(lengths, axis=1) > 0
        order = np.flatnonzero(present.T.ravel())  # field by field, as the columns come
        by_item = order[np.argsort(order % n, kind="stable")]
        names = pa.array(np.repeat(list(PLANTED_FIELDS), n))
        texts = pa.concat_arrays(columns)
        offsets = pa.array(np.concatenate([[0], np.cumsum(present.sum(axis=1))]), pa.int32())
        maps = pa.MapArray.from_arrays(offsets, names.take(pa.array(by_item)), texts.take(pa.array(by_item)))
        return pa.table([maps.cast(FIELDS.field(0).type)], schema=FIELDS)


def demo_media(n_documents: int = 4000, seed: int = 0) -> PlantedMedia:
    """Tagged pictures and recordings about cooking, music, astronomy and other themes, in real words."""
    return PlantedMedia(demo_corpus(n_documents, seed))
