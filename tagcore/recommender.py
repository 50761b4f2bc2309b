"""What is stored and served of a model of ratings: the model, names of users and items in one folder; names go in."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagcore.corpus import Names, names_table
from tagcore.rating_model import UNKNOWN, RatingModel
from tagcore.store.datasets import Dataset, write_dataset


class Recommendation(NamedTuple):
    item: str
    score: float  # the value that the user would give it, as far as the model can tell


@dataclass(frozen=True, eq=False)
class Recommender:
    """The name of a user in, names of items out.

    >>> import tempfile
    >>> from tagcore import Ratings, load_model
    >>> from tagcore.baselines import ItemMean
    >>> ratings = Ratings.from_values(["ann", "bob", "bob"], ["tea", "tea", "jam"], [5, 4, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = ItemMean().fit(ratings)
    ...     Recommender(model, ratings.user_names, ratings.item_names).save(Path(folder, "recommender"))
    ...     load_model(Path(folder, "recommender")).recommend("ann")
    [Recommendation(item='jam', score=3.0)]
    """

    model: RatingModel
    user_names: list[str]
    item_names: list[str]

    def __post_init__(self) -> None:
        for what, names, size in (
            ("user", self.user_names, self.model.n_users_),
            ("item", self.item_names, self.model.n_items_),
        ):
            if len(names) != size:
                raise ValueError(f"{len(names)} {what} names, the model was trained on {size}")
            if len(set(names)) != len(names):
                raise ValueError(f"two {what}s have one name, expected {len(names)} different ones")

    def recommend(self, user: str, k: int = 5, exclude_seen: bool = True) -> list[Recommendation]:
        """The k best items for a user, best first; ValueError for one that the model does not know."""
        return self._named(*self.model.recommend(self._user(user), k, exclude_seen))

    def recommend_all(self, users: list[str], k: int = 5, exclude_seen: bool = True) -> list[list[Recommendation]]:
        """The k best items for each of several users; who is not known gets what the model falls back on."""
        items, scores = self.model.top_k(self.user_ids(users), k, exclude_seen)
        return [self._named(*pair) for pair in zip(items, scores, strict=True)]

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

    @classmethod
    def load(cls, folder: Path | str) -> "Recommender":
        """The stored recommender; ValueError says what is wrong with a folder that holds none."""
        data = Dataset.open(folder, "recommender")
        return cls(RatingModel.load(data.folder / "model"), data.names("users"), data.names("items"))

    def _named(self, items: np.ndarray, scores: np.ndarray) -> list[Recommendation]:
        pairs = zip(items, scores, strict=True)
        return [Recommendation(self.item_names[i], float(score)) for i, score in pairs if i != UNKNOWN]

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


def _ids(known: Names, names: list[str]) -> np.ndarray:
    numbers = (known.find(name) for name in names)
    return np.fromiter((UNKNOWN if number is None else number for number in numbers), np.int64, len(names))
