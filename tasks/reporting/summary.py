"""All seeds of one model as one line of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagcore.metrics.catalogue import signed
from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.intervals import Estimate, bootstrap_intervals, paired_difference, t_interval
from tagcore.metrics.measure import LearnsFrom
from tasks.cache import read_record
from tasks.evaluate import EvaluatedModel
from tasks.thresholds import threshold_seconds


@dataclass(frozen=True)
class ModelSummary:
    """Where all seeds were measured on the same documents, or ratings of the same users, they are averaged one by one
    before intervals are drawn; measures that are no means over these, and all measures where every seed has its own
    split, have Student's interval over seeds, of which there must be three."""

    label: str
    seeds: int
    splits: int
    tested: tuple[int, int]  # documents or ratings in the smallest and largest test set
    learns_from: LearnsFrom
    held_out: str  # what is measured on: documents, ratings or rows
    units: str  # what intervals are over: documents, or users
    summary: dict[str, Estimate]
    values: dict[str, np.ndarray]  # the mean over seeds of each unit; with a split each, the mean of each seed
    train_seconds: float | None
    threshold_seconds: float | None
    evaluate_seconds: float | None

    def to_best(self, best: "ModelSummary", measure: str) -> dict[str, float]:
        """The paired difference: over documents or users, or over the splits."""
        a, b = self.values[measure], best.values[measure]
        test = paired_difference(a, b)
        if self.splits == 1:
            return {k: getattr(test, k) for k in ("difference", "low", "high", "p_value")}
        over = _over_seeds(a - b)
        return {"difference": over.value, "low": over.low, "high": over.high, "p_value": test.p_value_t}

    def better_than(self, other: "ModelSummary", measure: str) -> tuple[float, float]:
        """The paired difference, and the p-value of the one-sided t-test that this one is the better."""
        test = paired_difference(self.values[measure], other.values[measure])
        better = signed(measure, test.difference) > 0
        return test.difference, test.p_value_t / 2 if better else 1 - test.p_value_t / 2


def summarise_models(measured: Sequence[EvaluatedModel], primary: str) -> list[ModelSummary]:
    """One for every label, best first."""
    by_label: dict[str, list[EvaluatedModel]] = {}
    for one in measured:
        by_label.setdefault(one.label, []).append(one)
    lines = [_line(label, seeds) for label, seeds in by_label.items()]
    if primary not in lines[0].values:
        known = ", ".join(lines[0].values)
        raise ValueError(f"measures.primary = {primary!r}: not among the measures of single {lines[0].units}: {known}")
    return sorted(lines, key=lambda line: -signed(primary, line.summary[primary].value))


def _line(label: str, seeds: list[EvaluatedModel]) -> ModelSummary:
    evaluations = [Evaluation.load(m.evaluation) for m in seeds]
    first = evaluations[0]
    splits = len({m.prepared for m in seeds})
    names = [n for n in first.per_unit.column_names if all(n in e.summary for e in evaluations)]
    if splits > 1:
        values = {n: np.array([e.summary[n].value for e in evaluations]) for n in names}
    else:
        values = {n: np.mean([e.per_unit[n].to_numpy() for e in evaluations], axis=0) for n in names}
    summary = first.summary
    if len(evaluations) > 1:
        shared = [n for n in summary if all(n in e.summary for e in evaluations)]
        summary = {n: _over_seeds(np.array([e.summary[n].value for e in evaluations])) for n in shared}
        summary |= {} if splits > 1 else bootstrap_intervals(values)
    return ModelSummary(
        label=label,
        seeds=len(evaluations),
        splits=splits,
        tested=(min(e.tested for e in evaluations), max(e.tested for e in evaluations)),
        learns_from=first.LEARNS_FROM,
        held_out=first.HELD_OUT,
        units=first.UNITS,
        summary=summary,
        values=values,
        train_seconds=_mean([_seconds(m.model) for m in seeds]),
        threshold_seconds=_mean([threshold_seconds(m.model) for m in seeds]),
        evaluate_seconds=_mean([_seconds(m.evaluation) for m in seeds]),
    )


def _over_seeds(values: np.ndarray) -> Estimate:
    """Student's interval; none of two seeds, which with one degree of freedom would reach far beyond any measure."""
    return t_interval(values) if values.size > 2 else Estimate(float(values.mean()))


def _seconds(folder: Path) -> float | None:
    return read_record(folder).get("seconds")


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
