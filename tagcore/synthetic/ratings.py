"""Planted ratings, of any size: users of a group share a taste and the tags they use; who tags alike rates alike.

User i follows from the seed, the items and tags there are, and i: not from how many users there are.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tagcore.kernels.random.streams import build_alias
from tagcore.ratings import Ratings, UserTaggings
from tagcore.store.schemas import RATINGS, USER_TAGGINGS
from tagcore.synthetic.checks import check
from tagcore.synthetic.columns import numbered_names
from tagcore.synthetic.kernels.ratings import draw_items, draw_ratings, draw_tastes, draw_users
from tagcore.synthetic.plan import FLAT, pseudo_words

GENERATOR = 1  # goes up when the same parameters give other ratings


@dataclass(frozen=True)
class RatingsBlock:
    """The ratings and taggings of a run of users; user, item and tag are numbers of the whole."""

    ratings: pa.Table  # schema RATINGS
    taggings: pa.Table  # schema USER_TAGGINGS, every triple once


@dataclass(frozen=True, eq=False)
class RatingsTruth:
    """The planted truth: `users @ items.T` are the ratings before noise, rounding to half stars and clipping."""

    users: np.ndarray  # (N, D + 2)
    items: np.ndarray  # (M, D + 2)
    groups: np.ndarray  # (N,)
    noise: float  # standard deviation, in stars


class PlantedRatings:
    """Ratings from 0.5 to 5 in half stars, with the tags that users gave to items they rated.

    `kinship` is the share of the variance of a user's taste that is the group's, `noise` the standard deviation of a
    rating in stars, `taggers` the share of users who tag at all, `stray` the share of tags that have nothing to do with
    the group. Items and tags follow Zipf's law; numbers per user are log-normal around their means.

    >>> planted = PlantedRatings(100, 50, seed=7)
    >>> planted.ratings().matrix.shape, planted.truth.users.shape
    ((100, 50), (100, 10))
    """

    def __init__(
        self,
        n_users: int,
        n_items: int,
        *,
        n_factors: int = 8,
        n_groups: int = 12,
        n_tags: int = 500,
        ratings_per_user: float = 40,
        taggings_per_user: float = 20,
        kinship: float = 0.6,
        noise: float = 0.5,
        taggers: float = 0.7,
        stray: float = 0.2,
        seed: int = 0,
    ) -> None:
        check("n_users", n_users, 0, 2**31 - 1, whole=True)
        check("n_items", n_items, 1, 2**31 - 1, whole=True)
        check("n_factors", n_factors, 1, 10_000, whole=True)
        check("n_groups", n_groups, 1, 2**31 - 1, whole=True)
        check("n_tags", n_tags, n_groups, 2**31 - 1, whole=True)
        check("ratings_per_user", ratings_per_user, 1, 1e6)
        check("taggings_per_user", taggings_per_user, 1, 1e4)
        check("kinship", kinship, 0, 1)
        check("noise", noise, 0, 100)
        check("taggers", taggers, 0, 1)
        check("stray", stray, 0, 1)
        check("seed", seed, 0, 2**63 - 1, whole=True)
        self.n_users, self.n_items, self.n_tags = int(n_users), int(n_items), int(n_tags)
        self.n_factors, self.n_groups = int(n_factors), int(n_groups)
        self.ratings_per_user = float(ratings_per_user)
        self.taggings_per_user = float(taggings_per_user)
        self.kinship = float(kinship)
        self.noise = float(noise)
        self.taggers = float(taggers)
        self.stray = float(stray)
        self.seed = int(seed)
        self.tag_names = pseudo_words(self.n_tags)
        self._items = draw_items(np.uint64(self.seed), self.n_items, self.n_factors)
        self._tastes = draw_tastes(np.uint64(self.seed), self.n_groups, self.n_factors)
        self._item_tables = _zipf_tables([self.n_items])
        tags_of_group = (self.n_tags - np.arange(self.n_groups) + self.n_groups - 1) // self.n_groups
        self._tag_tables = _zipf_tables([*tags_of_group, self.n_tags])

    @property
    def truth(self) -> RatingsTruth:
        """The planted truth of all users at once."""
        users, groups = draw_users(np.uint64(self.seed), 0, self.n_users, self._tastes, self.kinship)
        return RatingsTruth(users, self._items, groups, self.noise)

    def fingerprint(self) -> str:
        """Hashes all that decides the content; equal hashes mean equal ratings and tags."""
        sizes = [self.n_users, self.n_items, self.n_tags, self.n_factors, self.n_groups]
        means = [self.ratings_per_user, self.taggings_per_user, self.kinship, self.noise, self.taggers, self.stray]
        return hashlib.sha256(json.dumps(["ratings", GENERATOR, self.seed, sizes, means]).encode()).hexdigest()

    def blocks(self, users: int = 8192) -> Iterator[RatingsBlock]:
        """Yields the users in order, `users` at a time; only one block is in memory beside the items."""
        check("users", users, 1, 2**31 - 1, whole=True)
        for first in range(0, self.n_users, users):
            yield self._block(first, min(users, self.n_users - first))

    def ratings(self) -> Ratings:
        """Gives all ratings, in memory."""
        tables = [RATINGS.empty_table(), *(block.ratings for block in self.blocks())]
        users, items = (
            numbered_names(prefix, np.arange(n), 6).to_pylist()
            for prefix, n in (("user", self.n_users), ("item", self.n_items))
        )
        return Ratings(pa.concat_tables(tables).combine_chunks(), users, items)

    def taggings(self) -> UserTaggings:
        """Gives all (user, item, tag), in memory, numbered as the ratings are."""
        tables = [USER_TAGGINGS.empty_table(), *(block.taggings for block in self.blocks())]
        return UserTaggings(pa.concat_tables(tables).combine_chunks(), self.tag_names)

    def _block(self, first: int, n: int) -> RatingsBlock:
        (user, item, value), (tagger, about, tag) = draw_ratings(
            np.uint64(self.seed),
            first,
            n,
            self._items,
            self._tastes,
            self.kinship,
            self.noise,
            self.ratings_per_user,
            self.taggings_per_user,
            self.taggers,
            self.stray,
            self._item_tables,
            self._tag_tables,
        )
        time = pa.nulls(user.size, RATINGS.field("time").type)
        return RatingsBlock(
            pa.table([user + np.int32(first), item, value, time], schema=RATINGS),
            pa.table([tagger + np.int32(first), about, tag], schema=USER_TAGGINGS),
        )


def _zipf_tables(sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Builds alias tables of Zipf-Mandelbrot laws of these sizes."""
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    weights = np.concatenate([1.0 / (np.arange(size) + 1.0 + FLAT) for size in sizes])
    return build_alias(starts, weights)
