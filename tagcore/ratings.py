"""Ratings, and the tags that users gave to what they rated: what models that recommend learn from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tagcore.corpus import Names, names_table
from tagcore.store.datasets import Dataset, Writer, write_dataset
from tagcore.store.schemas import RATINGS, SCALE, USER_TAGGINGS


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who gave which value to what, with the names behind the numbers. There may be names without a rating."""

    table: pa.Table  # schema RATINGS
    user_names: list[str]
    item_names: list[str]
    item_titles: list[str] | None = None  # what people call the items, "" where that is not known
    scale: tuple[float, float] | None = None  # the lowest and highest value that there may be, where that is known

    def __post_init__(self) -> None:
        if self.item_titles is not None and len(self.item_titles) != len(self.item_names):
            raise ValueError(f"{len(self.item_titles)} titles, expected one for each of {len(self.item_names)} items")
        values = self.table["value"].to_numpy()
        if (bad := np.flatnonzero(~np.isfinite(values))).size:
            raise ValueError(f"rating {bad[0]} is {values[bad[0]]}, expected a finite number")
        if self.scale is not None:
            low, high = self.scale
            if (bad := np.flatnonzero((values < low) | (values > high))).size:
                raise ValueError(f"rating {bad[0]} is {values[bad[0]]:g}, expected one from {low:g} to {high:g}")
        _check_ids(self.table, "rating", user=len(self.user_names), item=len(self.item_names))

    @classmethod
    def from_values(
        cls,
        users: Sequence[str],
        items: Sequence[str],
        values: Sequence[float],
        times: Sequence | None = None,
    ) -> "Ratings":
        """Numbers the names in the order they are first met."""
        column = np.asarray(values, float)
        user_ids, item_ids = Names(), Names()
        table = pa.table(
            {
                "user": pa.array([user_ids.id(u) for u in users], pa.int32()),
                "item": pa.array([item_ids.id(i) for i in items], pa.int32()),
                "value": column,
                "time": pa.array(times if times is not None else [None] * len(column), RATINGS.field("time").type),
            },
            schema=RATINGS,
        )
        return cls(table, list(user_ids), list(item_ids))

    @classmethod
    def load(cls, folder: Path | str) -> "Ratings":
        data = Dataset.open(folder, "ratings")
        return cls(data.read("ratings"), *stored_rating_names(data))

    def save(
        self,
        folder: Path | str,
        *,
        taggings: "UserTaggings | None" = None,
        rows_per_group: int = 65536,
        **manifest: Any,
    ) -> None:
        """Writes a data set; taggings go with the ratings whose users and items they number."""
        with write_dataset(folder, "ratings", **manifest) as writer:
            append_ratings(writer, self, taggings, rows_per_group)

    @cached_property
    def matrix(self) -> sp.csr_matrix:
        """Users × items; a pair rated twice keeps its last value."""
        table = self.last_values().table
        cells = table["value"].to_numpy(), (table["user"].to_numpy(), table["item"].to_numpy())
        return sp.csr_matrix(cells, shape=(len(self.user_names), len(self.item_names)))

    def last_values(self) -> "Ratings":
        """The ratings in their order, without those that a later row of the same user and item replaces."""
        key = self.table["user"].to_numpy().astype(np.int64) * len(self.item_names) + self.table["item"].to_numpy()
        if (np.diff(np.sort(key)) > 0).all():  # much faster than to find the last of each, which are all
            return self
        _, last = np.unique(key[::-1], return_index=True)
        return self.take(np.sort(key.size - 1 - last))

    def take(self, rows: np.ndarray) -> "Ratings":
        """Some of the ratings, with all names."""
        return replace(self, table=self.table.take(rows))

    def __len__(self) -> int:
        return self.table.num_rows


@dataclass(frozen=True, eq=False)
class UserTaggings:
    """Who gave which tag to what. Users and items are numbered as in the ratings beside it, tags by their names."""

    table: pa.Table  # schema USER_TAGGINGS
    tag_names: list[str]
    item_tags: pa.Table | None = None  # schema ITEM_TAGS: tags that nobody gave, such as genres; every pair once

    def __post_init__(self) -> None:
        _check_ids(self.table, "tagging", tag=len(self.tag_names))
        if self.item_tags is not None:
            _check_ids(self.item_tags, "tag of an item", tag=len(self.tag_names))

    @classmethod
    def from_values(
        cls, ratings: Ratings, users: Sequence[str], items: Sequence[str], tags: Sequence[str]
    ) -> "UserTaggings":
        """Numbers tags in the order they are first met; ValueError for a user or item that the ratings do not name."""
        known, tag_ids = {"user": Names(ratings.user_names), "item": Names(ratings.item_names)}, Names()
        columns = {}
        for (what, names), given in zip(known.items(), (users, items), strict=True):
            columns[what] = [names.find(name) for name in given]
            if None in columns[what]:
                at = columns[what].index(None)
                raise ValueError(f"tagging {at} names {what} {given[at]!r}, which the ratings do not name")
        columns["tag"] = [tag_ids.id(tag) for tag in tags]
        return cls(pa.table(columns, schema=USER_TAGGINGS), list(tag_ids))

    @classmethod
    def load(cls, folder: Path | str, kind: str = "ratings") -> "UserTaggings | None":
        """The taggings of a data set of ratings; None where it has none."""
        data = Dataset.open(folder, kind)
        item_tags = data.read("item_tags") if data.has("item_tags") else None
        return cls(data.read("taggings"), data.names("tags"), item_tags) if data.has("taggings") else None

    def require_users_and_items(self, ratings: Ratings) -> None:
        """Raises ValueError for a user or item that the ratings beside it do not name."""
        _check_ids(self.table, "tagging", user=len(ratings.user_names), item=len(ratings.item_names))
        if self.item_tags is not None:
            _check_ids(self.item_tags, "tag of an item", item=len(ratings.item_names))

    def of_rated_items(self, ratings: Ratings) -> "UserTaggings":
        """Profiles for data whose users hardly tag: as if every user had given to the items that he rated all tags that
        these have, by themselves or from anybody."""
        self.require_users_and_items(ratings)
        pairs = [(self.table["item"].to_numpy(), self.table["tag"].to_numpy())]
        if self.item_tags is not None:
            pairs.append((self.item_tags["item"].to_numpy(), self.item_tags["tag"].to_numpy()))
        items, tags = (np.concatenate(column) for column in zip(*pairs, strict=True))
        shape = len(ratings.item_names), len(self.tag_names)
        has = sp.csr_matrix((np.ones(items.size, np.int8), (items, tags)), shape=shape)
        has.sum_duplicates()
        rated = ratings.matrix
        found = has[rated.indices]
        users = np.repeat(np.repeat(np.arange(rated.shape[0]), np.diff(rated.indptr)), np.diff(found.indptr))
        columns = [users, np.repeat(rated.indices, np.diff(found.indptr)), found.indices]
        table = pa.table([pa.array(column, pa.int32()) for column in columns], schema=USER_TAGGINGS)
        return UserTaggings(table, self.tag_names)

    def __len__(self) -> int:
        return self.table.num_rows


def append_ratings(
    writer: Writer, ratings: Ratings, taggings: UserTaggings | None, rows_per_group: int = 65536
) -> None:
    """Writes ratings in row groups, and all that goes with them."""
    for start in range(0, len(ratings), rows_per_group):
        writer.append("ratings", ratings.table.slice(start, rows_per_group))
    append_rating_names(writer, ratings, taggings)


def append_rating_names(writer: Writer, ratings: Ratings, taggings: UserTaggings | None) -> None:
    """Writes the names of users and items, and the taggings where there are some, with the names of their tags."""
    writer.append("users", names_table(ratings.user_names))
    writer.append("items", names_table(ratings.item_names))
    if ratings.item_titles is not None:
        writer.append("titles", names_table(ratings.item_titles))
    if ratings.scale is not None:
        writer.append("scale", pa.table([[float(end)] for end in ratings.scale], schema=SCALE))
    if taggings is not None:
        taggings.require_users_and_items(ratings)
        writer.append("taggings", taggings.table)
        writer.append("tags", names_table(taggings.tag_names))
        if taggings.item_tags is not None:
            writer.append("item_tags", taggings.item_tags)


def stored_rating_names(
    data: Dataset,
) -> tuple[list[str], list[str], list[str] | None, tuple[float, float] | None]:
    """What `Ratings` needs beside its table: names of users and items, titles and scale."""
    titles = data.names("titles") if data.has("titles") else None
    scale = None
    if data.has("scale"):
        (ends,) = data.read("scale").to_pylist()
        scale = ends["low"], ends["high"]
    return data.names("users"), data.names("items"), titles, scale


def _check_ids(table: pa.Table, what: str, **sizes: int) -> None:
    for column, size in sizes.items():
        ids = table[column].to_numpy()
        if (bad := np.flatnonzero((ids < 0) | (ids >= size))).size:
            raise ValueError(f"{what} {bad[0]} names {column} {ids[bad[0]]}, expected 0..{size - 1}")
