"""What there is to know of a measure besides its arithmetic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tagcore.metrics.intervals import Estimate, Ratio

SUGGESTED = 5  # suggestions that are taken as labels, and whose probabilities are looked at

Of = Literal[
    "suggestions",  # the first k tags of every document, or the first k items of every user: `Hits`
    "recommendations",  # the first k items of every user, against all items that there are: `Recommendations`
    "order",  # the same, against how many users gave each tag: `SuggestedOrder`
    "rankings",  # the scores of all pairs of a document and a tag: `AUC`
    "labels",  # the first SUGGESTED tags of every document, taken as its labels: `Tally`
    "propensities",  # suggestions, weighed by how likely annotators forget a tag: `PropensityHits`
    "rule",  # the labels that a labelling rule gives: `Tally`
    "probabilities",  # what a tagger promises of its suggestions: `SuggestionProbabilities`
    "times",  # what single documents take: `TaggingTimes`
    "costs",  # what training and many documents take: `Costs`
    "classes",  # predicted against true classes, and what that cost: `ClassOutcomes`
    "ratings",  # predicted against true ratings, added up user by user: `RatingErrors`
    "new users",  # the same, of users without a rating to learn from
]
At = Literal["no k", "every k", "suggested", "curve"]  # each k of a recipe; SUGGESTED; only quality against k
Decides = Literal["nothing", "best", "champion"]
LearnsFrom = Literal["documents", "ratings", "classes"]  # what a measured model was trained on
Place = Literal["report", "report picture", "model card", "curves", "quality at k"]
# one value per document or user; what every document adds to a ratio; one number, with an interval of its own or none
Values = np.ndarray | Ratio | Estimate | float


@dataclass(frozen=True)
class Measure:
    """One measure. In tables its k or labelling rule follows the name: P@5, macro-F1 (half).

    Models are ranked by a measure that decides who is "best", which needs a value for every document, or for every
    user where it is of ratings, every row where it is of classes. One that decides on the "champion" is also computed
    for any stored model: for a tagger from its suggestions alone, for a recommender from its predictions.
    """

    name: str
    of: Of
    compute: Callable[..., Values]  # takes what the measure is of, and k where it has one
    at: At = "no k"
    decides: Decides = "nothing"
    lower_is_better: bool = False
    shown: tuple[Place, ...] = ()
    shown_at: tuple[int, ...] = ()  # the ks that tables show
    column: str = ""  # its name in an evaluation's table of quality against k
    of_items: bool = False  # of suggestions: also of the items that users are recommended
    shown_at_items: tuple[int, ...] = ()  # the ks that tables of recommenders show

    def __post_init__(self) -> None:
        of_suggestions = self.of == "suggestions" and self.at == "every k" and not self.lower_is_better
        if self.decides == "champion" and not of_suggestions and self.of != "ratings":
            expected = "a measure of suggestions at every k, more being better, or one of ratings"
            raise ValueError(f"{self.name} decides on the champion: expected {expected}")

    def is_of(self, learns_from: LearnsFrom) -> bool:
        """Whether it measures models that learn from this."""
        if self.of in ("ratings", "new users", "recommendations"):
            return learns_from == "ratings"
        if self.of == "classes":
            return learns_from == "classes"
        return learns_from == "documents" or (self.of_items and learns_from == "ratings")

    def full_name(self, k: int | None = None, rule: str | None = None) -> str:
        """The name in tables."""
        return self.name + (f"@{k}" if k is not None else "") + (f" ({rule})" if rule is not None else "")

    def ks(self, every: Sequence[int]) -> Sequence[int | None]:
        """The ks of its names, where measures at every k are at these; none where it is only in the table against k."""
        fixed: dict[At, Sequence[int | None]] = {"no k": (None,), "suggested": (SUGGESTED,), "curve": ()}
        return fixed.get(self.at, every)
