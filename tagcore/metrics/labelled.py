"""Models that label documents by a rule, instead of ranking tags: precision, recall and F1 of the labels given.

half: probabilities above one half. class-mass: every tag goes to as large a share of the documents as in training.
thresholds: scores above the tagger's own thresholds. sampled: thresholds of greatest expected F under the model's
uncertainty. Scores are walked block by block; n × L is never formed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from scipy.special import ndtr

from tagcore.expected_f import ExpectedF
from tagcore.labelling import ScoreBlocks, checked_blocks, class_mass_labels
from tagcore.metrics.classification import LabelCounts, label_counts, row_counts
from tagcore.metrics.intervals import Measure
from tagcore.metrics.propensity import Ratio

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

Given = Callable[[np.ndarray], np.ndarray]  # scores (rows, L) -> which labels are given


@dataclass(frozen=True, eq=False)
class Tally:
    """What one rule gave and what of it was right: per label, and per document."""

    tags: LabelCounts
    right: np.ndarray
    given: np.ndarray


@dataclass(frozen=True, eq=False)
class Labelled:
    """`table` has a line for every rule asked for, empty where the model cannot follow it.

    `expected_f` is the sampled rule's curve over its grid of thresholds: their mean probability `theta`, the F1 that
    the model expects and the true one, both means over tags, and how many `tags` chose this point.
    """

    micro: dict[str, Ratio]
    macro: dict[str, Measure]
    table: pa.Table
    expected_f: pa.Table


def labelled(
    model: Any, X: Any, truth: sp.csr_matrix, rules: Sequence[str], rates: np.ndarray | None = None
) -> Labelled:
    """`rates` is every label's share of the training documents, which class-mass needs.

    Where they are known, macro measures are of the labels that training had: no model can give any other.
    """
    if unknown := [rule for rule in rules if rule not in RULES]:
        raise ValueError(f"no labelling rule {unknown[0]!r}; there are {', '.join(RULES)}")
    if "class-mass" in rules and rates is None:
        raise ValueError("class-mass needs train_counts and train_documents: how often each tag was trained on")

    def score_blocks() -> Any:
        return model.score_blocks(X)

    given: dict[str, Given] = {}
    if "half" in rules:
        given["half"] = lambda scores: model.proba(scores) > 0.5
    if "thresholds" in rules and getattr(model, "thresholds", None) is not None:
        given["thresholds"] = lambda scores: scores > model.thresholds
    sampled = _expected_f(model, X) if "sampled" in rules else None
    curve = EXPECTED_F.empty_table()
    if sampled is not None:
        best = sampled.best()
        given["sampled"] = lambda scores: scores > best
    tallies = _tally(score_blocks, truth, given) if given else {}
    if sampled is not None:
        curve = _curve(sampled, best, true_f1(score_blocks, truth, sampled.thresholds))
    if rates is not None and "class-mass" in rules:
        labels = class_mass_labels(score_blocks, rates, truth.shape[0])
        right, n_given, _ = row_counts(truth, labels)
        tallies["class-mass"] = Tally(label_counts(truth, labels), right, n_given)
    n_true = np.diff(truth.indptr)
    known = np.ones(truth.shape[1], bool) if rates is None or not rates.any() else rates > 0
    return Labelled(
        micro={f"micro-F1 ({r})": Ratio(2 * t.right, t.given + n_true) for r, t in _in_order(rules, tallies)},
        macro={f"macro-F1 ({r})": Measure(t.tags.of(known).macro().f1) for r, t in _in_order(rules, tallies)},
        table=pa.Table.from_pylist([_line(rule, tallies.get(rule), known) for rule in rules], LABELLING),
        expected_f=curve,
    )


def true_f1(score_blocks: ScoreBlocks, truth: sp.csr_matrix, thresholds: np.ndarray) -> np.ndarray:
    """F1 of every label at every one of its own thresholds (L, G), 0 where a label is neither true nor given."""
    tp, given = np.zeros(thresholds.shape, np.int64), np.zeros(thresholds.shape, np.int64)
    for first, scores in checked_blocks(score_blocks, truth.shape[1], truth.shape[0]):
        rows, labels = _positives(truth, first, len(scores))
        of_true = scores[rows, labels]
        for g, cut in enumerate(thresholds.T):
            given[:, g] += np.count_nonzero(scores > cut, axis=0)
            tp[:, g] += np.bincount(labels[of_true > cut[labels]], minlength=len(tp))
    both = given + np.bincount(truth.indices, minlength=len(tp))[:, None]
    return np.divide(2 * tp, both, out=np.zeros(tp.shape), where=both > 0)


def _expected_f(model: Any, X: Any) -> ExpectedF | None:
    sampled = getattr(model, "expected_f", None)
    return None if sampled is None else sampled(X)


def _tally(score_blocks: ScoreBlocks, truth: sp.csr_matrix, given: Mapping[str, Given]) -> dict[str, Tally]:
    """Every rule that looks at single scores, in one walk."""
    n, n_labels = truth.shape
    tp, given_tags = ({rule: np.zeros(n_labels, np.int64) for rule in given} for _ in range(2))
    right, given_rows = ({rule: np.zeros(n, np.int64) for rule in given} for _ in range(2))
    for first, scores in checked_blocks(score_blocks, n_labels, n):
        rows, labels = _positives(truth, first, len(scores))
        here = slice(first, first + len(scores))
        for rule, of in given.items():
            chosen = of(scores)
            hit = chosen[rows, labels]
            tp[rule] += np.bincount(labels[hit], minlength=n_labels)
            right[rule][here] = np.bincount(rows[hit], minlength=len(scores))
            given_tags[rule] += np.count_nonzero(chosen, axis=0)
            given_rows[rule][here] = np.count_nonzero(chosen, axis=1)
    true = np.bincount(truth.indices, minlength=n_labels)
    return {
        rule: Tally(LabelCounts(tp[rule], given_tags[rule] - tp[rule], true - tp[rule]), right[rule], given_rows[rule])
        for rule in given
    }


def _positives(truth: sp.csr_matrix, first: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(row within the block, label) of the true cells of n rows."""
    starts = truth.indptr[first : first + n + 1]
    return np.repeat(np.arange(n), np.diff(starts)), truth.indices[starts[0] : starts[-1]]


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
