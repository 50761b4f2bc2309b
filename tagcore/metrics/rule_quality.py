"""How good the labels are that a model gives by a rule, instead of ranking tags.

The rules are in `tagcore.labelling.rules`. Scores are walked part by part; n × L is never formed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from scipy.special import ndtr

from tagcore.labelling.expected_f import ExpectedF
from tagcore.labelling.rules import RuleInputs, rule_named
from tagcore.metrics.label_quality import LabelCounts, Quality
from tagcore.metrics.tally import Tally
from tagcore.scoring.blocks import ScorePart
from tagcore.scoring.sharded import ShardedScores
from tagcore.shards import Arrays

LABELLING = pa.schema(
    [("rule", pa.string()), ("labels", pa.int64())]
    + [(f"{average}_{name}", pa.float64()) for average in ("micro", "macro") for name in Quality._fields]
)
EXPECTED_F = pa.schema(
    [
        ("grid", pa.int64()),
        ("theta", pa.float64()),
        ("expected", pa.float64()),
        ("true", pa.float64()),
        ("tags", pa.int64()),
    ]
)


@dataclass(frozen=True, eq=False)
class RuleQuality:
    """Counts of right and wrong labels of every rule that the model could follow, and two tables.

    `table` has a line for every rule asked for, empty where the model cannot follow it. `expected_f` is the curve of
    a rule that samples the model's posterior, over its grid of thresholds: their mean probability `theta`, the F1
    that the model expects and the true one, both means over tags, and how many `tags` chose this point.
    """

    tallies: dict[str, Tally]
    table: pa.Table
    expected_f: pa.Table


def require_rules(rules: Sequence[str], rates: np.ndarray | None) -> None:
    """Raises ValueError for a rule that there is not, or that needs to know how often labels were trained on."""
    for name in rules:
        if rule_named(name).needs == "training rates" and rates is None:
            raise ValueError(f"{name} needs train_counts and train_documents: how often each tag was trained on")


def evaluate_rules(
    scores: ShardedScores,
    model: Any,
    truth: sp.csr_matrix,
    positive_scores: np.ndarray,
    rules: Sequence[str],
    rates: np.ndarray | None = None,
) -> RuleQuality:
    """Labels all rows by each rule and counts what is right.

    `positive_scores` are the scores of the true cells, in their order; `rates` is every label's share of the training
    documents. Where they are known, macro measures are of the labels that training had: no model can give any other.
    """
    inputs = RuleInputs(scores, model, scores.scorer.thresholds, rates)
    settled = {name: rule_named(name).settle(inputs) for name in rules}
    followed = {name: limits for name, limits in settled.items() if limits is not None}
    tallies: dict[str, Tally] = scores.sum(tally_part, settled=followed) if followed else {}
    trained = None if rates is None or not rates.any() else rates > 0
    tallies = {name: replace(tally, macro_over=trained) for name, tally in tallies.items()}
    return RuleQuality(
        tallies=tallies,
        table=pa.Table.from_pylist([_table_row(name, tallies.get(name)) for name in rules], LABELLING),
        expected_f=_expected_f_curve(inputs, rules, truth, positive_scores),
    )


def true_f1(truth: sp.csr_matrix, positive_scores: np.ndarray, sampled: ExpectedF) -> np.ndarray:
    """Computes F1 of every label at every one of its own thresholds (L, G), 0 where it is neither true nor given."""
    labels, n_labels = truth.indices, truth.shape[1]
    right = [np.bincount(labels[positive_scores > cut[labels]], minlength=n_labels) for cut in sampled.thresholds.T]
    tp = np.column_stack(right)
    total = sampled.labelled + np.bincount(labels, minlength=n_labels)[:, None]
    return np.divide(2 * tp, total, out=np.zeros(tp.shape), where=total > 0)


def tally_part(part: ScorePart, *, settled: dict[str, Arrays]) -> dict[str, Tally]:
    """Labels the rows of a part by every rule, in one walk, and counts what is right."""
    n_labels = part.truth.shape[1]
    zeros = np.zeros(n_labels, np.int64)
    tallies = {name: Tally(LabelCounts(zeros, zeros, zeros), zeros[:0], zeros[:0], zeros[:0]) for name in settled}
    for first, scores in part.blocks():
        truth = part.truth[first : first + len(scores)]
        n_true = np.diff(truth.indptr)
        rows, labels = np.repeat(np.arange(len(scores)), n_true), truth.indices
        for name, limits in settled.items():
            chosen = rule_named(name).choose(part, first, scores, limits)
            hit = chosen[rows, labels]
            tp, true = (np.bincount(ids, minlength=n_labels) for ids in (labels[hit], labels))
            tags = LabelCounts(tp, np.count_nonzero(chosen, axis=0) - tp, true - tp)
            right = np.bincount(rows[hit], minlength=len(scores))
            tallies[name] += Tally(tags, right, np.count_nonzero(chosen, axis=1), n_true)
    return tallies


def _expected_f_curve(
    inputs: RuleInputs, rules: Sequence[str], truth: sp.csr_matrix, positive_scores: np.ndarray
) -> pa.Table:
    """Expected against true F1, where a rule samples the posterior of a model that has one; else without rows."""
    if not any(rule_named(name).needs == "posterior" for name in rules) or inputs.expected_f is None:
        return EXPECTED_F.empty_table()
    sampled = inputs.expected_f
    true = true_f1(truth, positive_scores, sampled)
    on_grid = sampled.thresholds == sampled.best()[:, None]
    grid = true.shape[1]
    return pa.table(
        {
            "grid": np.arange(grid),
            "theta": ndtr(sampled.thresholds).mean(axis=0),
            "expected": sampled.expected().mean(axis=0),
            "true": true.mean(axis=0),
            "tags": np.bincount(on_grid.argmax(axis=1)[on_grid.any(axis=1)], minlength=grid),
        },
        schema=EXPECTED_F,
    )


def _table_row(rule: str, tally: Tally | None) -> dict[str, Any]:
    if tally is None:
        return {"rule": rule}
    qualities = {"micro": tally.tags.micro(), "macro": tally.macro()}
    values = {f"{average}_{name}": v for average, q in qualities.items() for name, v in q._asdict().items()}
    return {"rule": rule, "labels": int(tally.given.sum()), **values}
