"""How much was rated and tagged: the table that papers on recommending begin with."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagcore.ratings import Ratings, UserTaggings


@dataclass(frozen=True)
class Spread:
    """Of how many each one has: the fewest, mean, standard deviation (ddof 1) and most, over those that have any."""

    fewest: int
    mean: float
    deviation: float
    most: int

    @classmethod
    def of(cls, ids: np.ndarray) -> "Spread":
        """Counts how often every id is there."""
        counts = np.unique(ids, return_counts=True)[1]
        deviation = counts.std(ddof=1) if counts.size > 1 else 0.0
        return cls(int(counts.min()), float(counts.mean()), float(deviation), int(counts.max()))


@dataclass(frozen=True)
class RatingStatistics:
    """What a set of ratings holds; a pair that is rated twice counts once."""

    ratings: int
    users: int  # with a rating
    items: int
    unrated_users: int  # named by taggings alone
    unrated_items: int
    values: tuple[float, float, float, float]  # lowest, mean, standard deviation, highest
    per_user: Spread
    per_item: Spread
    taggings: int
    tags: int
    taggers: int
    user_tags: int  # different pairs of a user and a tag

    @classmethod
    def of(cls, ratings: Ratings, taggings: UserTaggings | None) -> "RatingStatistics":
        """Counts ratings and taggings."""
        ratings = ratings.last_values()
        users, items, values = (ratings.table[column].to_numpy() for column in ("user", "item", "value"))
        taggers = tags = np.empty(0, np.int32)
        if taggings is not None:
            taggers, tags = taggings.table["user"].to_numpy(), taggings.table["tag"].to_numpy()
        n_users, n_items = np.unique(users).size, np.unique(items).size
        deviation = float(values.std(ddof=1)) if values.size > 1 else 0.0
        return cls(
            ratings=len(ratings),
            users=n_users,
            items=n_items,
            unrated_users=len(ratings.user_names) - n_users,
            unrated_items=len(ratings.item_names) - n_items,
            values=(float(values.min()), float(values.mean()), deviation, float(values.max())),
            per_user=Spread.of(users),
            per_item=Spread.of(items),
            taggings=tags.size,
            tags=np.unique(tags).size,
            taggers=np.unique(taggers).size,
            user_tags=np.unique(taggers.astype(np.int64) * (int(tags.max(initial=0)) + 1) + tags).size,
        )

    @classmethod
    def of_folder(cls, folder: Path | str) -> "RatingStatistics":
        """Counts what a stored data set of ratings holds."""
        return cls.of(Ratings.load(folder), UserTaggings.load(folder))

    def markdown(self) -> str:
        """A table of them."""
        low, mean, deviation, high = self.values
        lines = [
            ("ratings", f"{self.ratings:,}", f"{low:g}", f"{mean:.2f} ± {deviation:.2f}", f"{high:g}"),
            ("ratings of a user", f"{self.users:,} users", *_cells(self.per_user)),
            ("ratings of an item", f"{self.items:,} items", *_cells(self.per_item)),
        ]
        if self.taggings:
            lines.append(("taggings", f"{self.taggings:,}", "", "", ""))
            lines.append(("tags", f"{self.tags:,}", "", "", ""))
            lines.append(("users who tag", f"{self.taggers:,}", "", "", ""))
            lines.append(("different tags of users", f"{self.user_tags:,}", "", "", ""))
        head = "| | number | least | mean ± deviation | most |\n|---|---|---|---|---|\n"
        return head + "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _cells(spread: Spread) -> tuple[str, str, str]:
    return f"{spread.fewest:,}", f"{spread.mean:.1f} ± {spread.deviation:.1f}", f"{spread.most:,}"
