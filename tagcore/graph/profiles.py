"""Tag profiles: which tags someone, or something, has and how often; weighed, so that rare tags tell more."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from tagcore.ratings import UserTaggings


def tag_counts(taggings: UserTaggings | None, of: str, size: int) -> sp.csr_matrix:
    """Counts of tags, (users or items) × tags: of a user, the items that have the tag from him; of an item, the users.

    `of` is "user" or "item". A triple that is told twice counts once.
    """
    if taggings is None or not len(taggings):
        return sp.csr_matrix((size, 0 if taggings is None else len(taggings.tag_names)))
    triples = taggings.table.group_by(["user", "item", "tag"]).aggregate([])
    cells = triples[of].to_numpy(), triples["tag"].to_numpy()
    return sp.csr_matrix((np.ones(cells[0].size), cells), shape=(size, len(taggings.tag_names)))


def inverse_frequencies(counts: sp.csr_matrix) -> np.ndarray:
    """ln(rows that have a tag at all / rows that have this one), 0 for a tag that none has."""
    rows_of_tag = np.bincount(counts.indices, minlength=counts.shape[1])
    tagged = np.count_nonzero(np.diff(counts.indptr))
    return np.log(np.divide(tagged, rows_of_tag, out=np.ones(counts.shape[1]), where=rows_of_tag > 0))


@dataclass(frozen=True, eq=False)
class TagProfiles:
    """Counts of tags and what each tag weighs. A tag that everyone has weighs 0 and still is one that two share."""

    counts: sp.csr_matrix  # rows × tags, sorted, float64
    idf: np.ndarray

    @classmethod
    def of(cls, counts: sp.csr_matrix) -> "TagProfiles":
        """Profiles whose weights of tags are from the rows themselves."""
        return cls(counts, inverse_frequencies(counts))

    @cached_property
    def starts(self) -> np.ndarray:
        return self.counts.indptr.astype(np.int64)

    @cached_property
    def tags(self) -> np.ndarray:
        return self.counts.indices.astype(np.int32)

    @cached_property
    def weights(self) -> np.ndarray:
        """tf · idf of every stored count, tf being the share of the tag among all that the row has."""
        totals = np.asarray(self.counts.sum(axis=1)).ravel()
        return self.counts.data / np.repeat(totals, np.diff(self.counts.indptr)) * self.idf[self.counts.indices]

    @cached_property
    def index(self) -> tuple[np.ndarray, np.ndarray]:
        """(starts, rows): the rows that have each tag, ascending."""
        by_tag = self.counts.tocsc()
        return by_tag.indptr.astype(np.int64), by_tag.indices.astype(np.int32)
