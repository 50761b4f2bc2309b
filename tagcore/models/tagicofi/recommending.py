"""What a learnt TagiCoFi answers: ratings, items for its users, and items for someone of whom only tags are known."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagcore.base import best_k
from tagcore.graph.profiles import TagProfiles
from tagcore.graph.similarity import Likeness, raw_links, scaled_links
from tagcore.models.tagicofi.blocks import best_block, dense_base
from tagcore.models.tagicofi.score_kernel import best_of_all, score_all, score_pairs
from tagcore.models.tagicofi.state import Factorisation
from tagcore.models.tagicofi.targets import with_values
from tagcore.numeric.read_only import freeze
from tagcore.rating_model import UNKNOWN
from tagcore.scikit import check_is_fitted

_FEW = 64  # best items that are kept in order while all are looked at


class FoldedUser(NamedTuple):
    """Someone who was not learnt from: the factors and the bias, and whether anything is known at all."""

    factors: np.ndarray
    bias: float
    live: bool


@dataclass(frozen=True, eq=False)
class _Tables:
    """What answers are read from, as kernels take it; made anew when the factors are."""

    model: Any
    factors: np.ndarray

    @cached_property
    def users(self) -> tuple[np.ndarray, ...]:
        m = self.model
        live = (np.diff(m.rated_starts_) > 0) | ((m.degrees_ > 0) & (m.beta > 0))
        return freeze((m.user_factors_, m.user_biases_, m.user_fallbacks_, live))

    @cached_property
    def items(self) -> tuple[np.ndarray, ...]:
        m = self.model
        live = np.bincount(m.rated_items_, minlength=m.n_items_) > 0
        live |= (m.item_degrees_ > 0) & (m.gamma > 0)
        return freeze((m.item_factors_, m.item_biases_, m.item_fallbacks_, live))

    @cached_property
    def unrated(self) -> np.ndarray:
        """Items that are not live, ascending."""
        return freeze(np.flatnonzero(~self.items[3]))

    @cached_property
    def columns(self) -> np.ndarray:
        """Factors of items, dimension by dimension: so scores of many items are vector sums."""
        return freeze(np.ascontiguousarray(self.model.item_factors_.T))

    @cached_property
    def profiles(self) -> TagProfiles:
        m = self.model
        cells = m.tag_counts_, m.tag_ids_, m.tag_starts_
        return TagProfiles(sp.csr_matrix(cells, shape=(m.n_users_, m.n_tags_), copy=False), m.idf_)


class FoldingIn(Factorisation, abstract=True):
    """The side of TagiCoFi that answers, and folds in whom it has not learnt from."""

    alpha: float
    beta: float
    damping: float
    confidence: float
    biases: str
    feedback: str
    _made: _Tables

    @property
    def _likeness(self) -> Likeness:
        raise NotImplementedError  # abstract

    def fold_in(self, tags: Any = (), items: Any = (), values: Any = ()) -> FoldedUser:
        """The factors of someone new, by tags (ids; one told twice counts twice) and ratings, all else being fixed.

        Exactly the minimum of the objective in this user's factors. Tags and items that are not known are left out; of
        an item that is told twice the last value counts.
        """
        check_is_fitted(self)
        links = self._links_of_tags(np.asarray(tags, np.int64))
        items, values = np.asarray(items, np.int64), np.asarray(values, float)
        if items.shape != values.shape:
            raise ValueError(f"{items.size} items and {values.size} values, expected one value for each item")
        least = 0.0 if self.feedback == "counts" else -np.inf
        if (bad := np.flatnonzero(~(np.isfinite(values) & (values >= least)))).size:
            expected = "counts from 0" if self.feedback == "counts" else "finite numbers"
            raise ValueError(f"the value of item {items[bad[0]]} is {values[bad[0]]}, expected {expected}")
        told = {int(i): v for i, v in zip(items, values, strict=True) if 0 <= i < self.n_items_}
        columns = np.array(sorted(told), np.int64)
        cells = np.array([told[i] for i in columns]), (np.zeros(columns.size, int), columns)
        rated = sp.csr_matrix(cells, shape=(1, self.n_items_))
        bias, cells, weights = self._new_targets(rated)
        base = dense_base(self.item_factors_, weights is not None)
        given = cells, weights, links, self.item_factors_, self.user_factors_, base, self.alpha, self.beta
        return FoldedUser(best_block(*given)[0], bias, bool(links.nnz or rated.nnz))

    def recommend_for_tags(
        self, tags: Any, k: int = 5, items: Any = (), values: Any = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """(items, scores) for someone unknown who uses these tags, best first, without those that he has rated.

        Where nobody shares a tag, and nothing was rated, they are the items with the best fallback.
        """
        scores = self._scores_of(self.fold_in(tags, items, values))
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        rated = np.asarray(items, np.int64)
        scores[0, rated[(rated >= 0) & (rated < self.n_items_)]] = -np.inf
        (best,), (values_of_best,) = best_k(scores, k)
        there = values_of_best > -np.inf
        return best[there], values_of_best[there]

    def predict_for_tags(self, tags: Any, items: Any) -> np.ndarray:
        """The value that someone unknown who uses these tags would give to each of the items."""
        items = np.atleast_1d(np.asarray(items, np.int64))
        known = (items >= 0) & (items < self.n_items_)
        user = _one_user(self.fold_in(tags), self.fallback_, self.mean_)
        users, items = freeze(np.zeros(items.size, np.int64)), freeze(np.where(known, items, UNKNOWN))
        return self._clipped(score_pairs(users, items, user, self._tables.items, self._means))

    def _predict(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        tables = self._tables
        return self._clipped(score_pairs(freeze(users), freeze(items), tables.users, tables.items, self._means))

    def _score_items(self, users: np.ndarray) -> np.ndarray:
        tables = self._tables
        return score_all(freeze(users), tables.users, tables.columns, tables.items, self._means)

    def _best_items(self, users: np.ndarray, k: int, exclude_seen: bool) -> tuple[np.ndarray, np.ndarray]:
        tables, k = self._tables, min(k, self.n_items_)
        if k > _FEW:
            return super()._best_items(users, k, exclude_seen)
        seen = freeze((self.rated_starts_, self.rated_items_))
        known = tables.users, tables.columns, tables.items, tables.unrated, self._means
        return best_of_all(freeze(users), *known, seen, bool(exclude_seen), k)

    def _scores_of(self, user: FoldedUser) -> np.ndarray:
        table, tables = _one_user(user, self.fallback_, self.mean_), self._tables
        return score_all(freeze(np.zeros(1, np.int64)), table, tables.columns, tables.items, self._means)

    def _clipped(self, scores: np.ndarray) -> np.ndarray:
        return scores if self.lowest_ is None else np.clip(scores, self.lowest_, self.highest_)

    @property
    def _means(self) -> tuple[float, float]:
        return float(self.mean_), float(self.fallback_)  # which a folder may tell as whole numbers

    @property
    def _tables(self) -> _Tables:
        made = self.__dict__.get("_made")
        if made is None or made.factors is not self.user_factors_:
            made = self._made = _Tables(self, self.user_factors_)
        return made

    def _links_of_tags(self, tags: np.ndarray) -> sp.csr_matrix:
        """Links of someone who uses these tags to the users that were learnt from."""
        tags, counts = np.unique(tags[(tags >= 0) & (tags < self.n_tags_)], return_counts=True)
        if not (tags.size and self.beta and self.tag_ids_.size):
            return sp.csr_matrix((1, self.n_users_))
        row = sp.csr_matrix((counts.astype(float), tags.astype(np.int32), [0, tags.size]), shape=(1, self.n_tags_))
        known = self._tables.profiles
        raw = raw_links(TagProfiles(row, self.idf_), np.array([UNKNOWN]), known, self.sigma_, self._likeness)
        return scaled_links(raw, self.degrees_, self.factor_, self._likeness)

    def _new_targets(self, rated: sp.csr_matrix) -> tuple[float, sp.csr_matrix, np.ndarray | None]:
        """(bias, targets, weights) of a new user's ratings."""
        if self.feedback == "counts":
            sure = 1.0 + self.confidence * np.log1p(rated.data)
            return 0.0, with_values(rated, sure), sure - 1.0
        remaining = rated.data - self.mean_ - self.item_biases_[rated.indices]
        bias = float(remaining.sum() / (remaining.size + self.damping)) if self.biases == "both" and rated.nnz else 0.0
        return bias, with_values(rated, remaining - bias), None


def _one_user(user: FoldedUser, fallback: float, mean: float) -> tuple[np.ndarray, ...]:
    """The table of users that holds only this one, for whom items that nobody rated are as good as any."""
    fallbacks = np.array([mean + user.bias if user.bias else fallback], np.float64)
    return freeze((user.factors[None], np.array([user.bias]), fallbacks, np.array([user.live])))
