"""The report as one page that needs nothing else: tables that sort, pictures inside, all that is not ours escaped."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_link_artifact
from prefect.context import TaskRunContext

from tagcore.metrics.evaluation import Evaluation, TagEvaluation
from tagcore.store.files import write_text
from tasks.cache import plain_manifest
from tasks.evaluate import EvaluatedModel
from tasks.naming import artifact_key
from tasks.progress import ProgressReporter
from tasks.registry.client import Registry
from tasks.reporting.changes import Night, changes_since, note_night
from tasks.reporting.comparison import RELIABILITY, Report

PAGE = "report.html"
_TAGS_SHOWN = 500

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 74rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd }
table { border-collapse: collapse; margin: .8rem 0; display: block; overflow-x: auto }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap }
th:first-child, td:first-child, td.text, .words th, .words td { text-align: left } td.text { white-space: normal }
th { cursor: pointer; background: #f6f6f3; position: sticky; top: 0 } th::after { content: " ⇅"; color: #bbb }
.good { color: #1a6b3c } .bad { color: #a3261b; font-weight: 600 } .soft { color: #777 }
img { max-width: 100%; margin: .5rem 1rem .5rem 0 } blockquote { margin: .4rem 0; color: #444 }
"""
_SCRIPT = """
for (const head of document.querySelectorAll("th")) head.addEventListener("click", () => {
  const table = head.closest("table"), body = table.tBodies[0], at = head.cellIndex;
  const up = head.dataset.up = head.dataset.up === "1" ? "0" : "1";
  const value = row => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  const number = text => parseFloat(text.replace(/,/g, ""));
  const rows = [...body.rows].sort((a, b) => {
    const x = value(a), y = value(b), p = number(x), q = number(y);
    return isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
  });
  if (up === "0") rows.reverse();
  body.append(...rows);
});
"""


@dataclass(frozen=True)
class Section:
    """A part of the page: a title, and what stands below it as HTML that is safe to show."""

    title: str
    body: str


@dataclass(frozen=True)
class PageFacts:
    """What a night adds to the comparison: the decision's words and rows, and what the model in service answers."""

    verdict: str = ""
    guards: list[tuple[str, bool, str, str]] = field(default_factory=list)  # name, passed, found, needed
    examples: list[Any] = field(default_factory=list)  # of tags, or of recommendations
    in_service: str | None = None
    more: list[Section] = field(default_factory=list)


@task(name="report page", task_run_name="page {title}")
def report_page(
    title: str,
    made: Report,
    measured: list[EvaluatedModel],
    facts: PageFacts,
    parent: str,
    registry: Registry,
    address: str | None = None,
) -> Path:
    """Writes the page beside the report, puts it on the MLflow run, and links it from Prefect."""
    step = ProgressReporter(f"write the page of {title}")
    step.tell("start")
    folder = Path(made.folder)
    best = next(model for model in measured if model.label == made.rows[0].model)
    night = _night(made, best, facts.in_service)
    changes = changes_since(folder, night)
    sections = [
        *([Section("Decision", _decision(facts))] if facts.verdict else []),
        Section("Models", paragraph(made.about) + sorting_table(made.head(), made.cells()) + _pictures(folder, made)),
        *facts.more,
        *([Section("Since the last night", sorting_table(["", "before", "now"], changes))] if changes else []),
        *_of_tags(best),
        *([Section("Examples", "".join(map(_example, facts.examples)))] if facts.examples else []),
        Section("Made from", _made_from(best)),
    ]
    page = write_text_page(title, sections, folder / PAGE)
    note_night(folder, night)
    with registry.open() as client:
        client.log_artifact(parent, str(page))
        run = client.get_run(parent)
    if TaskRunContext.get() is not None:
        at = f"#/experiments/{run.info.experiment_id}/runs/{parent}/artifacts/{PAGE}"
        link = f"{address.rstrip('/')}/{at}" if address else page.as_uri()
        create_link_artifact(link, link_text=f"the report of {title}", key=artifact_key("page", title))
    step.tell("made")
    return page


def write_text_page(title: str, sections: Sequence[Section], path: Path) -> Path:
    """Puts the sections together; the page may load nothing from anywhere."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    body = "".join(f"<h2>{escape(section.title)}</h2>{section.body}" for section in sections)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    write_text(
        path,
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style></head>'
        f'<body><h1>{escape(title)}</h1><p class="soft">{now}</p>{body}<script>{_SCRIPT}</script></body></html>\n',
    )
    return path


def _decision(facts: PageFacts) -> str:
    rows = [[name, "passed" if passed else "refused", found, needed] for name, passed, found, needed in facts.guards]
    return paragraph(facts.verdict) + (
        sorting_table(["guard", "outcome", "found", "needed"], rows, "words") if rows else ""
    )


def sorting_table(head: Sequence[str], rows: Sequence[Sequence[Any]], kind: str = "numbers") -> str:
    """A table that sorts by any column."""
    top = "".join(f"<th>{escape(str(name))}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>'


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td data-value="{value!r}">{value:.3f}</td>'
    text = str(value)
    kind = {"passed": ' class="good"', "refused": ' class="bad"'}.get(text, "")
    kind = kind or (' class="text"' if len(text) > 40 else "")
    return f"<td{kind}>{escape(text)}</td>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _pictures(folder: Path, made: Report) -> str:
    """Pictures as part of the page itself."""
    shown = [folder / name for name in ("comparison.png", RELIABILITY, *made.pictures)]
    return pictures_inside([path for path in shown if path.name != RELIABILITY or path.is_file()])


def pictures_inside(paths: Sequence[Path]) -> str:
    """Pictures as HTML that needs no file, of those that are there."""
    encoded = [(path, base64.b64encode(path.read_bytes()).decode()) for path in paths if path.is_file()]
    return "".join(f'<img alt="{escape(path.stem)}" src="data:image/png;base64,{data}">' for path, data in encoded)


def _of_tags(best: EvaluatedModel) -> list[Section]:
    """How well every tag is found by the best model, the most frequent first."""
    evaluation = Evaluation.load(best.evaluation)
    if not isinstance(evaluation, TagEvaluation):
        return []
    table = evaluation.per_tag.sort_by([("test_count", "descending")]).slice(0, _TAGS_SHOWN)
    rows = [list(row.values()) for row in table.to_pylist()]
    head = [name.replace("_", " ") for name in table.column_names]
    more = evaluation.per_tag.num_rows - table.num_rows
    rest = f" The {more:,} rarer ones are in per_tag.parquet of the run." if more > 0 else ""
    return [
        Section(
            f"Tags, as {best.label} gives them",
            paragraph(f"By its first five suggestions.{rest}") + sorting_table(head, rows),
        )
    ]


def _example(example: Any) -> str:
    lines = escape(example.told()).strip().splitlines()
    return "<blockquote>" + "<br>".join(line.strip() for line in lines) + "</blockquote>"


def _made_from(best: EvaluatedModel) -> str:
    prepared = plain_manifest(best.prepared)
    rows = [["counts", json.dumps(prepared["counts"])]]
    rows += [[name, json.dumps(value, ensure_ascii=False)] for name, value in prepared["parameters"].items()]
    rows += [
        ["key of the data", next(iter(prepared["inputs"].values()))],
        ["key of what was learnt from", prepared["key"]],
    ]
    return sorting_table(["", ""], rows, "words")


def _night(made: Report, best: EvaluatedModel, in_service: str | None) -> Night:
    counts = plain_manifest(best.prepared)["counts"]
    values = {row.model: row.measures[made.primary]["value"] for row in made.rows}
    return Night(made.key, made.primary, {name: int(value) for name, value in counts.items()}, values, in_service)
