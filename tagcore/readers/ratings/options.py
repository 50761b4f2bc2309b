"""Options of readers of ratings, and the names that columns usually have."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from tagcore.readers.csv_table import CsvLimits

USUAL_NAMES = {
    "user": ("user", "user_id", "userid"),
    "item": ("item", "item_id", "itemid", "movieid", "movie_id", "artistid", "artist_id", "bookid", "book_id"),
    "rating": ("rating", "value", "weight", "count", "plays"),
    "time": ("time", "timestamp"),
    "tag": ("tag",),
}
COUNTS = ("weight", "count", "plays")  # columns that say how often, not how good
MOVIES = ("movieid", "movie_id")
MOVIE_STARS = (0.5, 5.0)  # the scale of MovieLens and of HetRec's movies


@dataclass(frozen=True, kw_only=True)
class RatingOptions(CsvLimits):
    """Names of columns where they differ from the usual ones, and of the files beside the ratings.

    `taggings` is the file of tags that users gave, `titles` that of what items are called. `scale` is the lowest and
    the highest rating that there may be; without it MovieLens has 0.5 to 5 and all others any number. With `counts`
    values say how often and are taken as log10(1 + count); without it the name of the column decides. `duplicates`
    says what is done with a pair that was rated before: its last rating counts, or it is refused.
    """

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    tag: str | None = None
    taggings: str | None = None
    titles: str | None = None
    scale: tuple[float, float] | None = None
    counts: bool | None = None
    duplicates: Literal["last", "refuse"] = "last"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.duplicates not in ("last", "refuse"):
            raise ValueError(f'duplicates is {self.duplicates!r}, expected "last" or "refuse"')
        if self.scale is not None:
            given: Any = self.scale
            numbers = isinstance(given, list | tuple) and all(isinstance(end, int | float) for end in given)
            if not numbers or len(given) != 2 or not -math.inf < given[0] < given[1] < math.inf:
                raise ValueError(f"scale is {given!r}, expected the lowest and the highest rating, such as [1, 5]")
            object.__setattr__(self, "scale", (float(given[0]), float(given[1])))

    @classmethod
    def of(cls, given: dict[str, Any]) -> "RatingOptions":
        """Checks plain options; ValueError names one that there is not."""
        known = cls.__dataclass_fields__
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"unknown option {unknown[0]!r}, expected one of {', '.join(known)}")
        return cls(**given)
