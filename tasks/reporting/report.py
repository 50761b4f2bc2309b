"""Who is best: all measured models in one table, with intervals and a paired test against the best, and pictures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from tagcore.metrics.catalogue import shown_by_rule, shown_in
from tagcore.store.datasets import content_key
from tagcore.store.files import write_text
from tasks.cache import stored_key
from tasks.evaluate import EvaluatedModel
from tasks.naming import artifact_key, line_called, safe_name
from tasks.progress import ProgressReporter
from tasks.recipe import Recipe
from tasks.registry.client import Registry
from tasks.registry.model_card import measure_text
from tasks.reporting.comparison import RELIABILITY, Report, Row
from tasks.reporting.summary import ModelSummary, summarise_models
from tasks.reporting.topics import splits_of, topics_markdown, topics_of

Published = Mapping[str, Mapping[str, float]]  # figures of a paper, by model and measure


@task(name="report", task_run_name="compare models: {title}")
def report(
    title: str,
    measured: list[EvaluatedModel],
    primary: str,
    folder: Path,
    parent: str,
    registry: Registry,
    columns: Sequence[str] = (),
    published: Published = MappingProxyType({}),
    against: str = "",
    beside: Published = MappingProxyType({}),
    by_popularity: bool = False,
) -> Report:
    """Written as report.md, report.json and pictures, on the MLflow run, and as Prefect artifacts. It shows `columns`,
    or the usual ones; where figures of a paper were `published`, ours are drawn beside them, and those `beside` stand
    below the table. All models are compared with that called `against` by a one-sided paired t-test of being better.
    `by_popularity` adds how often popular tags are found, and rare ones.

    Models of one label are one line: seeds are averaged document by document, or user by user, before intervals are
    drawn.
    """
    step = ProgressReporter(f"compare {len(measured)} models")
    told = {
        "columns": list(columns),
        "published": {name: dict(of) for name, of in published.items()},
        "against": against,
        "beside": {name: dict(of) for name, of in beside.items()},
        "by_popularity": by_popularity,
    }
    parameters = {"title": title, "primary": primary, "run": parent, **told}
    key = content_key("report", parameters, _evaluations(measured))
    made = _standing(folder, key)
    if made is None:
        step.tell("start")
        made, files = _compare(
            title, measured, primary, folder, key, columns, published, against, beside, by_popularity
        )
        with registry.open() as client:
            for path in files:
                client.log_artifact(parent, str(path))
        best = made.rows[0]
        step.remark = f"{best.model} is best, {primary} {best.shown[primary]}"
        step.tell("made")
    else:
        step.tell("stands")
    rows = [dict(zip(made.head(), cells, strict=True)) for cells in made.cells()]
    create_table_artifact(rows, key=artifact_key("comparison", title), description=made.about)
    create_markdown_artifact(made.markdown(), key=artifact_key("report", title), description=made.about)
    return made


def asked_of_report(recipe: Recipe, data: str) -> dict[str, Any]:
    """What a recipe asks of the `report` on data that is called so, beside its models and their primary measure."""
    measures = recipe.measures
    return {
        "columns": measures.columns,
        "published": recipe.published,
        "against": measures.against,
        "beside": recipe.published_on.get(data, {}),
        "by_popularity": measures.by_popularity,
    }


def _evaluations(measured: list[EvaluatedModel]) -> dict[str, str]:
    return {f"{m.label} {m.seed}": stored_key(m.evaluation, "evaluation") for m in measured}


def _standing(folder: Path, key: str) -> "Report | None":
    try:
        stored = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        standing = Report.from_plain(stored)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return standing if standing.key == key else None


def _compare(
    title: str,
    measured: list[EvaluatedModel],
    primary: str,
    folder: Path,
    key: str,
    chosen: Sequence[str] = (),
    published: Published = MappingProxyType({}),
    against: str = "",
    beside: Published = MappingProxyType({}),
    by_popularity: bool = False,
) -> tuple[Report, list[Path]]:
    """The report, and the files that were written; report.json last, as the sign that all stand."""
    from tasks.reporting.activity import activity_markdown, draw_activity, errors_by_activity
    from tasks.reporting.figures import draw_figures
    from tasks.reporting.plots import (
        compare,  # matplotlib is slow to import, and a report that stands is not drawn again
    )
    from tasks.reporting.popularity import draw_popularity, found_by_popularity, popularity_markdown
    from tasks.reporting.reliability import draw_reliability

    lines = summarise_models(measured, primary)
    best = lines[0]
    known = {name for line in lines for name in line.summary}
    usual = dict.fromkeys((*shown_in("report", best.learns_from), primary, *shown_by_rule("report")))
    columns = [c for c in chosen or usual if c in known]
    other = next((line for line in lines if line.label == line_called(against, [line.label for line in lines])), None)
    called = other.label if other is not None else ""
    rows = [
        _row(line, None if line is best else line.to_best(best, primary), _to_other(line, other, primary))
        for line in lines
    ]
    about = _about(lines, primary)
    folder.mkdir(parents=True, exist_ok=True)
    figures = draw_figures(measured, published, folder) if published else []
    more = _published_markdown(beside)
    if best.held_out == "ratings" and (by_activity := errors_by_activity(measured)) is not None:
        more += activity_markdown(*by_activity, called)
        figures.append(draw_activity(*by_activity, folder / "activity.png"))
    if best.learns_from == "documents" and by_popularity:
        ranked = [one for line in lines for one in measured if one.label == line.label]
        found = found_by_popularity(ranked)
        more += popularity_markdown(*found)
        figures.append(draw_popularity(*found, folder / "popularity.png"))
    pictures = [figure.name for figure in figures]
    made = Report(title, about, primary, best.tested[0], columns, rows, str(folder), key, pictures, called, more)
    summaries = {line.label: line.summary for line in lines}
    in_picture = chosen or {*shown_in("report picture", best.learns_from), primary, *shown_by_rule("report picture")}
    picture = compare(summaries, [c for c in columns if c in in_picture], best.held_out, folder / "comparison.png")
    topics, drawn = _topics(measured, folder)
    if best.learns_from == "documents":
        drawn.append(draw_reliability(measured, [line.label for line in lines], folder / RELIABILITY))
    write_text(folder / "report.md", made.markdown() + topics)
    write_text(folder / "report.json", json.dumps(asdict(made), indent=1))
    return made, [folder / "report.md", folder / "report.json", picture, *figures, *drawn]


def _about(lines: list[ModelSummary], primary: str) -> str:
    seeds, splits = max(line.seeds for line in lines), max(line.splits for line in lines)
    (fewest, most), units = lines[0].tested, lines[0].units
    tested = f"{fewest:,}{f' to {most:,}' if most > fewest else ''} held-out {lines[0].held_out}"
    others = f"for measures that are no means over {units}, such as macro-F1"
    if splits > 1:
        over = "no intervals over two seeds" if splits == 2 else "95 % intervals over splits (Student's t)"
        what = f"{splits} random splits with {tested} each; {over}"
    elif seeds > 1:
        over = "none over two seeds" if seeds == 2 else "over seeds (Student's t)"
        what = f"{tested}, {seeds} seeds; 95 % intervals over {units}, and {over} {others}"
    else:
        what = f"{tested}; 95 % intervals over {units}"
    return f"{what}; best first by {primary}."


def _published_markdown(beside: Published) -> str:
    """One line for every published model; nothing where there is none."""
    lines = [f"{name} {', '.join(f'{m} {value:.3f}' for m, value in of.items())}" for name, of in beside.items()]
    return f"\nPublished by others, on their rows of this set: {'; '.join(lines)}.\n" if lines else ""


def _topics(measured: list[EvaluatedModel], folder: Path) -> tuple[str, list[Path]]:
    """Of every model that learnt topics, with its first seed: a section of the report, and pictures."""
    from tasks.reporting.plots import draw_topics
    from tasks.reporting.tree import MOST_SPLITS, draw_splits

    text, drawn = "", []
    for label, one in {m.label: m for m in reversed(measured)}.items():
        if topics := topics_of(one.model):
            text += f"\n## Topics of {label}\n\n{topics_markdown(topics)}"
            drawn.append(draw_topics(topics, folder / f"topics-{safe_name(label)}.png"))
            if splits := splits_of(one.model, MOST_SPLITS):
                drawn.append(draw_splits(*splits, topics, folder / f"splits-{safe_name(label)}.png"))
    return text, drawn


def _to_other(line: ModelSummary, other: ModelSummary | None, primary: str) -> str:
    if other is None or line is other:
        return ""
    difference, p_value = line.better_than(other, primary)
    return f"{difference:+.4f} ({p_value:.1g})"


def _row(line: ModelSummary, to_best: dict[str, float] | None, to_other: str) -> Row:
    return Row(
        model=line.label,
        measures={name: _plain(asdict(m)) for name, m in line.summary.items()},
        shown={name: measure_text(m) + _instead_of_interval(line, m.low) for name, m in line.summary.items()},
        train_seconds=line.train_seconds,
        threshold_seconds=line.threshold_seconds,
        evaluate_seconds=line.evaluate_seconds,
        difference=None if to_best is None else _plain(to_best),
        to_best=_to_best(line, to_best),
        to_other=to_other,
    )


def _plain(values: dict[str, float]) -> dict[str, float]:
    return {k: v for k, v in values.items() if v == v}


def _to_best(line: ModelSummary, to_best: dict[str, float] | None) -> str:
    if to_best is None:
        return "best"
    difference, low, high = (to_best[k] for k in ("difference", "low", "high"))
    interval = f" ({low:+.3f} to {high:+.3f})" if low == low else _instead_of_interval(line, low)
    return f"{difference:+.3f}{interval}"


def _instead_of_interval(line: ModelSummary, low: float) -> str:
    """Says why there is no interval where two seeds are all that it could be over."""
    return " (two seeds)" if line.seeds == 2 and low != low else ""
