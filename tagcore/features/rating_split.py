"""Which ratings are held out to measure on.

A drawn share depends on the names of user and item and on the seed alone: a rating stays on its side while the data
grow, so that tonight's model and the one in service are compared on ratings that neither has seen.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tagcore.features.split import COOLING, SHARING, VALIDATING, uniform_hashes
from tagcore.kernels.random.splitmix import GOLDEN, mix
from tagcore.ratings import Ratings, UserTaggings, append_rating_names, stored_rating_names
from tagcore.store.datasets import Dataset, write_dataset

KIND = "rating-split"


@dataclass(frozen=True)
class RatingSplit:
    """`drawn` holds out a share of all pairs of a user and an item, `newest` the latest share of each user's ratings.

    Of `newest`, a user's number of held-out ratings is rounded down, so that who has few keeps them all to learn from;
    of equal times the later row is the newer one. With `validation`, the ratings to measure on are that share of those
    to learn from, and the test ratings are left out altogether: what is chosen this way has never seen them.

    Of the ratings to learn from a share `train` is kept, drawn with `train_seed`: a smaller one is part of a larger
    one. `cold_users` of those who have held-out ratings lose all that are to be learnt from, drawn with that seed, too.
    """

    kind: Literal["drawn", "newest"] = "drawn"
    test: float = 0.2
    seed: int = 0
    validation: float = 0.0
    train: float = 1.0
    train_seed: int = 0
    cold_users: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("drawn", "newest"):
            raise ValueError(f'kind must be "drawn" or "newest", got {self.kind!r}')
        if not 0 < self.test < 1:
            raise ValueError(f"test must be a share between 0 and 1, got {self.test}")
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation must be a share from 0 to below 1, got {self.validation}")
        if not 0 < self.train <= 1:
            raise ValueError(f"train must be a share above 0, at most 1, got {self.train}")
        if self.cold_users < 0:
            raise ValueError(f"cold_users must be a number from 0, got {self.cold_users}")

    def apply(self, ratings: Ratings) -> tuple[Ratings, Ratings]:
        """(ratings to learn from, ratings to measure on), with all names; the last rating of a pair counts.

        Those of cold users are still there: `without_cold_users` takes them away.
        """
        ratings = ratings.last_values()
        learnt, held_out = self._part(ratings, self.test, self.seed)
        if self.validation:
            learnt, held_out = self._part(learnt, self.validation, self.seed + VALIDATING)
        if self.train < 1:
            learnt = learnt.take(np.flatnonzero(pair_shares(learnt, self.train_seed + SHARING) < self.train))
        if not len(learnt) or not len(held_out):
            sides = f"{len(learnt)} to learn from and {len(held_out)} to measure on"
            raise ValueError(f"the split leaves {sides} of {len(ratings)} ratings, expected some of each")
        return learnt, held_out

    def without_cold_users(self, learnt: Ratings, held_out: Ratings) -> Ratings:
        """The ratings to learn from without those of the cold users."""
        if not self.cold_users:
            return learnt
        users = learnt.table["user"].to_numpy()
        both = np.intersect1d(users, held_out.table["user"].to_numpy())
        if both.size <= self.cold_users:
            raise ValueError(
                f"{both.size} users have ratings to learn from and to measure on, expected more than cold_users = "
                f"{self.cold_users}"
            )
        names = pa.array([learnt.user_names[user] for user in both], pa.string())
        drawn = np.argsort(uniform_hashes(names, self.train_seed + COOLING), kind="stable")[: self.cold_users]
        return learnt.take(np.flatnonzero(~np.isin(users, both[drawn])))

    def _part(self, ratings: Ratings, share: float, seed: int) -> tuple[Ratings, Ratings]:
        held_out = pair_shares(ratings, seed) < share if self.kind == "drawn" else newest(ratings, share)
        return ratings.take(np.flatnonzero(~held_out)), ratings.take(np.flatnonzero(held_out))


def save_split(
    folder: Path | str, learnt: Ratings, held_out: Ratings, taggings: UserTaggings | None, **manifest: Any
) -> None:
    """Writes both sides as one data set, with all names; the tags that users gave are known to both."""
    with write_dataset(folder, KIND, **manifest) as writer:
        writer.append("train", learnt.table)
        writer.append("test", held_out.table)
        append_rating_names(writer, learnt, taggings)


def load_side(folder: Path | str, side: Literal["train", "test"]) -> Ratings:
    """The ratings to learn from, or those to measure on."""
    data = Dataset.open(folder, KIND)
    return Ratings(data.read(side), *stored_rating_names(data))


def pair_shares(ratings: Ratings, seed: int) -> np.ndarray:
    """A number in [0, 1) for every rating, uniform over pairs of names, the same whenever and wherever it is asked."""
    hashes = [
        (uniform_hashes(pa.array(names, pa.string()), seed) * 2.0**53).astype(np.uint64)
        for names in (ratings.user_names, ratings.item_names)
    ]
    users, items = (of[ratings.table[column].to_numpy()] for of, column in zip(hashes, ("user", "item"), strict=True))
    mixed = mix.py_func(users ^ mix.py_func(items + GOLDEN))  # twice, so that (a, b) and (b, a) differ
    return (mixed >> np.uint64(11)) * 2.0**-53


def newest(ratings: Ratings, share: float) -> np.ndarray:
    """True for the latest `share` of every user's ratings, rounded down."""
    users = ratings.table["user"].to_numpy()
    if (missing := pc.index(pc.is_null(ratings.table["time"]), True).as_py()) >= 0:
        name = ratings.user_names[users[missing]]
        raise ValueError(f"a rating of user {name!r} has no time: the newest ones cannot be told, use a drawn split")
    times = ratings.table["time"].cast(pa.int64()).to_numpy()
    order = np.lexsort((times, users))  # stable: of equal times the later row comes later
    counts = np.bincount(users, minlength=len(ratings.user_names))
    place = np.empty(users.size, np.int64)
    place[order] = np.arange(users.size) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = counts - np.floor(counts * share + 1e-9).astype(np.int64)  # 0.3 of 10 is 3, also in floating point
    return place >= kept[users]
