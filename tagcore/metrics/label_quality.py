"""Precision, recall and F1 of predicted labels: per tag, micro and macro; 0 where a denominator is 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tagcore.label_matrix import present_labels
from tagcore.labelling.labels import top_k_labels
from tagcore.metrics.kernels import labels as kernels
from tagcore.numeric.read_only import freeze


class Quality(NamedTuple):
    """Precision, recall and F1: numbers, or arrays with one value per label."""

    precision: Any
    recall: Any
    f1: Any


class RowCounts(NamedTuple):
    """Counts per row: right predictions, all predictions, and true labels."""

    right: np.ndarray
    given: np.ndarray
    true: np.ndarray


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Counts per label: right predictions, wrong ones, and labels that were missed. `+` joins disjoint rows."""

    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray

    def per_label(self) -> Quality:
        """Precision, recall and F1 of every label."""
        return _quality(self.tp, self.fp, self.fn)

    def micro(self) -> Quality:
        """Precision, recall and F1 of all cells pooled."""
        pooled = _quality(*(np.atleast_1d(c.sum()) for c in (self.tp, self.fp, self.fn)))
        return Quality(*(float(v[0]) for v in pooled))

    def macro(self) -> Quality:
        """Means over all labels, also those that are neither true nor predicted anywhere."""
        return Quality(*(float(v.mean()) for v in self.per_label()))

    def select(self, labels: np.ndarray) -> "LabelCounts":
        """Gives the counts of some labels only, named by a mask or by ids."""
        return LabelCounts(self.tp[labels], self.fp[labels], self.fn[labels])

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        return LabelCounts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)


def label_counts(Y: Any, predicted: Any) -> LabelCounts:
    """Compares predicted labels with the truth, both n × L; a label is present iff > 0."""
    return count_labels(Y, predicted)[0]


def label_counts_at(Y: Any, top: np.ndarray, k: int) -> LabelCounts:
    """Counts the first k suggestions of a ranking (n, columns): tag-precision and tag-recall at k, micro and macro."""
    top = np.asarray(top)
    if not 1 <= k <= top.shape[1]:
        raise ValueError(f"k is {k}, expected 1 to {top.shape[1]}, the columns of the ranking")
    return label_counts(Y, top_k_labels(top[:, :k], np.shape(Y)[1]))


def count_labels(Y: Any, predicted: Any) -> tuple[LabelCounts, RowCounts]:
    """Compares predicted labels with the truth, both n × L, by label and by row; a label is present iff > 0."""
    if np.shape(Y) != np.shape(predicted):
        raise ValueError(f"the truth has shape {np.shape(Y)}, the prediction {np.shape(predicted)}")
    truth, prediction = (present_labels(M, np.shape(Y)[0]) for M in (Y, predicted))
    n, n_labels = truth.shape
    true, given, tp, right = (np.zeros(size, np.int64) for size in (n_labels, n_labels, n_labels, n))
    starts, labels, given_starts, given_labels = (
        freeze(part) for M in (truth, prediction) for part in (M.indptr, M.indices)
    )
    kernels.count_labels(starts, labels, given_starts, given_labels, true, given, tp, right)
    by_row = RowCounts(right, np.diff(prediction.indptr), np.diff(truth.indptr))
    return LabelCounts(tp=tp, fp=given - tp, fn=true - tp), by_row


def per_tag_table(
    counts: LabelCounts, train_counts: np.ndarray | None = None, names: Sequence[str] | None = None
) -> pa.Table:
    """Makes a table of one row per tag, by id; without `train_counts` its column is null, without `names` ids serve."""
    n_labels = len(counts.tp)
    for argument, entries in (("train_counts", train_counts), ("names", names)):
        if entries is not None and len(entries) != n_labels:
            raise ValueError(f"{argument} has {len(entries)} entries, expected one for each of {n_labels} tags")
    trained = pa.nulls(n_labels, pa.int64()) if train_counts is None else pa.array(np.asarray(train_counts, np.int64))
    quality = counts.per_label()
    return pa.table(
        {
            "tag": pa.array([str(i) for i in range(n_labels)] if names is None else names, pa.string()),
            "train_count": trained,
            "test_count": counts.tp + counts.fn,
            "predicted": counts.tp + counts.fp,
            "precision": quality.precision,
            "recall": quality.recall,
            "f1": quality.f1,
        }
    )


def _quality(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray) -> Quality:
    return Quality(_ratio(tp, tp + fp), _ratio(tp, tp + fn), _ratio(2 * tp, 2 * tp + fp + fn))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
