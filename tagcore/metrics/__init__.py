"""Measures of tagging on sparse truth: ranking, AUC, classification, calibration, intervals and paired tests."""

from tagcore.metrics.auc import AUC, roc_auc
from tagcore.metrics.calibration import expected_calibration_error, reliability_curve
from tagcore.metrics.classification import LabelCounts, Quality, label_counts, per_tag_table
from tagcore.metrics.evaluate import Counts, Evaluation, evaluate
from tagcore.metrics.intervals import (
    Measure,
    PairedTest,
    bootstrap_interval,
    bootstrap_intervals,
    bootstrap_ratio,
    paired_difference,
)
from tagcore.metrics.ranking import Hits, accuracy_at, mark_hits, ndcg_at, precision_at, recall_at

__all__ = [
    "AUC",
    "Counts",
    "Evaluation",
    "Hits",
    "LabelCounts",
    "Measure",
    "PairedTest",
    "Quality",
    "accuracy_at",
    "bootstrap_interval",
    "bootstrap_intervals",
    "bootstrap_ratio",
    "evaluate",
    "expected_calibration_error",
    "label_counts",
    "mark_hits",
    "ndcg_at",
    "paired_difference",
    "per_tag_table",
    "precision_at",
    "recall_at",
    "reliability_curve",
    "roc_auc",
]
