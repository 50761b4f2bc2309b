"""Models that label documents by a rule, instead of ranking tags: precision, recall and F1 of the labels given.

half: probabilities above one half. class-mass: every tag goes to as large a share of the documents as in training.
thresholds: scores above the tagger's own thresholds. sampled: thresholds of greatest expected F under the model's
uncertainty. Scores are walked part by part; n × L is never formed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from scipy.special import ndtr

from tagcore.labelling.expected_f import ExpectedF
from tagcore.labelling.rules import class_mass_labels
from tagcore.metrics.classification import LabelCounts, label_counts, row_counts
from tagcore.metrics.intervals import Measure
from tagcore.metrics.propensity import Ratio
from tagcore.scoring.blocks import ScorePart
from tagcore.scoring.sharded import ShardedScores

RULES = ("half", "class-mass", "thresholds", "sampled")

LABELLING = pa.schema(
    [("rule", pa.string()), ("labels", pa.int64())]
    + [(f"{average}_{of}", pa.float64()) for average in ("micro", "macro") for of in ("precision", "recall", "f1")]
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
class Tally:
    """What one rule gave and what of it was right: per label, and per document. `+` joins it with later rows."""

    tags: LabelCounts
    right: np.ndarray
    given: np.ndarray

    def __add__(self, later: "Tally") -> "Tally":
        right, given = (np.concatenate([getattr(t, name) for t in (self, later)]) for name in ("right", "given"))
        return Tally(self.tags + later.tags, right, given)


@dataclass(frozen=True, eq=False)
class RuleQuality:
    """`table` has a line for every rule asked for, empty where the model cannot follow it.

    `expected_f` is the sampled rule's curve over its grid of thresholds: their mean probability `theta`, the F1 that
    the model expects and the true one, both means over tags, and how many `tags` chose this point.
    """

    micro: dict[str, Ratio]
    macro: dict[str, Measure]
    table: pa.Table
    expected_f: pa.Table


def require_rules(rules: Sequence[str], rates: np.ndarray | None) -> None:
    """ValueError for a rule that there is not, or that needs to know how often labels were trained on."""
    if unknown := [rule for rule in rules if rule not in RULES]:
        raise ValueError(f"no labelling rule {unknown[0]!r}; there are {', '.join(RULES)}")
    if "class-mass" in rules and rates is None:
        raise ValueError("class-mass needs train_counts and train_documents: how often each tag was trained on")


def evaluate_rules(
    spread: ShardedScores,
    model: Any,
    truth: sp.csr_matrix,
    of_positives: np.ndarray,
    rules: Sequence[str],
    rates: np.ndarray | None = None,
) -> RuleQuality:
    """`of_positives` are the scores of the true cells, in their order; `rates` is every label's share of the training
    documents, which class-mass needs.

    Where they are known, macro measures are of the labels that training had: no model can give any other.
    """
    sampled = _expected_f(model, spread) if "sampled" in rules else None
    best, curve = None, EXPECTED_F.empty_table()
    if sampled is not None:
        best = sampled.best()
        curve = _curve(sampled, best, true_f1(truth, of_positives, sampled))
    able = {"half": True, "thresholds": spread.scorer.thresholds is not None, "sampled": best is not None}
    followed = tuple(rule for rule in rules if able.get(rule))
    tallies: dict[str, Tally] = spread.sum(tally, rules=followed, best=best) if followed else {}
    if rates is not None and "class-mass" in rules:
        labels = class_mass_labels(spread, rates, truth.shape[0])
        right, n_given, _ = row_counts(truth, labels)
        tallies = {**tallies, "class-mass": Tally(label_counts(truth, labels), right, n_given)}
    n_true = np.diff(truth.indptr)
    known = np.ones(truth.shape[1], bool) if rates is None or not rates.any() else rates > 0
    return RuleQuality(
        micro={f"micro-F1 ({r})": Ratio(2 * t.right, t.given + n_true) for r, t in _in_order(rules, tallies)},
        macro={f"macro-F1 ({r})": Measure(t.tags.of(known).macro().f1) for r, t in _in_order(rules, tallies)},
        table=pa.Table.from_pylist([_line(rule, tallies.get(rule), known) for rule in rules], LABELLING),
        expected_f=curve,
    )


def true_f1(truth: sp.csr_matrix, of_positives: np.ndarray, sampled: ExpectedF) -> np.ndarray:
    """F1 of every label at every one of its own thresholds (L, G), 0 where a label is neither true nor given."""
    labels, n_labels = truth.indices, truth.shape[1]
    right = [np.bincount(labels[of_positives > cut[labels]], minlength=n_labels) for cut in sampled.thresholds.T]
    tp = np.column_stack(right)
    both = sampled.labelled + np.bincount(labels, minlength=n_labels)[:, None]
    return np.divide(2 * tp, both, out=np.zeros(tp.shape), where=both > 0)


def tally(part: ScorePart, *, rules: Sequence[str], best: np.ndarray | None) -> dict[str, Tally]:
    """Every rule that looks at single scores, in one walk; `best` are the thresholds of the sampled one."""
    n_labels = part.truth.shape[1]
    none = np.zeros(n_labels, np.int64)
    found = {rule: Tally(LabelCounts(none, none, none), none[:0], none[:0]) for rule in rules}
    for first, scores in part.blocks():
        truth = part.truth[first : first + len(scores)]
        rows, labels = np.repeat(np.arange(len(scores)), np.diff(truth.indptr)), truth.indices
        for rule in rules:
            chosen = _chosen(part, rule, scores, best)
            hit = chosen[rows, labels]
            tp, true = (np.bincount(of, minlength=n_labels) for of in (labels[hit], labels))
            tags = LabelCounts(tp, np.count_nonzero(chosen, axis=0) - tp, true - tp)
            right = np.bincount(rows[hit], minlength=len(scores))
            found[rule] += Tally(tags, right, np.count_nonzero(chosen, axis=1))
    return found


def _chosen(part: ScorePart, rule: str, scores: np.ndarray, best: np.ndarray | None) -> np.ndarray:
    """Which labels the rule gives, (rows, L)."""
    if rule == "half":
        return part.scorer.proba(scores) > 0.5
    return scores > (best if rule == "sampled" else part.scorer.thresholds)


def _expected_f(model: Any, spread: ShardedScores) -> ExpectedF | None:
    sampled = getattr(model, "expected_f", None)
    return None if sampled is None else sampled(spread)


def _curve(sampled: ExpectedF, best: np.ndarray, true: np.ndarray) -> pa.Table:
    on_grid = sampled.thresholds == best[:, None]
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


def _in_order(rules: Sequence[str], tallies: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    return [(rule, tallies[rule]) for rule in rules if rule in tallies]


def _line(rule: str, tally: Tally | None, known: np.ndarray) -> dict[str, Any]:
    if tally is None:
        return {"rule": rule}
    qualities = {"micro": tally.tags.micro(), "macro": tally.tags.of(known).macro()}
    values = {f"{average}_{of}": v for average, q in qualities.items() for of, v in q._asdict().items()}
    return {"rule": rule, "labels": int(tally.given.sum()), **values}
