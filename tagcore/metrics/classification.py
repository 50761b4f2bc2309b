"""Precision, recall and F1 of predicted labels: per tag, micro and macro; 0 where a denominator is 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tagcore.base import label_matrix


class Quality(NamedTuple):
    """Precision, recall and F1: numbers, or arrays with one value per label."""

    precision: Any
    recall: Any
    f1: Any


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Per label: right predictions, wrong ones, and labels that were missed."""

    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray

    def per_label(self) -> Quality:
        return _quality(self.tp, self.fp, self.fn)

    def micro(self) -> Quality:
        """Of all cells pooled."""
        pooled = _quality(*(np.atleast_1d(c.sum()) for c in (self.tp, self.fp, self.fn)))
        return Quality(*(float(v[0]) for v in pooled))

    def macro(self) -> Quality:
        """The mean over all labels, also those that are neither true nor predicted anywhere."""
        return Quality(*(float(v.mean()) for v in self.per_label()))


def label_counts(Y: Any, predicted: Any) -> LabelCounts:
    """Compares predicted labels with the truth, both n × L; a label is present iff > 0."""
    if np.shape(Y) != np.shape(predicted):
        raise ValueError(f"the truth has shape {np.shape(Y)}, the prediction {np.shape(predicted)}")
    n, n_labels = np.shape(Y)
    truth, guess = (label_matrix(M, n).astype(bool) for M in (Y, predicted))
    true, guessed, right = (
        np.bincount(M.indices, minlength=n_labels) for M in (truth, guess, truth.multiply(guess).tocsr())
    )
    return LabelCounts(tp=right, fp=guessed - right, fn=true - right)


def per_tag_table(
    Y: Any, predicted: Any, train_counts: np.ndarray | None = None, names: Sequence[str] | None = None
) -> pa.Table:
    """One row per tag, in the order of ids; without `train_counts` that column is null, without `names` ids serve."""
    counts = label_counts(Y, predicted)
    n_labels = len(counts.tp)
    for what, given in (("train_counts", train_counts), ("names", names)):
        if given is not None and len(given) != n_labels:
            raise ValueError(f"{what} has {len(given)} entries, expected one for each of {n_labels} tags")
    seen = pa.nulls(n_labels, pa.int64()) if train_counts is None else pa.array(np.asarray(train_counts, np.int64))
    quality = counts.per_label()
    return pa.table(
        {
            "tag": pa.array([str(i) for i in range(n_labels)] if names is None else names, pa.string()),
            "train_count": seen,
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
