"""The two rings as a source of rows with one class each, as a reader of a table would give them."""

import hashlib
import json
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from tagcore.corpus import Block, Names, documents_table, taggings_table
from tagcore.synthetic.rings import N_INPUTS, rings

_GENERATOR = 1  # goes up when the same parameters give other rows


class RingCorpus:
    """Rows of `rings` as documents: inputs x1 to x10 are their words, the class is their only tag.

    >>> block = next(RingCorpus(100, seed=7).blocks(rows=40))
    >>> block.words.shape, block.taggings.num_rows
    ((40, 10), 40)
    """

    def __init__(self, n_rows: int, seed: int) -> None:
        self.n_rows, self.seed = n_rows, seed
        self.tags = Names(["inner ring", "outer ring", "centre"])
        self.words = Names([f"x{i + 1}" for i in range(N_INPUTS)])

    def fingerprint(self) -> str:
        """Hashes all that decides the content."""
        return hashlib.sha256(json.dumps(["rings", _GENERATOR, self.n_rows, self.seed]).encode()).hexdigest()

    def blocks(self, rows: int = 8192) -> Iterator[Block]:
        X, y = rings(self.n_rows, self.seed)
        for start in range(0, self.n_rows, rows):
            stop = min(start + rows, self.n_rows)
            documents = documents_table(id=[str(i) for i in range(start, stop)])
            taggings = taggings_table(np.arange(stop - start), y[start:stop])
            yield Block(documents, taggings, sp.csr_matrix(X[start:stop], dtype=np.float32))


def demo_rings(n_rows: int) -> RingCorpus:
    """The rows of the demo of classes."""
    return RingCorpus(n_rows, seed=7)
