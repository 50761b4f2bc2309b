"""The words of planted news: every topic has its own, uses those of its ancestors too, and all share the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from tagcore.kernels.random.streams import build_alias

# fitted to 1,500 rows of RCV1-v2: its document frequencies by rank, its weights
OWN_WORDS = 500
OWN_FLAT = 5.0  # a topic's k-th word has the weight 1 / (k + OWN_FLAT)
FLAT, STEEP = 60.0, 1.4  # the r-th word of all has the weight 1 / (r + FLAT) ** STEEP
ANYBODYS = 5  # the most frequent words mark no topic


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Distributions over words: one row per topic, the last one for words of no topic."""

    n_words: int
    parents: np.ndarray  # (K,) -1 where there is none
    starts: np.ndarray  # (K + 2,) words of topic k: words[starts[k]:starts[k + 1]]
    words: np.ndarray
    weights: np.ndarray

    @classmethod
    def invent(cls, parents: np.ndarray, n_words: int, seed: int) -> "Lexicon":
        """Draws the words of every topic, log-uniform in rank among all: topics meet in the more frequent words."""
        rng = np.random.default_rng([seed, 2])
        ranked = rng.permutation(n_words).astype(np.int32)
        low, high = np.log(min(ANYBODYS, n_words)), np.log(n_words)
        rows = []
        for _ in range(parents.size):
            ranks = np.unique(np.exp(rng.uniform(low, high, OWN_WORDS)).astype(np.int64))
            rows.append(ranked[rng.permutation(np.minimum(ranks, n_words - 1))])
        weights = [1.0 / (np.arange(row.size) + 1.0 + OWN_FLAT) for row in rows]
        weights = [w / w.sum() for w in weights]
        general = 1.0 / (np.arange(n_words) + 1.0 + FLAT) ** STEEP
        starts = np.concatenate([[0], np.cumsum([row.size for row in rows], dtype=np.int64)])
        return cls(
            n_words,
            parents,
            np.append(starts, starts[-1] + n_words),
            np.concatenate([*rows, ranked]),
            np.concatenate([*weights, general / general.sum()]),
        )

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The alias tables that the kernel draws places in `words` from."""
        return build_alias(self.starts, self.weights)

    @property
    def any_word(self) -> np.ndarray:
        """(V,) the distribution of words of no topic."""
        return self._rows[-1].toarray()[0]

    def topic_words(self, inherit: float) -> sp.csr_matrix:
        """Gives (K, V) words of every topic, a share `inherit` from the words of its parent, which inherits in turn."""
        own_words, k = self._rows[:-1], self.parents.size
        child = np.flatnonzero(self.parents >= 0)
        inherited = sp.csr_matrix((np.full(child.size, inherit), (child, self.parents[child])), shape=(k, k))
        kept = sp.diags_array(np.where(self.parents >= 0, 1.0 - inherit, 1.0))
        spoken = own_words
        for _ in range(depth(self.parents)):
            spoken = sp.csr_matrix(kept @ own_words + inherited @ spoken)
        return spoken

    @cached_property
    def _rows(self) -> sp.csr_matrix:
        return sp.csr_matrix((self.weights, self.words, self.starts), shape=(self.starts.size - 1, self.n_words))


def parent_ids(tag_names: Sequence[str], parents: Mapping[str, str]) -> np.ndarray:
    """Gives the number of every tag's parent, -1 where `parents` names none that is a tag."""
    ids = {name: k for k, name in enumerate(tag_names)}
    return np.array([ids.get(parents.get(name, ""), -1) for name in tag_names], np.int64)


def depth(parents: np.ndarray) -> int:
    """Counts the steps from the deepest topic to its root; a circle raises ValueError."""
    at, steps = parents, 0
    while (at >= 0).any():
        if steps == parents.size:
            raise ValueError(f"topic {int(np.flatnonzero(at >= 0)[0])} is its own ancestor, expected a forest")
        at = np.where(at >= 0, parents[at], -1)
        steps += 1
    return steps
