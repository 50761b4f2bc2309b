"""Pairs of documents and tags that members hold likely, with what each says of them, made block by block."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tagcore.base import block_rows
from tagcore.features.rows import Rows
from tagcore.models.blend import kernel
from tagcore.models.blend.members import Member
from tagcore.numeric.read_only import freeze

_CELLS = 1_000_000  # scores of one member that are formed together
_DRAWN, _FEWEST_DRAWN = 50_000, 20  # cells of all tags that are kept of a fold, and of each document at least


@dataclass(frozen=True, eq=False)
class TagCounts:
    """How many documents have each tag, and each two tags that more than one has; of those that members learnt from."""

    n_documents: int
    documents: np.ndarray  # (L,)
    starts: np.ndarray  # the tags met by tag t are tags[starts[t] : starts[t + 1]], rising
    tags: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, Y: sp.csr_matrix) -> "TagCounts":
        present = sp.csr_matrix((np.ones(Y.nnz, np.int32), Y.indices, Y.indptr), shape=Y.shape)
        met = (present.T @ present).tocsr()
        met.setdiag(0)
        met.data[met.data < 2] = 0
        met.eliminate_zeros()
        met.sort_indices()
        return cls(
            Y.shape[0],
            freeze(np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)),
            freeze(met.indptr.astype(np.int64)),
            freeze(met.indices.astype(np.int32)),
            freeze(met.data.astype(np.int32)),
        )

    @property
    def arrays(self) -> tuple:
        return self.documents, self.n_documents, self.starts, self.tags, self.counts


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of some documents: features, whether the document has the tag, and the document's row among all."""

    features: np.ndarray
    hits: np.ndarray
    rows: np.ndarray
    tags: np.ndarray

    def of_rows(self, chosen: np.ndarray) -> "Pairs":
        """The pairs of some documents; `chosen` marks them among all."""
        at = chosen[self.rows]
        return Pairs(self.features[at], self.hits[at], self.rows[at], self.tags[at])


@dataclass(frozen=True, eq=False)
class AllTags:
    """Scores of each member for cells of all tags, whether in a pool or not: some that were drawn, and all true ones.

    A drawn cell stands for as many as its weight says: n × L scores would not fit.
    """

    drawn: np.ndarray  # (members, drawn cells)
    weights: np.ndarray
    true: np.ndarray  # (members, true cells)


def member_rows(members: Sequence[Member], X: sp.csr_matrix) -> list[sp.csr_matrix]:
    """Checked rows as each member reads them; what several read is the same object."""
    read = {member.columns: member.rows(X) for member in members}
    return [read[member.columns] for member in members]


def member_scores(members: Sequence[Member], rows: Sequence[sp.csr_matrix]) -> np.ndarray:
    """(members, rows, tags) scores of rows as each member reads them."""
    scores = np.empty((len(members), rows[0].shape[0], members[0].model.n_labels_))
    for number, member in enumerate(members):
        scores[number] = member.model._scores(rows[number])
    return freeze(scores)


def scored_pairs(
    members: Sequence[Member], lead: sp.csr_matrix, scores: np.ndarray, pool: int, counts: tuple
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, tags, features) of the pairs of rows, which `lead` is as the first member reads them. No label is read:
    what weighs the best tags of the lead is the probability that it gives by itself."""
    best, best_scores = kernel.best_ranks(scores)
    likely = members[0].model.proba(best_scores[0, :, : kernel.OTHERS + 1])
    return kernel.pair_features(scores, best, best_scores, likely, lead.indptr, pool, counts)


def held_out_pairs(
    members: Sequence[Member], rows: Rows, held: np.ndarray, pool: int, counts: TagCounts
) -> tuple[Pairs, AllTags]:
    """Pairs of the rows `held`, which the members and the counts have not seen, and scores of cells of all their tags;
    of their tags only hits and true cells tell."""
    selected, parts, views = rows.select(held), [], []
    step = block_rows(rows.n_labels, _CELLS)
    n_drawn = min(rows.n_labels, max(_FEWEST_DRAWN, _DRAWN // max(held.size, 1)))
    rng = np.random.default_rng(0)  # whichever they are, the cells know nothing of documents
    for start in range(0, held.size, step):
        block = slice(start, min(start + step, held.size))
        X, Y = selected.load(block)
        read = member_rows(members, X)
        scores = member_scores(members, read)
        indptr, tags, features = scored_pairs(members, read[0], scores, pool, counts.arrays)
        numbers = np.repeat(np.arange(X.shape[0]), np.diff(indptr))
        hits = np.asarray(Y[numbers, tags]).ravel() > 0 if numbers.size else np.zeros(0, bool)  # else scipy's is sparse
        parts.append(Pairs(features, hits, held[block][numbers], tags))
        views.append(_all_tags(scores, Y, n_drawn, rng))
    return joined(parts), joined_all_tags(views)


def joined(parts: Sequence[Pairs]) -> Pairs:
    """The pairs of all parts, in the order of rows."""
    names = ("features", "hits", "rows", "tags")
    whole = Pairs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    order = np.argsort(whole.rows, kind="stable")
    return Pairs(*(getattr(whole, name)[order] for name in names))


def joined_all_tags(parts: Sequence[AllTags]) -> AllTags:
    """The cells of all parts."""
    names = ("drawn", "weights", "true")
    return AllTags(*(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in names))


def _all_tags(scores: np.ndarray, Y: sp.csr_matrix, n_drawn: int, rng: np.random.Generator) -> AllTags:
    n_members, n_rows, n_tags = scores.shape
    if n_drawn == n_tags:
        drawn = scores
    else:
        drawn = scores[:, np.arange(n_rows)[:, None], rng.integers(n_tags, size=(n_rows, n_drawn))]
    true_rows, true_tags = (Y > 0).nonzero()
    weights = np.full(n_rows * n_drawn, n_tags / n_drawn)
    return AllTags(drawn.reshape(n_members, -1), weights, scores[:, true_rows, true_tags])
