"""Which documents are held out to measure on.

A drawn split depends on the document's id and the seed alone: a document stays on its side while the corpus grows,
so that tonight's model and the one in service are compared on documents that neither has seen.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.kernels.hashing import hash_rows


@dataclass(frozen=True)
class Split:
    """`official` takes the source's own split, `drawn` holds out a share of ids.

    With `validation`, the documents to measure on are that share of those to learn from, and the test documents are
    left out altogether: what is chosen this way has never seen them.
    """

    kind: Literal["official", "drawn"] = "drawn"
    test: float = 0.2
    seed: int = 0
    validation: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.test < 1:
            raise ValueError(f"test must be a share between 0 and 1, got {self.test}")
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation must be a share from 0 to below 1, got {self.validation}")

    def held_out(self, documents: pa.Table) -> np.ndarray:
        """True for the documents to measure on, False for those to learn from and those left out."""
        if self.validation:
            return (shares(documents["id"], self.seed + 1) < self.validation) & ~self.left_out(documents)
        return self._tested(documents)

    def left_out(self, documents: pa.Table) -> np.ndarray:
        """True for the documents on neither side."""
        return self._tested(documents) if self.validation else np.zeros(documents.num_rows, bool)

    def _tested(self, documents: pa.Table) -> np.ndarray:
        if self.kind == "official":
            given = documents["split"]
            if (missing := pc.index(pc.is_null(given), True).as_py()) >= 0:
                name = documents["id"][missing].as_py()
                raise ValueError(f"document {name!r} has no official split: use a drawn one")
            return pc.equal(given, "test").to_numpy()
        return shares(documents["id"], self.seed) < self.test


def shares(ids: pa.ChunkedArray | pa.Array, seed: int) -> np.ndarray:
    """A number in [0, 1) for every id, uniform over ids, the same whenever and wherever it is asked for."""
    column = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    column = column.cast(pa.large_string())
    if not len(column):
        return np.empty(0)
    _, offsets, data = column.buffers()
    where = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return (hash_rows(content, where, seed) >> np.uint64(11)) * 2.0**-53
