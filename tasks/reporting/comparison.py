"""The comparison of models as a table: its rows, and how it is written."""

from dataclasses import dataclass, field
from typing import Any

RELIABILITY = "reliability.png"  # the picture of all models' probabilities, beside the table


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    model: str
    measures: dict[str, dict[str, float]]  # name -> value, low, high
    shown: dict[str, str]
    train_seconds: float | None
    threshold_seconds: float | None  # of finding them, which is not training
    evaluate_seconds: float | None
    difference: dict[str, float] | None  # to the best model on the primary measure: difference, low, high, p_value
    to_best: str  # the same, as it is shown
    to_other: str = ""  # to the model that all are compared against, where one was named


@dataclass(frozen=True)
class Report:
    """The table, best model first; `about` says on what it was measured and what the intervals are over."""

    title: str
    about: str
    primary: str
    tested: int  # documents or ratings, in the smallest test set
    columns: list[str]
    rows: list[Row]
    folder: str
    key: str
    pictures: list[str] = field(default_factory=list)  # file names of those that a page shows beside the table
    against: str = ""  # the model that all others are also compared with
    more: str = ""  # Markdown that follows the table

    def markdown(self, level: str = "#") -> str:
        head = self.head()
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        lines += ["| " + " | ".join(cells) + " |" for cells in self.cells()]
        return f"{level} {self.title}\n\n{self.about}\n\n" + "\n".join(lines) + "\n" + self.more

    def head(self) -> list[str]:
        other = [f"{self.primary} to {self.against} (p)"] if self.against else []
        return ["model", *self.columns, f"{self.primary} to best", *other, "train s", *self._thresholds()]

    def cells(self) -> list[list[str]]:
        """As many a row as `head` has."""
        cells = []
        for row in self.rows:
            times = [row.train_seconds, *(row.threshold_seconds for _ in self._thresholds())]
            shown = (row.shown.get(column, "") for column in self.columns)
            other = [row.to_other] if self.against else []
            cells.append([row.model, *shown, row.to_best, *other, *map(_seconds, times)])
        return cells

    def _thresholds(self) -> list[str]:
        return ["thresholds s"] if any(row.threshold_seconds is not None for row in self.rows) else []

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Report":
        """The report whose fields, and those of its rows, these are."""
        return cls(**plain | {"rows": [Row(**row) for row in plain["rows"]]})


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
