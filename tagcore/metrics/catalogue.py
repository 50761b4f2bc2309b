"""Every measure, named once in `MEASURES`, and the questions that others ask of the list.

To add a measure, add an entry, and its arithmetic, where that is new, beside this file: evaluations, reports, model
cards, recipes, tuning and promotion ask here, and keep the order of the entries. It is in the tables and pictures that
`shown` names, and without in none, but where a recipe asks for it (`columns`). Another k of one that there is:
`shown_at` here, and `ks` of `MeasureSettings` in `tasks/recipe_settings.py`.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from tagcore.labelling.rules import rule_names
from tagcore.metrics.calibration import SuggestionProbabilities
from tagcore.metrics.classes import ClassOutcomes
from tagcore.metrics.intervals import Estimate, Ratio
from tagcore.metrics.kendall import SuggestedOrder
from tagcore.metrics.measure import Decides, LearnsFrom, Measure, Of, Place, Values
from tagcore.metrics.propensity import PropensityHits
from tagcore.metrics.ranking import Hits
from tagcore.metrics.ratings import RatingErrors
from tagcore.metrics.recommendations import Recommendations
from tagcore.metrics.tagging_time import TaggingTimes
from tagcore.metrics.tally import Tally

T = TypeVar("T", float, np.ndarray)

REPORT: tuple[Place, ...] = ("report", "report picture")
CARD: tuple[Place, ...] = ("model card",)
EVERYWHERE: tuple[Place, ...] = (*REPORT, *CARD, "quality at k")

MEASURES: tuple[Measure, ...] = (
    Measure(
        "P",
        "suggestions",
        Hits.precision,
        "every k",
        "champion",
        shown=EVERYWHERE,
        shown_at=(1, 3, 5),
        column="precision",
        of_items=True,
    ),
    Measure(
        "nDCG",
        "suggestions",
        Hits.ndcg,
        "every k",
        "champion",
        shown=EVERYWHERE,
        shown_at=(5,),
        column="ndcg",
        of_items=True,
        shown_at_items=(10,),
    ),
    Measure(
        "R",
        "suggestions",
        Hits.recall,
        "every k",
        "champion",
        shown=EVERYWHERE,
        shown_at=(5,),
        column="recall",
        of_items=True,
        shown_at_items=(20,),
    ),
    Measure("F1", "suggestions", Hits.f1, "every k", column="f1", of_items=True),
    Measure(
        "acc",
        "suggestions",
        Hits.accuracy,
        "every k",
        "champion",
        shown=REPORT,
        shown_at=(9,),
        column="accuracy",
        of_items=True,
    ),
    Measure("MAP", "suggestions", Hits.average_precision, "every k", of_items=True),
    Measure("exact", "suggestions", Hits.exact, "every k", column="exact"),
    Measure("tag recall", "suggestions", Hits.tag_recall, "every k", column="tag_recall"),
    Measure("Kendall", "order", SuggestedOrder.kendall, "every k", column="kendall"),
    Measure("Kendall of all tags", "order", SuggestedOrder.kendall_union, "curve", column="kendall_union"),
    Measure("AUC (row)", "rankings", lambda auc: auc.ranking.auc, decides="best", shown=REPORT + CARD),
    Measure("AUC (macro)", "rankings", lambda auc: auc.macro, shown=REPORT),
    Measure("AUC (micro)", "rankings", lambda auc: auc.micro, shown=REPORT),
    Measure("LRAP", "rankings", lambda auc: auc.ranking.lrap),
    Measure("coverage", "rankings", lambda auc: auc.ranking.coverage, lower_is_better=True),
    Measure("ranking loss", "rankings", lambda auc: auc.ranking.ranking_loss, lower_is_better=True),
    Measure("one-error", "rankings", lambda auc: auc.ranking.one_error, lower_is_better=True),
    Measure("Hamming loss", "labels", Tally.hamming_loss, "suggested", lower_is_better=True),
    Measure("micro-P", "labels", Tally.micro_precision, "suggested"),
    Measure("micro-R", "labels", Tally.micro_recall, "suggested"),
    Measure("micro-F1", "labels", Tally.micro_f1, "suggested", shown=CARD),
    Measure("macro-P", "labels", lambda tally: tally.macro().precision, "suggested"),
    Measure("macro-R", "labels", lambda tally: tally.macro().recall, "suggested"),
    Measure("macro-F1", "labels", lambda tally: tally.macro().f1, "suggested", shown=REPORT + CARD),
    Measure("PSP", "propensities", PropensityHits.precision, "every k"),
    Measure("PSnDCG", "propensities", PropensityHits.ndcg, "every k"),
    Measure("macro-F1", "rule", lambda tally: tally.macro().f1, shown=(*REPORT, "curves")),
    Measure("micro-F1", "rule", Tally.micro_f1, shown=("report",)),
    Measure(
        "ECE", "probabilities", SuggestionProbabilities.calibration_error, lower_is_better=True, shown=("report", *CARD)
    ),
    Measure("µs p50", "times", TaggingTimes.median, lower_is_better=True, shown=("curves",)),
    Measure("µs p99", "times", TaggingTimes.slowest, lower_is_better=True),
    Measure("µs mean", "times", TaggingTimes.mean, lower_is_better=True),
    Measure("training CPU s", "costs", lambda costs: costs.train_cpu_seconds, lower_is_better=True),
    Measure("µs a document", "costs", lambda costs: costs.microseconds, lower_is_better=True),
    Measure("model MB", "costs", lambda costs: costs.megabytes, lower_is_better=True),
    Measure("working MiB", "costs", lambda costs: costs.working_mebibytes, lower_is_better=True),
    Measure("error %", "classes", ClassOutcomes.error, decides="best", lower_is_better=True, shown=REPORT),
    Measure("log loss", "classes", ClassOutcomes.log_loss, decides="best", lower_is_better=True, shown=REPORT),
    Measure("log evidence", "classes", lambda outcomes: outcomes.log_evidence, shown=("report",)),
    Measure("train CPU s", "classes", lambda o: o.train_seconds, lower_is_better=True, shown=("report", "curves")),
    Measure("test CPU s", "classes", lambda o: o.test_seconds, lower_is_better=True, shown=("report",)),
    Measure("MAE", "ratings", RatingErrors.mae, decides="champion", lower_is_better=True, shown=REPORT + CARD),
    Measure("RMSE", "ratings", RatingErrors.rmse, decides="champion", lower_is_better=True, shown=REPORT + CARD),
    Measure("MAE (new users)", "new users", RatingErrors.mae, lower_is_better=True, shown=REPORT + CARD),
    Measure("RMSE (new users)", "new users", RatingErrors.rmse, lower_is_better=True),
    Measure("item coverage", "recommendations", Recommendations.coverage, "every k"),
)


def compute(
    of: Of,
    evidence: Any,
    ks: Sequence[int] = (),
    rule: str | None = None,
    learns_from: LearnsFrom | None = None,
) -> dict[str, Values]:
    """Computes all measures of one kind, by their names in tables; `Of` says from what. Where models of both kinds of
    data have such evidence, `learns_from` says of which these are."""
    values = {}
    for measure in MEASURES:
        wanted = measure.of == of and (learns_from is None or measure.is_of(learns_from))
        for k in measure.ks(ks) if wanted else ():
            arguments = (evidence, k) if measure.at == "every k" else (evidence,)
            values[measure.full_name(k, rule)] = measure.compute(*arguments)
    return values


def quality_against_k(of: Of, evidence: Any, ks: Sequence[int]) -> dict[str, list[float]]:
    """Computes means over documents at each k, by their columns in the table of quality against k."""
    return {
        measure.column: [_mean(measure.compute(evidence, k)) for k in ks]
        for measure in MEASURES
        if measure.of == of and measure.column
    }


def _mean(values: Values) -> float:
    return values.value if isinstance(values, Ratio | Estimate) else float(np.mean(values))


def find(full_name: str) -> tuple[Measure, int | None]:
    """The measure that tables call so, and its k; ValueError for a name that no measure has."""
    _, _, k = full_name.partition("@")
    ks = [int(k)] if k.isdecimal() and int(k) > 0 else []
    for measure in MEASURES:
        rules = rule_names() if measure.of == "rule" else (None,)
        if any(full_name == measure.full_name(at, rule) for at in measure.ks(ks) for rule in rules):
            return measure, measure.ks(ks)[0]
    raise ValueError(f"no measure {full_name!r}; there are {', '.join(dict.fromkeys(m.name for m in MEASURES))}")


def signed(full_name: str, value: T) -> T:
    """The value of a measure, turned so that more is better."""
    return -value if find(full_name)[0].lower_is_better else value


def deciding_on(what: Decides) -> list[Measure]:
    """The measures that decide who is "best", or those that also decide on the "champion"."""
    return [measure for measure in MEASURES if measure.decides in (what, "champion")]


def champion_measure(full_name: str, learns_from: LearnsFrom) -> tuple[Measure, int | None]:
    """The measure and the k of a name such as P@5 or MAE; ValueError for one that a champion cannot be chosen by."""
    measures = [measure for measure in deciding_on("champion") if measure.is_of(learns_from)]
    with suppress(ValueError):
        measure, k = find(full_name)
        if measure in measures:
            return measure, k
    if not measures:
        raise ValueError(f"models that learn from {learns_from} have no champion: compare them by an experiment")
    known = ", ".join(f"{measure.name}@k" if measure.at == "every k" else measure.name for measure in measures)
    raise ValueError(f"models are compared by one of {known}, not by {full_name!r}")


def primary_names(ks: Sequence[int], learns_from: LearnsFrom) -> list[str]:
    """The names of measures that models may be ranked by, where suggestions are measured at these ks."""
    measures = [measure for measure in deciding_on("best") if measure.is_of(learns_from)]
    return [measure.full_name(k) for measure in measures for k in measure.ks(ks)]


def shown_in(place: Place, learns_from: LearnsFrom) -> list[str]:
    """The names that a table or picture of such models shows, without those of labelling rules."""
    shown = [m for m in MEASURES if place in m.shown and m.of != "rule" and m.is_of(learns_from)]
    return [m.full_name(k) for m in shown for k in m.ks(m.shown_at if learns_from == "documents" else m.shown_at_items)]


def shown_by_rule(place: Place) -> list[str]:
    """The names that a table or picture shows of the labels of each rule, rule after rule."""
    shown = [measure for measure in MEASURES if place in measure.shown and measure.of == "rule"]
    return [measure.full_name(rule=rule) for rule in rule_names() for measure in shown]


def columns_shown_at_k() -> dict[str, str]:
    """What the picture of quality against k shows: columns of the table, and what to call each."""
    return {m.column: f"{m.name}@k" for m in MEASURES if "quality at k" in m.shown}


def rule_of(full_name: str) -> str | None:
    """The labelling rule that a name in tables ends with; None for all other names."""
    return next((rule for rule in rule_names() if full_name.endswith(f" ({rule})")), None)
