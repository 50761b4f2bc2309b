"""Measures of tagging on sparse truth, and of ratings; intervals and paired tests."""

from tagcore.metrics.auc import AUC, roc_auc
from tagcore.metrics.breakdown import breakdown_table, frequency_groups
from tagcore.metrics.calibration import expected_calibration_error, reliability_curve
from tagcore.metrics.classification import (
    LabelCounts,
    Quality,
    hamming_loss,
    label_counts,
    label_counts_at,
    per_tag_table,
    row_counts,
)
from tagcore.metrics.evaluate import evaluate
from tagcore.metrics.evaluation import Counts, Evaluation, lower_is_better
from tagcore.metrics.intervals import (
    Measure,
    PairedTest,
    bootstrap_interval,
    bootstrap_intervals,
    bootstrap_ratio,
    bootstrap_ratios,
    paired_difference,
    t_interval,
)
from tagcore.metrics.kendall import kendall_at, kendall_union_at
from tagcore.metrics.propensity import PropensityHits, propensities, propensity_hits
from tagcore.metrics.ranking import (
    Hits,
    accuracy_at,
    exact_at,
    f1_at,
    mark_hits,
    ndcg_at,
    precision_at,
    recall_at,
)
from tagcore.metrics.ratings import RatingErrors, rating_errors
from tagcore.metrics.row_ranking import LabelRanking, label_ranking
from tagcore.metrics.rule_quality import RULES, Labelled, labelled

__all__ = [
    "AUC",
    "RULES",
    "Counts",
    "Evaluation",
    "Hits",
    "LabelCounts",
    "LabelRanking",
    "Labelled",
    "Measure",
    "PairedTest",
    "PropensityHits",
    "Quality",
    "RatingErrors",
    "accuracy_at",
    "bootstrap_interval",
    "bootstrap_intervals",
    "bootstrap_ratio",
    "bootstrap_ratios",
    "breakdown_table",
    "evaluate",
    "exact_at",
    "expected_calibration_error",
    "f1_at",
    "frequency_groups",
    "hamming_loss",
    "kendall_at",
    "kendall_union_at",
    "label_counts",
    "label_counts_at",
    "label_ranking",
    "labelled",
    "lower_is_better",
    "mark_hits",
    "ndcg_at",
    "paired_difference",
    "per_tag_table",
    "precision_at",
    "propensities",
    "propensity_hits",
    "rating_errors",
    "recall_at",
    "reliability_curve",
    "roc_auc",
    "row_counts",
    "t_interval",
]
