"""Planted corpora, of any size, whose right answer is known.

A document has a main topic and, inside it, a main tag; most of its words are about one or the other, some about a
second topic, some about nothing. Document i follows from the seed and i alone: not from the size of the corpus, nor
from how it is cut into blocks.
"""

import hashlib
import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tagcore.corpus import Block, Names
from tagcore.store.schemas import DOCUMENTS, TAGGINGS
from tagcore.synthetic.checks import check
from tagcore.synthetic.columns import numbered_names, string_column
from tagcore.synthetic.kernels.corpus import MOST_USERS, draw_documents, draw_topics, render
from tagcore.synthetic.plan import CorpusPlan, CorpusTruth, invented_plan, themed_plan
from tagcore.synthetic.sentences import SentenceWriter
from tagcore.synthetic.themes import COMMON, THEMES

GENERATOR = 2  # goes up when the same parameters give other documents
SENTENCES = 1  # likewise, of those that are written as sentences
EPOCH = 1_577_836_800_000_000  # 2020-01-01, in µs
STEP = 300_000_000  # a document every five minutes, in µs
LONGEST_BLOCK = 2**31 - 1  # bytes of text that arrow's 32-bit offsets can address


class PlantedCorpus:
    """A source of documents with planted topics, streamed block by block as a reader would.

    Words and tags of a topic follow Zipf's law. `polysemy` is the share of topical words that belong to a second
    topic, `noise` the share of words that have nothing to do with the document (tags stray 0.4 times as often),
    `mixing` the share of documents with a second topic. Users tag in their favourite topic most of the time, several
    of them the same document; with `n_users=0` nobody is named and counts are added up. A given `plan` takes the place
    of invented words, and n_topics, n_words, n_tags and polysemy then say nothing. With `counted` a document is a row
    of counted words instead of a title and a text. A `writer` makes English sentences of its words.

    >>> corpus = PlantedCorpus(1000, seed=7)
    >>> block = next(corpus.blocks(rows=100))
    >>> block.documents.num_rows, len(corpus.tags)
    (100, 200)
    """

    def __init__(
        self,
        n_documents: int,
        *,
        n_topics: int = 20,
        n_words: int = 5000,
        n_tags: int = 200,
        words_per_document: float = 60,
        tags_per_document: float = 3,
        polysemy: float = 0.1,
        noise: float = 0.2,
        mixing: float = 0.25,
        n_users: int = 1000,
        seed: int = 0,
        plan: CorpusPlan | None = None,
        language: str | None = None,
        counted: bool = False,
        writer: SentenceWriter | None = None,
    ) -> None:
        check("n_documents", n_documents, 0, 2**53, whole=True)
        check("words_per_document", words_per_document, 1, 1e6)
        check("tags_per_document", tags_per_document, 1, 1e4)
        check("noise", noise, 0, 1)
        check("mixing", mixing, 0, 1)
        check("n_users", n_users, 0, 2**31 - 1, whole=True)
        check("seed", seed, 0, 2**63 - 1, whole=True)
        if plan is None:
            check("polysemy", polysemy, 0, 1)
            check("n_topics", n_topics, 1, 2**31 - 1, whole=True)
            check("n_tags", n_tags, n_topics, 2**31 - 1, whole=True)
            check("n_words", n_words, n_tags, 2**31 - 1, whole=True)
            if polysemy > 0 and n_topics == 1:
                raise ValueError(f"polysemy = {polysemy}, expected 0 where there is one topic only")
            plan = invented_plan(n_topics, n_words, n_tags, polysemy, seed)
        self.n_documents = int(n_documents)
        self.words_per_document = float(words_per_document)
        self.tags_per_document = float(tags_per_document)
        self.noise = float(noise)
        self.mixing = float(mixing)
        self.n_users = int(n_users)
        self.seed = int(seed)
        self.plan = plan
        self.language = language
        self.counted = bool(counted)
        self.writer = writer
        self.tags = Names(plan.tag_names)
        self.words = Names(plan.word_names) if counted else None
        encoded = [name.encode() for name in plan.word_names]
        self._name_bytes = np.frombuffer(b"".join(encoded), np.uint8)
        self._name_starts = np.concatenate([[0], np.cumsum([len(name) for name in encoded])])

    def __len__(self) -> int:
        return self.n_documents

    @property
    def truth(self) -> CorpusTruth:
        """The distributions that were planted."""
        return self.plan.truth

    def fingerprint(self) -> str:
        """Hashes all that decides the content; equal hashes mean equal corpora."""
        sizes = [self.n_documents, self.words_per_document, self.tags_per_document, self.n_users]
        shares = [self.noise, self.mixing]
        names = [self.plan.word_names, self.plan.tag_names, self.language]
        if self.writer is not None:
            names.append(f"sentences {SENTENCES}")
        digest = hashlib.sha256(json.dumps([GENERATOR, self.seed, sizes, shares, names, self.counted]).encode())
        for array in (self.plan.slot_tags, *self.plan.distributions):
            digest.update(f"{array.dtype} {array.size}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def topics(self, first: int, n: int) -> np.ndarray:
        """Gives the main topic of documents first .. first + n - 1."""
        check("first", first, 0, self.n_documents, whole=True)
        check("n", n, 0, self.n_documents - first, whole=True)
        return draw_topics(np.uint64(self.seed), first, n, self.plan.n_topics, *self.plan.distributions)

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        """Yields the documents in order, `rows` at a time; only one block is in memory."""
        check("rows", rows, 1, LONGEST_BLOCK, whole=True)
        for first in range(0, self.n_documents, rows):
            yield self._block(first, min(rows, self.n_documents - first))

    def _block(self, first: int, n: int) -> Block:
        word_starts, words, title_starts, titles, drawn = draw_documents(
            np.uint64(self.seed),
            first,
            n,
            self.plan.n_topics,
            self.n_users,
            self.words_per_document,
            self.tags_per_document,
            self.mixing,
            self.noise,
            self.plan.slot_tags,
            *self.plan.distributions,
        )
        numbers = np.arange(first, first + n)
        times = EPOCH + STEP * numbers
        documents = {
            "id": numbered_names("d", numbers, 10),
            "fetched_at": pa.array(times).view(DOCUMENTS.field("fetched_at").type),
            "language": pa.array([self.language] * n, pa.string()),
        }
        bags = None
        if self.words is not None:
            bags = sp.csr_matrix((np.ones(words.size, np.float32), words, word_starts), shape=(n, len(self.words)))
            bags.sum_duplicates()
        elif self.writer is not None:
            documents |= self._sentences(first, word_starts, words, title_starts, titles)
        else:
            documents["title"] = self.text(title_starts, titles, first, 2**30, False)
            documents["text"] = self.text(word_starts, words, first, 6, True)
        document, tag, user, count, before = np.ascontiguousarray(drawn.T)
        taggings = [
            pa.array(document),
            pa.array(tag.astype(np.int32)),
            numbered_names("user", user, 6) if self.n_users else pa.nulls(user.size, pa.string()),
            pa.array(count),
            pa.array(times[document] + STEP // MOST_USERS * before).view(TAGGINGS.field("time").type),
        ]
        return Block(
            pa.table([documents.get(f.name, pa.nulls(n, f.type)) for f in DOCUMENTS], schema=DOCUMENTS),
            pa.table(taggings, schema=TAGGINGS),
            bags,
        )

    def _sentences(
        self, first: int, word_starts: np.ndarray, words: np.ndarray, title_starts: np.ndarray, titles: np.ndarray
    ) -> dict[str, pa.Array]:
        assert self.writer is not None
        names, topics = self.plan.word_names, self.topics(first, word_starts.size - 1)
        texts, heads = [], []
        for i, topic in enumerate(topics.tolist()):
            own = [names[w] for w in words[word_starts[i] : word_starts[i + 1]].tolist()]
            texts.append(self.writer.text(own, topic, first + i))
            head = [names[w] for w in titles[title_starts[i] : title_starts[i + 1]].tolist()]
            heads.append(self.writer.title(head, first + i))
        return {"title": pa.array(heads, pa.string()), "text": pa.array(texts, pa.string())}

    def text(self, starts: np.ndarray, words: np.ndarray, first: int, sentence: int, full_stop: bool) -> pa.Array:
        """Gives words by number as texts, in sentences of `sentence` words or a few more."""
        offsets, text = render(starts, words, self._name_starts, self._name_bytes, first, sentence, full_stop)
        if text.size > LONGEST_BLOCK:
            raise ValueError(f"a block of {starts.size - 1} documents holds {text.size} bytes of text: take fewer rows")
        return string_column(offsets, text)


def demo_corpus(n_documents: int = 4000, seed: int = 0) -> PlantedCorpus:
    """Tagged notes about cooking, music, astronomy and other themes, in real words."""
    return PlantedCorpus(
        n_documents,
        words_per_document=32,
        tags_per_document=3,
        noise=0.3,
        mixing=0.3,
        n_users=300,
        seed=seed,
        plan=themed_plan(THEMES, COMMON),
        language="en",
        writer=SentenceWriter(list(THEMES), COMMON.split()),
    )


def delicious_shaped(
    n_documents: int = 1_000_000, n_tags: int = 100_000, seed: int = 0, *, counted: bool = True
) -> PlantedCorpus:
    """Bookmarked pages as a tagging site collects them: many users, a long tail of tags, more tags than good words."""
    check("n_tags", n_tags, 2, 2**30, whole=True)
    return PlantedCorpus(
        n_documents,
        n_topics=max(2, n_tags // 200),
        n_words=50_000 + n_tags,
        n_tags=n_tags,
        words_per_document=60,
        tags_per_document=6,
        polysemy=0.2,
        noise=0.4,
        mixing=0.5,
        n_users=200_000,
        seed=seed,
        counted=counted,
    )
