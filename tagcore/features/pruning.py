"""Leaving out of rare tags and of users who hardly tag, before an experiment: never inside a model."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tagcore.ratings import Ratings, UserTaggings
from tagcore.store.schemas import USER_TAGGINGS


@dataclass(frozen=True)
class Pruning:
    """A tag stays that is on so many items, a user who has given so many tags, an item that bears so many; each of them
    different. With `to_fixed_point` until nothing changes, which does not depend on the order; else in one pass: tags,
    users, items."""

    min_items_per_tag: int = 3
    min_tags_per_user: int = 3
    min_tags_per_item: int = 3
    to_fixed_point: bool = True

    def __post_init__(self) -> None:
        for name in ("min_items_per_tag", "min_tags_per_user", "min_tags_per_item"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected a number from 0")

    def apply(self, ratings: Ratings, taggings: UserTaggings) -> tuple[Ratings, UserTaggings]:
        """The taggings of users with ratings that stay, and all ratings of users who stay, on any item.

        What has neither is no longer named; what remains keeps its order. ValueError where nothing remains.
        """
        columns = [taggings.table[name].to_numpy() for name in ("user", "item", "tag")]
        sizes = len(ratings.user_names), len(ratings.item_names), len(taggings.tag_names)
        rated = np.bincount(ratings.table["user"].to_numpy(), minlength=sizes[0]) > 0
        kept = rated[columns[0]]
        users, items, tags = (column[kept].astype(np.int64) for column in columns)
        keys = np.unique((users * sizes[1] + items) * sizes[2] + tags)
        triples = np.column_stack([keys // (sizes[1] * sizes[2]), keys // sizes[2] % sizes[1], keys % sizes[2]])
        rules = ((2, 1, self.min_items_per_tag), (0, 2, self.min_tags_per_user), (1, 2, self.min_tags_per_item))
        before = -1
        while before != len(triples):
            before = len(triples)
            for whose, counted, least in rules:
                have = _distinct(triples[:, whose], triples[:, counted], sizes[whose])
                triples = triples[have[triples[:, whose]] >= least]
            if not self.to_fixed_point:
                break
        mine = np.isin(ratings.table["user"].to_numpy(), triples[:, 0])
        if not mine.any():
            raise ValueError(f"pruning leaves none of {sizes[0]:,} users: too few tags are used often enough ({self})")
        return _renumbered(ratings.take(np.flatnonzero(mine)), triples, taggings)


def _distinct(groups: np.ndarray, members: np.ndarray, size: int) -> np.ndarray:
    """How many different members every group has."""
    width = int(members.max(initial=0)) + 1
    return np.bincount(np.unique(groups * width + members) // width, minlength=size)


def _renumbered(ratings: Ratings, triples: np.ndarray, taggings: UserTaggings) -> tuple[Ratings, UserTaggings]:
    """Names only what has a rating or a tagging."""
    table = ratings.table
    users = np.unique(table["user"].to_numpy())
    items = np.unique(np.concatenate([table["item"].to_numpy(), triples[:, 1]]))
    item_tags = taggings.item_tags
    if item_tags is not None:
        item_tags = item_tags.filter(pa.array(np.isin(item_tags["item"].to_numpy(), items)))
    of_items = np.empty(0, np.int32) if item_tags is None else item_tags["tag"].to_numpy()
    tags = np.unique(np.concatenate([triples[:, 2], of_items]))
    for name, known in (("user", users), ("item", items)):
        table = _replaced(table, name, known)
    if item_tags is not None:
        item_tags = _replaced(_replaced(item_tags, "item", items), "tag", tags)
    columns = [np.searchsorted(known, triples[:, at]) for at, known in enumerate((users, items, tags))]
    kept = replace(
        ratings,
        table=table,
        user_names=[ratings.user_names[user] for user in users],
        item_names=[ratings.item_names[item] for item in items],
        item_titles=None if ratings.item_titles is None else [ratings.item_titles[item] for item in items],
    )
    numbers = pa.table([pa.array(column, pa.int32()) for column in columns], schema=USER_TAGGINGS)
    return kept, UserTaggings(numbers, [taggings.tag_names[tag] for tag in tags], item_tags)


def _replaced(table: pa.Table, name: str, known: np.ndarray) -> pa.Table:
    """The table with the ids of a column numbered by their place among the known ones."""
    at = table.schema.get_field_index(name)
    ids = pa.array(np.searchsorted(known, table[name].to_numpy()), pa.int32())
    return table.set_column(at, table.schema.field(at), ids)
