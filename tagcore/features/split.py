"""Which documents are held out to measure on.

A drawn share depends on the document's id and the seed alone: a document stays on its side while the corpus grows,
so that tonight's model and the one in service are compared on documents that neither has seen.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from tagcore.kernels.random.hashing import hash_strings, hash_texts
from tagcore.kernels.random.splitmix import GOLDEN, mix

_SEEDS = 2**32  # seeds of splits are below; what else is drawn is hashed with seeds of its own, far above
_KEEPING = _SEEDS  # added to the seed of the hash that chooses documents to keep
_REVEALING = 2 * _SEEDS  # likewise, of the hash that chooses labels to reveal
VALIDATING = 3 * _SEEDS  # likewise, of the hash that chooses what to validate on
SHARING = 4 * _SEEDS  # likewise, of ratings, of the hash that chooses a share to learn from
COOLING = 5 * _SEEDS  # likewise, of the hash that chooses users whose ratings are not learnt from


class Cuts(NamedTuple):
    """Limits on document hashes that a split's numbers of documents come to in one corpus: lower hashes are in."""

    test: float
    kept_in_train: float = np.inf
    kept_in_test: float = np.inf


@dataclass(frozen=True)
class Split:
    """Which documents are learnt from, which are measured on, and which labels are hidden.

    `official` takes the source's own split, `drawn` holds out a share of ids, or a number of them. `newest` holds out
    what came from `after` to `until` (microseconds since 1970, see `newest_cut`), and of what came later, or has no
    time, a drawn share; `exceptions` are ids that stay on the other side, on which they were before.

    With `validation`, the documents to measure on are that share of those to learn from, and the test documents are
    left out altogether: what is chosen this way has never seen them. `train_documents` and `test_documents` keep so
    many of each side; fewer are always a part of more. `revealed` hides all but that share of the labels to learn from,
    as if nobody had given them, and of those to validate on: a search knows no more than the final model. Numbers mean
    those of lowest hash, which only a whole corpus can tell: `cuts` finds them. Tags on fewer than `min_tag_df`
    documents to learn from are left out of both sides.
    """

    kind: Literal["official", "drawn", "newest"] = "drawn"
    test: float | int = 0.2
    seed: int = 0
    validation: float = 0.0
    train_documents: int | None = None
    test_documents: int | None = None
    revealed: float = 1.0
    min_tag_df: int = 1
    after: int | None = None
    until: int | None = None
    exceptions: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.kind == "newest" and (self.after is None or self.until is None or self.after >= self.until):
            raise ValueError(f"newest documents from {self.after} to {self.until}: expected one time and a later one")
        if self.kind == "newest" and isinstance(self.test, int):
            raise ValueError(f"test is {self.test} documents, expected a share of the newest")
        if not (self.test >= 1 if isinstance(self.test, int) else 0 < self.test < 1):
            raise ValueError(f"test must be a share between 0 and 1 or a number of documents, got {self.test}")
        if not 0 <= self.seed < _SEEDS:
            raise ValueError(f"seed must be from 0 to below {_SEEDS}, got {self.seed}")
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation must be a share from 0 to below 1, got {self.validation}")
        if not 0 < self.revealed <= 1:
            raise ValueError(f"revealed must be a share above 0 up to 1, got {self.revealed}")
        for name in ("train_documents", "test_documents", "min_tag_df"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise ValueError(f"{name} must be at least 1, got {number}")

    @property
    def by_share(self) -> bool:
        """Whether every document has its side by itself, whatever else is in the corpus, and shows all its tags."""
        numbers = isinstance(self.test, int) or self.train_documents is not None or self.test_documents is not None
        return not numbers and not self.validation and self.revealed == 1

    def cuts(self, used_documents: Callable[[], Iterable[pa.Table]]) -> Cuts:
        """Finds the cuts of one corpus; `used_documents` walks the ids and official sides of all that take part."""
        cuts = Cuts(self.test if isinstance(self.test, float) else np.inf)
        if isinstance(self.test, int) and self.kind == "drawn":
            hashes = [uniform_hashes(documents["id"], self.seed) for documents in used_documents()]
            cuts = Cuts(_limit_of_lowest(hashes, self.test, "test"))
        if self.train_documents is None and self.test_documents is None:
            return cuts
        train_hashes, test_hashes = [], []
        for documents in used_documents():
            in_test, hashes_to_keep = self._in_test(documents, cuts), self._hashes_to_keep(documents)
            train_hashes.append(hashes_to_keep[~in_test])
            test_hashes.append(hashes_to_keep[in_test])
        return Cuts(
            cuts.test,
            _limit_of_lowest(train_hashes, self.train_documents, "train_documents"),
            _limit_of_lowest(test_hashes, self.test_documents, "test_documents"),
        )

    def held_out(self, documents: pa.Table, cuts: Cuts | None = None) -> np.ndarray:
        """True for the documents to measure on, False for those to learn from and those left out."""
        if self.validation:
            in_validation = uniform_hashes(documents["id"], self.seed + VALIDATING) < self.validation
            return in_validation & ~self.left_out(documents, cuts)
        return self._in_test(documents, self._require_cuts(cuts)) & ~self.left_out(documents, cuts)

    def left_out(self, documents: pa.Table, cuts: Cuts | None = None) -> np.ndarray:
        """True for the documents on neither side."""
        if self.train_documents is None and self.test_documents is None and not self.validation:
            return np.zeros(documents.num_rows, bool)
        cuts = self._require_cuts(cuts)
        in_test, hashes = self._in_test(documents, cuts), self._hashes_to_keep(documents)
        return np.where(in_test, (hashes >= cuts.kept_in_test) | bool(self.validation), hashes >= cuts.kept_in_train)

    def revealed_tags(self, documents: pa.Table, tags: sp.csr_matrix, held_out: np.ndarray) -> sp.csr_matrix:
        """The tags without the hidden ones, each of which is chosen by a hash of document and tag; a test shows all."""
        if self.revealed == 1:
            return tags
        keys = (uniform_hashes(documents["id"], self.seed + _REVEALING) * 2.0**53).astype(np.uint64)
        rows = np.repeat(np.arange(tags.shape[0]), np.diff(tags.indptr))
        cells = mix.py_func(keys[rows] ^ (tags.indices.astype(np.uint64) * GOLDEN))
        hidden = (cells >> np.uint64(11)) * 2.0**-53 >= self.revealed
        if not self.validation:
            hidden &= ~held_out[rows]
        revealed = sp.csr_matrix((np.where(hidden, 0, tags.data), tags.indices, tags.indptr), tags.shape, copy=True)
        revealed.eliminate_zeros()
        return revealed

    def _require_cuts(self, cuts: Cuts | None) -> Cuts:
        """The cuts, or those of a split by shares, which needs no corpus; ValueError for any other."""
        return self.cuts(_no_corpus) if cuts is None else cuts

    def _in_test(self, documents: pa.Table, cuts: Cuts) -> np.ndarray:
        if self.kind == "official":
            side = documents["split"]
            if (missing := pc.index(pc.is_null(side), True).as_py()) >= 0:
                name = documents["id"][missing].as_py()
                raise ValueError(f"document {name!r} has no official split: use a drawn one")
            return pc.equal(side, "test").to_numpy()
        drawn = uniform_hashes(documents["id"], self.seed) < cuts.test
        return drawn if self.kind == "drawn" else self._newest(documents, drawn)

    def _newest(self, documents: pa.Table, drawn: np.ndarray) -> np.ndarray:
        """Which documents came in the time that is held out; of later ones and those without a time, the drawn."""
        assert self.until is not None
        times = pc.fill_null(documents["time"], self.until + 1).to_numpy()
        in_test = np.where(times > self.until, drawn, times > self.after)
        if self.exceptions:
            in_test ^= pc.is_in(documents["id"], value_set=pa.array(list(self.exceptions), pa.string())).to_numpy()
        return in_test

    def _hashes_to_keep(self, documents: pa.Table) -> np.ndarray:
        return uniform_hashes(documents["id"], self.seed + _KEEPING)


def newest_cut(times: np.ndarray, share: float) -> tuple[int, int] | None:
    """Gives (after, until) such that about this share of the times lies between; None where equal times forbid it."""
    wanted = round(share * times.size)
    if not 0 < wanted < times.size:
        return None
    after, until = int(np.partition(times, times.size - wanted - 1)[times.size - wanted - 1]), int(times.max())
    return (after, until) if 2 * np.count_nonzero(times > after) > wanted else None


def uniform_hashes(ids: pa.ChunkedArray | pa.Array, seed: int) -> np.ndarray:
    """Hashes every id to a number in [0, 1), uniform over ids and the same whenever and wherever it is computed."""
    return (string_hashes(ids, seed) >> np.uint64(11)) * 2.0**-53


def string_hashes(strings: pa.ChunkedArray | pa.Array, seed: int = 0) -> np.ndarray:
    """Hashes every string to 64 bits, the same whenever and wherever it is computed; none may be null."""
    return hash_strings(*_bytes_and_bounds(strings), seed)


def text_hashes(texts: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Hashes every text to 64 bits, faster than `string_hashes`, by which sides are drawn; none may be null."""
    return hash_texts(*_bytes_and_bounds(texts))


def _bytes_and_bounds(strings: pa.ChunkedArray | pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of all strings, and where each begins and the last one ends."""
    column = strings.combine_chunks() if isinstance(strings, pa.ChunkedArray) else strings
    column = column.cast(pa.large_string())
    if not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), bounds


def _limit_of_lowest(hashes: list[np.ndarray], number: int | None, setting: str) -> float:
    """The limit that exactly the `number` lowest hashes are below; infinite where there is no number."""
    if number is None:
        return np.inf
    pooled = np.concatenate(hashes) if hashes else np.empty(0)
    if number > pooled.size:
        raise ValueError(f"split.{setting} = {number}: there are {pooled.size} documents to take them from")
    return float(np.nextafter(np.partition(pooled, number - 1)[number - 1], np.inf))


def _no_corpus() -> Iterable[pa.Table]:
    raise ValueError("a split by numbers of documents needs the cuts of its corpus")
