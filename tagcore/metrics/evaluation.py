"""The result of measuring one model: what it consists of, and how it is stored."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from tagcore.metrics.intervals import Estimate
from tagcore.metrics.measure import LearnsFrom

FORMAT = 4


@dataclass(frozen=True)
class TagCounts:
    """What a tagger was measured on, and what had to be left out of the mean AUCs for having no positive or no
    negative."""

    documents: int
    untagged_documents: int
    tags: int
    tags_in_test: int
    tags_in_train: int | None
    documents_without_auc: int
    tags_without_auc: int


@dataclass(frozen=True)
class RatingCounts:
    """What a recommender was measured on; its fallback answered for users and items that training did not have."""

    ratings: int
    users: int
    items: int
    ratings_of_new_users: int
    ratings_of_new_items: int


@dataclass(frozen=True)
class ClassCounts:
    """What a classifier was measured on; rows of a class that it had not seen are all wrong."""

    rows: int
    classes: int
    rows_of_new_classes: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures of one model on one test set, with intervals over what the test set consists of.

    `TagEvaluation` is of a tagger, `RatingEvaluation` of a recommender, `ClassEvaluation` of a classifier; `load` gives
    the one that a folder holds.
    """

    LEARNS_FROM: ClassVar[LearnsFrom]
    HELD_OUT: ClassVar[str]  # what is held out to measure on
    UNITS: ClassVar[str]  # what intervals are over and models are compared on
    COUNTS: ClassVar[type]
    TABLES: ClassVar[tuple[str, ...]]

    summary: dict[str, Estimate]
    counts: Any

    @property
    def tested(self) -> int:
        """How many documents, ratings or rows were held out to measure on."""
        raise NotImplementedError  # abstract

    @property
    def per_unit(self) -> pa.Table:
        """One value per unit of every measure that has such; their mean is the measure."""
        raise NotImplementedError  # abstract

    def save(self, folder: Path | str) -> None:
        """Fills a folder; whoever needs it whole or not at all gives a temporary one and renames it."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.TABLES:
            pq.write_table(getattr(self, name), folder / f"{name}.parquet", compression="zstd")
        summary = {name: {k: _plain(v) for k, v in asdict(m).items()} for name, m in self.summary.items()}
        head = {"format": FORMAT, "of": self.LEARNS_FROM, "summary": summary, "counts": asdict(self.counts)}
        text = json.dumps(head, indent=1, allow_nan=False, ensure_ascii=False)
        (folder / "evaluation.json").write_text(text, encoding="utf-8")

    @staticmethod
    def load(folder: Path | str) -> "Evaluation":
        """The evaluation that a folder holds; ValueError names the file that is no part of one."""
        folder = Path(folder)
        path = folder / "evaluation.json"
        try:
            head = json.loads(path.read_text(encoding="utf-8"))
            if head["format"] != FORMAT:
                raise ValueError(f"format {head['format']!r}, this version reads {FORMAT}")
            kind: Any = {kind.LEARNS_FROM: kind for kind in (TagEvaluation, RatingEvaluation, ClassEvaluation)}[
                head["of"]
            ]
            summary = {
                name: Estimate(**{k: math.nan if v is None else v for k, v in bounds.items()})
                for name, bounds in head["summary"].items()
            }
            counts = kind.COUNTS(**head["counts"])
            tables = {}
            for name in kind.TABLES:
                path = folder / f"{name}.parquet"
                tables[name] = pq.read_table(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: not part of a stored evaluation ({error!r})") from error
        return kind(summary=summary, counts=counts, **tables)


@dataclass(frozen=True, eq=False)
class TagEvaluation(Evaluation):
    """Measures of a tagger on held-out documents.

    Intervals are over documents. Macro measures, micro AUC and ECE have none: resampled documents lose rare tags
    and scatter bins, which biases these. A k above the number of tags counts the missing suggestions as wrong.
    Documents without a tag count as 0, but as 1 in LRAP, where scikit-learn calls any order of no tags right.
    """

    LEARNS_FROM = HELD_OUT = "documents"
    UNITS = "documents"
    COUNTS = TagCounts
    TABLES = ("per_document", "per_tag", "breakdown", "histogram", "reliability", "curve", "labelling", "expected_f")

    counts: TagCounts
    per_document: pa.Table  # document (its row in the test set) and one column per measure of single documents
    per_tag: pa.Table
    breakdown: pa.Table  # popular against rare tags: head, torso, tail, unseen; empty without training counts
    histogram: pa.Table  # k, correct, documents: how many have so many right among the first k
    reliability: pa.Table  # bins of equal width and of equal mass, told apart by `strategy`
    curve: pa.Table  # k and means at k; kendall is of user counts, over the suggestions or with all tags of users
    labelling: pa.Table  # one line for every labelling rule of the evaluation, empty where the model cannot follow it
    expected_f: pa.Table  # expected against true F1 over the thresholds of the sampled rule

    @property
    def tested(self) -> int:
        return self.counts.documents

    @property
    def per_unit(self) -> pa.Table:
        return self.per_document.drop_columns(["document"])


@dataclass(frozen=True, eq=False)
class RatingEvaluation(Evaluation):
    """Measures of a recommender on held-out ratings.

    Intervals are over users: ratings of one user are alike, so that more of them do not tell as much as more users.
    Measures of first items are means over users who liked some held-out item; others have NaN.
    """

    LEARNS_FROM = HELD_OUT = "ratings"
    UNITS = "users"
    COUNTS = RatingCounts
    TABLES = ("per_user",)

    counts: RatingCounts
    per_user: pa.Table  # user, ratings to learn from and held out, sums of errors, and one column per measure

    @property
    def tested(self) -> int:
        return self.counts.ratings

    @property
    def per_unit(self) -> pa.Table:
        return self.per_user.drop_columns(["user", "train_ratings", "ratings", "absolute_error", "squared_error"])


@dataclass(frozen=True, eq=False)
class ClassEvaluation(Evaluation):
    """Measures of a classifier on held-out rows; evidence and costs are single numbers without an interval."""

    LEARNS_FROM = "classes"
    HELD_OUT = UNITS = "rows"
    COUNTS = ClassCounts
    TABLES = ("per_row",)

    counts: ClassCounts
    per_row: pa.Table  # the true and the predicted class, and one column per measure of single rows

    @property
    def tested(self) -> int:
        return self.counts.rows

    @property
    def per_unit(self) -> pa.Table:
        return self.per_row.drop_columns(["true", "predicted"])


def _plain(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
