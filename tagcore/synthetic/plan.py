"""The plan of a planted corpus: its words, tags and topics, invented or from named themes, and their frequencies."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import scipy.sparse as sp

from tagcore.corpus import Names
from tagcore.synthetic.kernels.corpus import ANY_TAG, ANY_WORD, FIRST_TOPIC, FOCUS, TOPICS

FEWEST_WORDS = 8  # about one tag; where its own are fewer it borrows from others of its topic
FLAT = 1.5  # of the Zipf-Mandelbrot law 1 / (rank + FLAT): no single word or tag rules its topic
_SYLLABLES = [c + v for c in "bdfgklmnprstv" for v in "aiou"]  # without e: no English stop word among the words


@dataclass(frozen=True, eq=False)
class CorpusPlan:
    """Words, tags and topics of a corpus.

    A slot is a tag inside a topic; slots are in order of topic, then of popularity in it.
    """

    word_names: list[str]
    tag_names: list[str]
    topic_names: list[str]
    n_common: int  # the first words belong to no topic
    slot_topics: np.ndarray  # (S,)
    slot_tags: np.ndarray  # (S,)
    slot_starts: np.ndarray  # (S + 1,) words of slot s: slot_words[slot_starts[s]:slot_starts[s + 1]]
    slot_words: np.ndarray

    @cached_property
    def topic_words(self) -> list[np.ndarray]:
        """Words of every topic, most frequent first: the first of every slot, then the second of every slot, ..."""
        slots = np.repeat(np.arange(self.slot_tags.size), np.diff(self.slot_starts))
        position = np.arange(self.slot_words.size) - self.slot_starts[slots]
        order = np.lexsort((slots, position, self.slot_topics[slots]))
        edges = np.searchsorted(self.slot_topics[slots][order], np.arange(self.n_topics + 1))
        ranked = self.slot_words[order]
        return [_without_repetitions(ranked[a:b]) for a, b in pairwise(edges)]

    @cached_property
    def distributions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(starts, ids, cumulative) of every distribution that the kernel draws from, in the order it names."""
        slots = np.searchsorted(self.slot_topics, np.arange(self.n_topics + 1))
        by_rank = np.arange(self.slot_tags.size) - slots[self.slot_topics]
        any_tag = _without_repetitions(self.slot_tags[np.argsort(by_rank, kind="stable")])
        any_word = _without_repetitions(np.concatenate([np.arange(self.n_common), _round_robin(self.topic_words)]))
        topics, n_slots = np.arange(self.n_topics), self.slot_tags.size
        ids = [topics, any_word, any_tag, *self.topic_words, np.arange(n_slots), self.slot_words]
        sizes = [row.size for row in ids[: FIRST_TOPIC + self.n_topics]]
        starts = np.concatenate([[0], np.cumsum([*sizes, *np.diff(slots), *np.diff(self.slot_starts)])])
        zipf = np.cumsum(1.0 / (np.arange(np.diff(starts).max()) + 1.0 + FLAT))  # of all rows but the first
        row = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        cumulative = zipf[np.arange(starts[-1]) - starts[row]] / zipf[np.diff(starts)[row] - 1]
        popularity = np.cumsum(1.0 / (topics + 4.0))
        cumulative[: self.n_topics] = popularity / popularity[-1]
        return starts, np.concatenate(ids).astype(np.int32), cumulative

    @cached_property
    def truth(self) -> "CorpusTruth":
        n_words, n_tags, n_slots, k = len(self.word_names), len(self.tag_names), len(self.slot_tags), self.n_topics
        topics = self._rows(FIRST_TOPIC, k, n_words)
        slots = self._rows(FIRST_TOPIC + k, k, n_slots)
        slot_words = self._rows(FIRST_TOPIC + 2 * k, n_slots, n_words)
        slot_tags = sp.csr_matrix((np.ones(n_slots), self.slot_tags, np.arange(n_slots + 1)), shape=(n_slots, n_tags))
        return CorpusTruth(
            topic_shares=self._rows(TOPICS, 1, k).toarray()[0],
            topic_words=((1.0 - FOCUS) * topics + FOCUS * (slots @ slot_words)).tocsr(),
            topic_tags=(slots @ slot_tags).tocsr(),
            any_word=self._rows(ANY_WORD, 1, n_words).toarray()[0],
            any_tag=self._rows(ANY_TAG, 1, n_tags).toarray()[0],
            word_names=self.word_names,
            topic_names=self.topic_names,
        )

    @property
    def n_topics(self) -> int:
        return len(self.topic_names)

    def _rows(self, first: int, n: int, width: int) -> sp.csr_matrix:
        """Gives n rows of the table of distributions, as probabilities."""
        starts, ids, cumulative = self.distributions
        before = np.concatenate([[0.0], cumulative[:-1]])
        before[starts[:-1]] = 0.0
        a, b = starts[first], starts[first + n]
        return sp.csr_matrix(((cumulative - before)[a:b], ids[a:b], starts[first : first + n + 1] - a), (n, width))


@dataclass(frozen=True, eq=False)
class CorpusTruth:
    """The planted truth: the distributions before noise, mixing and drift."""

    topic_shares: np.ndarray  # (K,) over a whole season
    topic_words: sp.csr_matrix  # (K, V) words of a document's main topic
    topic_tags: sp.csr_matrix  # (K, L) the main tag of a document
    any_word: np.ndarray  # (V,) where noise comes from
    any_tag: np.ndarray  # (L,)
    word_names: list[str]
    topic_names: list[str]

    @property
    def polysemous(self) -> np.ndarray:
        """Words that belong to two topics or more."""
        return np.flatnonzero(self.topic_words.getnnz(axis=0) > 1)


def themed_plan(themes: dict[str, dict[str, str]], common: str) -> CorpusPlan:
    """Plans a corpus of named themes: theme -> tag -> words."""
    words, tags = Names(common.split()), Names()
    n_common = len(words)
    slots = [(topic, tag, lists[tag].split()) for topic, lists in enumerate(themes.values()) for tag in lists]
    slot_words = [[words.id(w) for w in slot] for _, _, slot in slots]
    return CorpusPlan(
        slot_topics=np.array([topic for topic, _, _ in slots]),
        slot_tags=np.array([tags.id(tag) for _, tag, _ in slots]),
        slot_starts=np.concatenate([[0], np.cumsum([len(slot) for slot in slot_words])]),
        slot_words=np.array(list(chain.from_iterable(slot_words))),
        n_common=n_common,
        word_names=list(words),
        tag_names=list(tags),
        topic_names=list(themes),
    )


def invented_plan(n_topics: int, n_words: int, n_tags: int, polysemy: float, seed: int) -> CorpusPlan:
    """Plans a corpus of pronounceable words that mean nothing; a tag is named by the most frequent of its words."""
    n_common = n_words // 20
    n_topical = n_words - n_common
    if n_topical < n_tags:
        raise ValueError(f"n_words = {n_words} leaves {n_topical} topical words, expected one per tag: {n_tags}")
    rng = np.random.default_rng([seed, 1])
    tags = np.arange(n_tags)
    tags = tags[np.argsort(tags % n_topics, kind="stable")]  # tag t belongs to topic t mod K
    slot_of_tag = np.argsort(tags)

    words = np.arange(n_topical)
    slots, places = slot_of_tag[words % n_tags], (words // n_tags).astype(float)
    guests = np.sort(rng.permutation(n_topical)[: round(polysemy * n_topical)])  # in a second topic too
    homes = guests % n_tags % n_topics
    hosts = (homes + rng.integers(1, max(2, n_topics), guests.size)) % n_topics
    host_tags = hosts + n_topics * rng.integers(0, (n_tags - hosts + n_topics - 1) // n_topics)
    slots = np.concatenate([slots, slot_of_tag[host_tags]])
    places = np.concatenate([places, 0.5 + rng.random(guests.size) * (n_topical // n_tags)])
    words = np.concatenate([words, guests])
    if n_topical < FEWEST_WORDS * n_tags:
        borrowers, borrowed = _borrow(n_topics, n_topical, n_tags, rng)
        slots = np.concatenate([slots, slot_of_tag[borrowers]])
        places = np.concatenate([places, np.full(borrowers.size, np.inf)])
        words = np.concatenate([words, borrowed])
        once = np.sort(np.unique(slots * n_topical + words, return_index=True)[1])
        slots, places, words = slots[once], places[once], words[once]
    order = np.lexsort((places, slots))

    names = pseudo_words(n_words)
    return CorpusPlan(
        slot_topics=tags % n_topics,
        slot_tags=tags,
        slot_starts=np.searchsorted(slots[order], np.arange(n_tags + 1)),
        slot_words=n_common + words[order],
        n_common=n_common,
        word_names=names,
        tag_names=[names[n_common + t] for t in range(n_tags)],
        topic_names=[names[n_common + k] for k in range(n_topics)],
    )


def _borrow(n_topics: int, n_words: int, n_tags: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Gives (tags, words): for every tag short of words, others of its topic; word w is about tag w mod n_tags."""
    words_of_tag = (n_words - np.arange(n_tags) + n_tags - 1) // n_tags
    tags = np.repeat(np.arange(n_tags), np.maximum(FEWEST_WORDS - words_of_tag, 0))
    topics = tags % n_topics
    lenders = topics + n_topics * rng.integers(0, (n_tags - topics + n_topics - 1) // n_topics)
    return tags, lenders + n_tags * rng.integers(0, words_of_tag[lenders])


def pseudo_words(n: int) -> list[str]:
    """Makes n distinct words of three syllables, or of four and more when those run out.

    >>> pseudo_words(3)
    ['padubu', 'gagodo', 'talifi']
    """
    words: list[str] = []
    length, base = 3, len(_SYLLABLES)
    while len(words) < n:
        size = base**length
        step = int(0.618 * size) | 1  # prime to the base, so that every number is met once, far from the one before
        while step % 13 == 0:
            step += 2
        for i in range(1, min(n - len(words), size) + 1):
            number, word = i * step % size, ""
            for _ in range(length):
                number, digit = divmod(number, base)
                word = _SYLLABLES[digit] + word
            words.append(word)
        length += 1
    return words


def _without_repetitions(ids: np.ndarray) -> np.ndarray:
    """Gives distinct ids in the order of first appearance."""
    _, first = np.unique(ids, return_index=True)
    return ids[np.sort(first)]


def _round_robin(lists: list[np.ndarray]) -> np.ndarray:
    position = np.concatenate([np.arange(row.size) for row in lists])
    return np.concatenate(lists)[np.argsort(position, kind="stable")]
