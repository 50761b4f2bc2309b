"""News of the shape of Reuters RCV1-v2: rows of tf-idf, made from the true topics of every story.

Story i follows from the seed, its topics and i, and from the first `FROZEN` stories' topics: idf is measured on those,
and what strays into a story comes from them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tagcore.corpus import Block, Names
from tagcore.store.schemas import DOCUMENTS, TAGGINGS
from tagcore.synthetic.checks import check
from tagcore.synthetic.columns import numbered_names
from tagcore.synthetic.kernels.newswire import draw_stories, weigh
from tagcore.synthetic.lexicon import Lexicon, depth, parent_ids

GENERATOR = 1  # goes up when the same parameters give other stories
FROZEN = 23_149  # stories in the training part of RCV1-v2, whose idf is of those too


@dataclass(frozen=True, eq=False)
class NewsTruth:
    """The distributions, hierarchy and idf that were planted."""

    topic_words: sp.csr_matrix  # (K, V) words of a topic, its ancestors' among them
    any_word: np.ndarray  # (V,) where noise comes from
    parents: np.ndarray  # (K,) -1 where there is none
    idf: np.ndarray  # (V,)


class PlantedNewswire:
    """A source of rows whose topics are given, streamed block by block as a reader would.

    `labels` has a row per story and a column per topic; `parents` names the topic above another. A story's length in
    different words is log-normal. A share `noise` of its words is about nothing; its topics share the others at random,
    each speaking in a share `inherit` with the words of its parent. A share `stray` of the stories is also about a
    topic that the labels do not say. Weights are (1 + ln tf) · idf on rows of length 1; `weighted=False` gives
    counts. Of all labels only the first `n_documents` become stories; the first `n_train` are marked as training part.

    >>> labels = sp.csr_matrix([[1, 0, 1], [0, 1, 0]])
    >>> news = PlantedNewswire(labels, ["GCAT", "CCAT", "GSPO"], parents={"GSPO": "GCAT"}, n_words=1000)
    >>> next(news.blocks()).words.shape
    (2, 1000)
    """

    def __init__(
        self,
        labels: sp.csr_matrix,
        tag_names: Sequence[str],
        *,
        parents: Mapping[str, str] | None = None,
        ids: Sequence[str] | np.ndarray | None = None,
        n_documents: int | None = None,
        n_train: int = 0,
        n_words: int = 47_236,
        words_per_document: float = 77,
        noise: float = 0.45,
        inherit: float = 0.3,
        stray: float = 0.2,
        weighted: bool = True,
        seed: int = 0,
    ) -> None:
        total, n_topics = labels.shape
        n_documents = total if n_documents is None else n_documents
        check("n_documents", n_documents, 0, total, whole=True)
        check("n_train", n_train, 0, total, whole=True)
        check("n_words", n_words, 1, 2**31 - 1, whole=True)
        check("words_per_document", words_per_document, 1, 1e5)
        check("noise", noise, 0, 1)
        check("inherit", inherit, 0, 1)
        check("stray", stray, 0, 1)
        check("seed", seed, 0, 2**63 - 1, whole=True)
        if len(set(tag_names)) != n_topics:
            raise ValueError(f"{len(set(tag_names))} different names of {n_topics} topics")
        if ids is not None and len(ids) != total:
            raise ValueError(f"{len(ids)} ids of {total} stories")
        above = parent_ids(tag_names, parents or {})
        depth(above)
        self.labels = sp.csr_matrix(labels, copy=True)
        self.labels.eliminate_zeros()
        self.labels.sort_indices()
        self.ids = ids
        self.n_documents = int(n_documents)
        self.n_train = int(n_train)
        self.words_per_document = float(words_per_document)
        self.noise = float(noise)
        self.inherit = float(inherit)
        self.stray = float(stray)
        self.weighted = bool(weighted)
        self.seed = int(seed)
        self.tags = Names(tag_names)
        self.words = Names(f"w{term}" for term in range(1, n_words + 1))  # as the reader of the real rows calls them
        self.lexicon = Lexicon.invent(above, int(n_words), self.seed)

    def __len__(self) -> int:
        return self.n_documents

    @property
    def truth(self) -> NewsTruth:
        return NewsTruth(self.lexicon.topic_words(self.inherit), self.lexicon.any_word, self.lexicon.parents, self.idf)

    @cached_property
    def idf(self) -> np.ndarray:
        """ln(n / df), a little more so that it is never 0, over the first stories."""
        n = min(FROZEN, self.labels.shape[0])
        df = np.bincount(self._counts(0, n).indices, minlength=len(self.words))
        return np.log((n + 1.0) / (df + 0.5))

    def fingerprint(self) -> str:
        """Hashes all that decides the content; equal hashes mean equal stories."""
        sizes = [self.n_documents, self.n_train, len(self.words), self.words_per_document, *self.labels.shape]
        shares = [self.noise, self.inherit, self.stray, self.weighted]
        names = [list(self.tags), None if self.ids is None else [str(i) for i in self.ids]]
        digest = hashlib.sha256(json.dumps([GENERATOR, self.seed, sizes, shares, names]).encode())
        for array in (self.lexicon.parents, self.labels.indptr, self.labels.indices):
            digest.update(array.astype(np.int64).tobytes())
        return digest.hexdigest()

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        """Yields the stories in order, `rows` at a time; only one block is in memory beside the labels."""
        check("rows", rows, 1, 2**31 - 1, whole=True)
        for first in range(0, self.n_documents, rows):
            yield self._block(first, min(rows, self.n_documents - first))

    def _block(self, first: int, n: int) -> Block:
        words = self._counts(first, n)
        if self.weighted:
            weigh(words.indptr, words.indices, words.data, self.idf)
        numbers = np.arange(first, first + n)
        ids = (
            numbered_names("d", numbers, 10)
            if self.ids is None
            else pa.array([str(i) for i in self.ids[first : first + n]])
        )
        documents = {"id": ids}
        if self.n_train:
            documents["split"] = pa.array(np.where(numbers < self.n_train, "train", "test"), pa.string())
        labels = self.labels[first : first + n]
        taggings = {
            "document": pa.array(np.repeat(np.arange(n), np.diff(labels.indptr))),
            "tag": pa.array(labels.indices.astype(np.int32)),
            "count": pa.array(np.ones(labels.nnz, np.int64)),
        }
        return Block(
            pa.table([documents.get(f.name, pa.nulls(n, f.type)) for f in DOCUMENTS], schema=DOCUMENTS),
            pa.table([taggings.get(f.name, pa.nulls(labels.nnz, f.type)) for f in TAGGINGS], schema=TAGGINGS),
            words,
        )

    def _counts(self, first: int, n: int) -> sp.csr_matrix:
        starts, indices, counts = draw_stories(
            np.uint64(self.seed),
            first,
            n,
            min(FROZEN, self.labels.shape[0]),
            self.labels.indptr,
            self.labels.indices,
            self.lexicon.parents,
            self.words_per_document,
            self.noise,
            self.inherit,
            self.stray,
            len(self.words),
            self.lexicon.words,
            self.lexicon.tables,
        )
        return sp.csr_matrix((counts, indices, starts), shape=(n, len(self.words)))


def rcv1_shaped(
    labels: sp.csr_matrix,
    tag_names: Sequence[str],
    parents: Mapping[str, str] | None = None,
    ids: Sequence[str] | np.ndarray | None = None,
    *,
    n_documents: int | None = None,
    seed: int = 0,
) -> PlantedNewswire:
    """Rows for the topics of RCV1-v2 in the order of its ids, with the official split; the values are planted."""
    n_train = min(FROZEN, labels.shape[0])
    return PlantedNewswire(
        labels, tag_names, parents=parents, ids=ids, n_documents=n_documents, n_train=n_train, seed=seed
    )
