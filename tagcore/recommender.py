"""What is stored and served of a model of ratings: model, names of users, items and tags, titles; names go in."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagcore.corpus import Names, names_table
from tagcore.rating_model import UNKNOWN, RatingModel
from tagcore.ratings import Ratings, UserTaggings
from tagcore.store.datasets import Dataset, write_dataset
from tagcore.text.tag_names import plain_tag


class Recommendation(NamedTuple):
    """An item, the value that the user would give it as far as the model can tell, and what people call it."""

    item: str
    score: float
    title: str = ""  # where the data has titles

    @property
    def told(self) -> str:
        """Its title, or its name where it has none."""
        return self.title or self.item


@dataclass(frozen=True, eq=False)
class Recommender:
    """The name of a user in, names of items out.

    >>> import tempfile
    >>> from tagcore import Ratings, load_model
    >>> from tagcore.baselines import ItemMean
    >>> ratings = Ratings.from_values(["ann", "bob", "bob"], ["tea", "tea", "jam"], [5, 4, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = ItemMean().fit(ratings)
    ...     Recommender.of(model, ratings).save(Path(folder, "recommender"))
    ...     load_model(Path(folder, "recommender")).recommend("ann")
    [Recommendation(item='jam', score=3.0, title='')]
    """

    model: RatingModel
    user_names: list[str]
    item_names: list[str]
    item_titles: list[str] | None = None  # "" for an item without one
    tag_names: list[str] | None = None  # of the tags that the model was trained on

    def __post_init__(self) -> None:
        sizes = [("user", self.user_names, self.model.n_users_), ("item", self.item_names, self.model.n_items_)]
        if self.tag_names is not None and (tags := getattr(self.model, "n_tags_", None)) is not None:
            sizes.append(("tag", self.tag_names, tags))
        for what, names, size in sizes:
            if len(names) != size:
                raise ValueError(f"{len(names)} {what} names, the model was trained on {size}")
            if len(set(names)) != len(names):
                raise ValueError(f"two {what}s have one name, expected {len(names)} different ones")
        if self.item_titles is not None and len(self.item_titles) != len(self.item_names):
            raise ValueError(f"{len(self.item_titles)} titles, the model was trained on {len(self.item_names)} items")

    @classmethod
    def of(cls, model: RatingModel, ratings: Ratings, taggings: UserTaggings | None = None) -> "Recommender":
        """The recommender of a model and what it was fitted on."""
        tags = None if taggings is None else taggings.tag_names
        return cls(model, ratings.user_names, ratings.item_names, ratings.item_titles, tags)

    def recommend(self, user: str, k: int = 5, exclude_seen: bool = True) -> list[Recommendation]:
        """The k best items for a user, best first; ValueError for one that the model does not know."""
        return self._named(*self.model.recommend(self._user(user), k, exclude_seen))

    def knows(self, user: str) -> bool:
        """Whether the model was trained with this user."""
        return self._users.find(user) is not None

    def recommend_all(self, users: list[str], k: int = 5, exclude_seen: bool = True) -> list[list[Recommendation]]:
        """The k best items for each of several users; who is not known gets what the model falls back on."""
        items, scores = self.model.top_k(self.user_ids(users), k, exclude_seen)
        return [self._named(*pair) for pair in zip(items, scores, strict=True)]

    @property
    def takes_tags(self) -> bool:
        """Whether the model can recommend to someone of whom only tags are known."""
        weight = getattr(self.model, "beta", 1.0)  # of tags: PMF is TagiCoFi without any
        return bool(self.tag_names) and hasattr(self.model, "recommend_for_tags") and weight > 0

    def recommend_for_tags(self, tags: Sequence[str], k: int = 5) -> list[Recommendation]:
        """The k best items for someone unknown who uses these tags, best first.

        Tags are taken as they are told, or else evened out as readers do. ValueError where the model learns nothing
        from tags, or knows none of these; `unknown_tags` names the ones that it does not know.
        """
        if not self.takes_tags:
            name = type(self.model).__name__
            raise ValueError(f"{name} has learnt nothing from tags: it cannot recommend by them, TagiCoFi can")
        assert self.tag_names is not None
        known = [number for tag in tags if (number := self._tag(tag)) is not None]
        if not known:
            told = ", ".join(repr(tag) for tag in tags) or "no tag"
            raise ValueError(f"{told}: none of the {len(self.tag_names)} tags that this model knows")
        return self._named(*self.model.recommend_for_tags(known, k))

    def unknown_tags(self, tags: Sequence[str]) -> list[str]:
        """Those of the tags that the model does not know."""
        return [tag for tag in tags if self._tag(tag) is None]

    def predict(self, user: str, item: str) -> float:
        """The value that the user would give to the item; ValueError for a name that the model does not know."""
        number = self._items.find(item)
        if number is None:
            raise ValueError(f"no item {item!r}: it is none of the {len(self.item_names)} that this model knows")
        return float(self.model.predict([self._user(user)], [number])[0])

    def user_ids(self, names: list[str]) -> np.ndarray:
        """The model's ids of users; `UNKNOWN` for those that it does not know."""
        return _ids(self._users, names)

    def item_ids(self, names: list[str]) -> np.ndarray:
        """The model's ids of items; `UNKNOWN` for those that it does not know."""
        return _ids(self._items, names)

    def save(self, folder: Path | str, **manifest: dict) -> None:
        """Fills a folder that must not stand yet; `manifest` are the parameters and inputs it was made from."""
        with write_dataset(folder, "recommender", **manifest) as writer:
            self.model.save(writer.folder / "model")
            writer.append("users", names_table(self.user_names))
            writer.append("items", names_table(self.item_names))
            if self.item_titles is not None:
                writer.append("titles", names_table(self.item_titles))
            if self.tag_names is not None:
                writer.append("tags", names_table(self.tag_names))

    @classmethod
    def load(cls, folder: Path | str) -> "Recommender":
        """The stored recommender; ValueError says what is wrong with a folder that holds none."""
        data = Dataset.open(folder, "recommender")
        titles, tags = (data.names(table) if data.has(table) else None for table in ("titles", "tags"))
        return cls(RatingModel.load(data.folder / "model"), data.names("users"), data.names("items"), titles, tags)

    def _named(self, items: np.ndarray, scores: np.ndarray) -> list[Recommendation]:
        pairs = zip(items, scores, strict=True)
        titles = self.item_titles
        return [
            Recommendation(self.item_names[i], float(score), "" if titles is None else titles[i])
            for i, score in pairs
            if i != UNKNOWN
        ]

    def _user(self, name: str) -> int:
        number = self._users.find(name)
        if number is None:
            raise ValueError(f"no user {name!r}: it is none of the {len(self.user_names)} that this model knows")
        return number

    @cached_property
    def _users(self) -> Names:
        return Names(self.user_names)

    @cached_property
    def _items(self) -> Names:
        return Names(self.item_names)

    def _tag(self, tag: str) -> int | None:
        """The model's id of a tag as it is told or evened out, None where it knows neither."""
        number = self._tags.find(tag)
        return self._tags.find(plain_tag(tag)) if number is None else number

    @cached_property
    def _tags(self) -> Names:
        return Names(self.tag_names or ())


def _ids(known: Names, names: list[str]) -> np.ndarray:
    numbers = (known.find(name) for name in names)
    return np.fromiter((UNKNOWN if number is None else number for number in numbers), np.int64, len(names))
