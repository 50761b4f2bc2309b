"""Who is best: all measured models in one table, with intervals and a paired test against the best, and a picture."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from tagcore.files import write_text
from tagcore.metrics import Evaluation, Measure, PairedTest, bootstrap_intervals, paired_difference
from tagcore.store import content_key
from tasks.modelcard import measure_text
from tasks.progress import Step
from tasks.registry import Registry
from tasks.steps import key_of, record_of
from tasks.track import Measured

COLUMNS = ("P@1", "P@3", "P@5", "nDCG@5", "R@5", "acc@9", "AUC (row)", "macro-F1@5")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    model: str
    measures: dict[str, dict[str, float]]  # name -> value, low, high
    shown: dict[str, str]
    train_seconds: float | None
    evaluate_seconds: float | None
    difference: dict[str, float] | None  # to the best model on the primary measure: difference, low, high, p_value


@dataclass(frozen=True)
class Report:
    """The table, best model first."""

    title: str
    primary: str
    documents: int
    columns: list[str]
    rows: list[Row]
    folder: str
    key: str

    def markdown(self, level: str = "#") -> str:
        head = ["model", *self.columns, f"{self.primary} to best", "train s"]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        lines += ["| " + " | ".join(cells) + " |" for cells in self.cells()]
        about = f"{self.documents:,} held-out documents; 95 % intervals over documents; best first by {self.primary}."
        return f"{level} {self.title}\n\n{about}\n\n" + "\n".join(lines) + "\n"

    def cells(self) -> list[list[str]]:
        return [
            [r.model, *(r.shown.get(c, "") for c in self.columns), _to_best(r), _seconds(r.train_seconds)]
            for r in self.rows
        ]


@task(name="report")
def report(title: str, measured: list[Measured], primary: str, folder: Path, parent: str, registry: Registry) -> Report:
    """Written as report.md, report.json and comparison.png, on the MLflow run, and as Prefect artifacts.

    Models of one label are one line: seeds are averaged document by document before intervals are drawn.
    """
    step = Step(f"compare {len(measured)} models")
    key = content_key("report", {"title": title, "primary": primary, "run": parent}, _evaluations(measured))
    made = _standing(folder, key)
    if made is None:
        step.tell("start")
        made = _compare(title, measured, primary, folder, key)
        with registry.open() as client:
            for name in ("report.md", "report.json", "comparison.png"):
                client.log_artifact(parent, str(folder / name))
        step.tell("made")
    else:
        step.tell("stands")
    rows = [dict(zip(("model", *made.columns), cells, strict=False)) for cells in made.cells()]
    create_table_artifact(rows, key="comparison")
    create_markdown_artifact(made.markdown(), key="report")
    return made


def _evaluations(measured: list[Measured]) -> dict[str, str]:
    return {f"{m.label} {m.seed}": key_of(m.evaluation, "evaluation") for m in measured}


def _standing(folder: Path, key: str) -> "Report | None":
    try:
        stored = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        rows = [Row(**row) for row in stored.pop("rows")]
        found = Report(**stored, rows=rows)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if found.key == key else None


def _compare(title: str, measured: list[Measured], primary: str, folder: Path, key: str) -> Report:
    from tasks.plots import compare  # matplotlib is slow to import, and a report that stands is not drawn again

    lines = _lines(measured, primary)
    best = lines[0].values[primary]
    rows = [line.row(None if line is lines[0] else paired_difference(line.values[primary], best)) for line in lines]
    columns = [c for c in dict.fromkeys((*COLUMNS, primary)) if c in lines[0].summary]
    made = Report(title, primary, best.size, columns, rows, str(folder), key)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "report.md", made.markdown())
    compare({line.label: line.summary for line in lines}, columns, folder / "comparison.png")
    write_text(folder / "report.json", json.dumps(asdict(made), indent=1))
    return made


@dataclass(frozen=True)
class Line:
    """All seeds of one model."""

    label: str
    summary: dict[str, Measure]
    values: dict[str, np.ndarray]  # per document, the mean over seeds
    train_seconds: float | None
    evaluate_seconds: float | None

    def row(self, test: PairedTest | None) -> Row:
        to_best = None if test is None else {k: getattr(test, k) for k in ("difference", "low", "high", "p_value")}
        return Row(
            model=self.label,
            measures={name: _plain(asdict(m)) for name, m in self.summary.items()},
            shown={name: measure_text(m) for name, m in self.summary.items()},
            train_seconds=self.train_seconds,
            evaluate_seconds=self.evaluate_seconds,
            difference=None if to_best is None else _plain(to_best),
        )


def _lines(measured: list[Measured], primary: str) -> list[Line]:
    by_label: dict[str, list[Measured]] = {}
    for one in measured:
        by_label.setdefault(one.label, []).append(one)
    lines = [_line(label, seeds) for label, seeds in by_label.items()]
    if primary not in lines[0].values:
        known = ", ".join(lines[0].values)
        raise ValueError(f"measures.primary = {primary!r}: not among the measures of single documents: {known}")
    return sorted(lines, key=lambda line: -line.summary[primary].value)


def _line(label: str, seeds: list[Measured]) -> Line:
    found = [Evaluation.load(m.evaluation) for m in seeds]
    names = found[0].per_document.column_names[1:]
    values = {n: np.mean([e.per_document[n].to_numpy() for e in found], axis=0) for n in names}
    if len(found) == 1:
        summary = found[0].summary
    else:
        means = {n: Measure(float(np.mean([e.summary[n].value for e in found]))) for n in found[0].summary}
        summary = means | bootstrap_intervals(values)
    return Line(
        label=label if len(found) == 1 else f"{label} ({len(found)} seeds)",
        summary=summary,
        values=values,
        train_seconds=_mean_seconds([m.model for m in seeds]),
        evaluate_seconds=_mean_seconds([m.evaluation for m in seeds]),
    )


def _mean_seconds(folders: list[Path]) -> float | None:
    known = [record["seconds"] for record in map(record_of, folders) if "seconds" in record]
    return float(np.mean(known)) if known else None


def _plain(values: dict[str, float]) -> dict[str, float]:
    return {k: v for k, v in values.items() if v == v}


def _to_best(row: Row) -> str:
    if row.difference is None:
        return "best"
    d = row.difference
    return f"{d['difference']:+.3f} ({d['low']:+.3f} to {d['high']:+.3f})" if "low" in d else f"{d['difference']:+.3f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
