"""Given labels against true ones, counted per label and per document: micro and macro averages, Hamming loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagcore.metrics.intervals import Ratio
from tagcore.metrics.label_quality import LabelCounts, Quality, count_labels


@dataclass(frozen=True, eq=False)
class Tally:
    """How many labels were given, are true, and are both: per label, and per document. `+` joins later documents."""

    tags: LabelCounts
    right: np.ndarray
    given: np.ndarray
    true: np.ndarray
    macro_over: np.ndarray | None = None  # the labels that macro averages are over; all, where there is no mask

    def micro_precision(self) -> Ratio:
        """The share of all given labels that is right."""
        return Ratio(self.right, self.given)

    def micro_recall(self) -> Ratio:
        """The share of all true labels that was given."""
        return Ratio(self.right, self.true)

    def micro_f1(self) -> Ratio:
        """The harmonic mean of micro precision and recall."""
        return Ratio(2 * self.right, self.given + self.true)

    def macro(self) -> Quality:
        """Means over labels of precision, recall and F1."""
        return (self.tags if self.macro_over is None else self.tags.select(self.macro_over)).macro()

    def hamming_loss(self) -> np.ndarray:
        """For every document the share of all L labels that it has and was not given, or was given and has not."""
        return (self.true + self.given - 2 * self.right) / len(self.tags.tp)

    def __add__(self, later: "Tally") -> "Tally":
        names = ("right", "given", "true")
        right, given, true = (np.concatenate([getattr(tally, name) for tally in (self, later)]) for name in names)
        return Tally(self.tags + later.tags, right, given, true, self.macro_over)


def tally_labels(Y: Any, predicted: Any) -> Tally:
    """Compares predicted labels with the truth, both n × L; a label is present iff > 0."""
    by_label, by_row = count_labels(Y, predicted)
    return Tally(by_label, *by_row)
