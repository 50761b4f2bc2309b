"""Tag profiles: which tags someone, or something, has and how often; weighed, so that rare tags tell more."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from tagcore.ratings import UserTaggings


def no_tags(taggings: UserTaggings | None, n: int) -> sp.csr_matrix:
    """Rows × tags without a count, for a model that does not look at them."""
    return sp.csr_matrix((n, 0 if taggings is None else len(taggings.tag_names)))


def user_tag_counts(taggings: UserTaggings | None, n_users: int) -> sp.csr_matrix:
    """Users × tags: the items that have the tag from the user; a tagging that is told twice counts once."""
    if taggings is None:
        return no_tags(taggings, n_users)
    triples = taggings.table.group_by(["user", "item", "tag"]).aggregate([])
    return _counted(triples["user"].to_numpy(), triples["tag"].to_numpy(), n_users, taggings)


def item_tag_counts(taggings: UserTaggings | None, n_items: int) -> sp.csr_matrix:
    """Items × tags: the users who gave the tag to the item, and one more for a tag that it has by itself."""
    if taggings is None:
        return no_tags(taggings, n_items)
    triples = taggings.table.group_by(["user", "item", "tag"]).aggregate([])
    tables = [triples] if taggings.item_tags is None else [triples, taggings.item_tags]
    items, tags = (np.concatenate([table[column].to_numpy() for table in tables]) for column in ("item", "tag"))
    return _counted(items, tags, n_items, taggings)


def rated_tag_counts(taggings: UserTaggings | None, rated: sp.csr_matrix) -> sp.csr_matrix:
    """Users × tags: the items with the tag, whoever gave it, among those that the user has rated."""
    has_tag = item_tag_counts(taggings, rated.shape[1])
    has_tag.data[:] = 1.0
    has_rated = sp.csr_matrix((np.ones(rated.nnz), rated.indices, rated.indptr), shape=rated.shape)
    counts = (has_rated @ has_tag).tocsr()
    counts.sort_indices()
    return counts


def _counted(rows: np.ndarray, tags: np.ndarray, n: int, taggings: UserTaggings) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(rows.size), (rows, tags)), shape=(n, len(taggings.tag_names)))


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
