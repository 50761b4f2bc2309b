"""How quality moves with one setting, such as the number of training documents: a table and a picture of all models."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from prefect import task

from tagcore.metrics.intervals import Estimate
from tagcore.store.files import write_text
from tasks.registry.client import Registry
from tasks.registry.model_card import measure_text


@dataclass(frozen=True)
class Point:
    """One model at one value of the setting."""

    line: str
    at: float
    measures: dict[str, dict[str, float]]  # name -> value, low, high


@dataclass(frozen=True)
class Curves:
    """`measures` against `setting`, one line per model."""

    title: str
    setting: str
    measures: list[str]
    points: list[Point]
    folder: str

    def lines(self, measure: str) -> dict[str, dict[float, Estimate]]:
        """The points of every line that has this measure, by rising setting."""
        lines: dict[str, dict[float, Estimate]] = {}
        for point in sorted(self.points, key=lambda p: p.at):
            if measure in point.measures:
                lines.setdefault(point.line, {})[point.at] = Estimate(**point.measures[measure])
        return lines

    def markdown(self, level: str = "#") -> str:
        """A table for every measure: lines down, values of the setting across."""
        values = sorted({point.at for point in self.points})
        text = f"{level} {self.title}: by {self.setting}\n"
        for measure in self.measures:
            head = [f"{measure} at {self.setting}", *(f"{v:,g}" for v in values)]
            text += "\n| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n"
            for line, points in self.lines(measure).items():
                cells = (measure_text(points[v]) if v in points else "" for v in values)
                text += f"| {line} | " + " | ".join(cells) + " |\n"
        return text


@task(name="curves", task_run_name="draw curves: {curves.title}")
def draw_curves(curves: Curves, parents: list[str], registry: Registry) -> Curves:
    """Written as curves.md, curves.json and curves.png, and on the MLflow runs of the comparisons."""
    from tasks.reporting.plots import against_setting

    folder = Path(curves.folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "curves.md", curves.markdown())
    write_text(folder / "curves.json", json.dumps(asdict(curves), indent=1))
    against_setting({m: curves.lines(m) for m in curves.measures}, curves.setting, folder / "curves.png")
    with registry.open() as client:
        for parent in parents:
            for name in ("curves.md", "curves.json", "curves.png"):
                client.log_artifact(parent, str(folder / name))
    return curves
