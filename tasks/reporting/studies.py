"""A search as its report shows it: the best settings of every model, and what was tried on the way to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tagcore.metrics.catalogue import signed
from tasks.naming import safe_name
from tasks.reporting.page import Section, paragraph, pictures_inside, sorting_table
from tasks.reporting.plots import INK, SOFT, plain_text
from tasks.search.space import SearchRange
from tasks.search.study import Study

_MOST_PANELS = 4  # settings that are drawn, the most important ones


@dataclass(frozen=True)
class StudySummary:
    """The end of a study."""

    model: str
    measure: str
    value: float  # of the best trial, on validation documents
    start: float | None  # of the settings that the recipe had, if they were tried
    point: dict[str, Any]  # the best settings
    importances: dict[str, float]
    trials: int
    pruned: int
    left_out: int  # whose features were nothing for the model, as they were too large
    picture: str

    def told(self) -> str:
        """One line for a terminal."""
        chosen = ", ".join(f"{name} = {_short(value)}" for name, value in self.point.items())
        before = "" if self.start is None else f" (as it was: {self.start:.4f})"
        left_out = f", {self.left_out} left out" if self.left_out else ""
        return (
            f"{self.model}: {chosen}; {self.measure} {self.value:.4f}{before} on validation documents, "
            f"{self.trials} trials, {self.pruned} of them given up early{left_out}"
        )


def summarise_study(model: str, study: Study, measure: str, folder: Path) -> StudySummary:
    """Tells what a study found, and draws it into the folder."""
    best = study.best
    assert best is not None
    first, left_out = study.trials[0], sum(not trial.values for trial in study.trials)
    pruned = len(study.trials) - len(study.whole_trials) - left_out
    start = signed(measure, first.value) if study.start is not None and not first.pruned else None
    importances = study.importances()
    picture = draw_study(study, importances, measure, folder / f"study-{safe_name(model)}.png")
    value = signed(measure, best.value)
    trials = len(study.trials)
    return StudySummary(model, measure, value, start, best.point, importances, trials, pruned, left_out, picture.name)


def studies_section(summaries: Sequence[StudySummary], folder: Path) -> Section:
    """The part of the page that is about the search."""
    head = ["model", "best settings", "on validation", "as it was", "trials", "given up early"]
    rows = [
        [
            one.model,
            ", ".join(f"{name} = {_short(value)}" for name, value in one.point.items()),
            one.value,
            "" if one.start is None else one.start,
            one.trials,
            one.pruned,
        ]
        for one in summaries
    ]
    drawn = "".join(
        f"<h3>{escape(one.model)}</h3>{paragraph(_blame(one))}{pictures_inside([folder / one.picture])}"
        for one in summaries
    )
    about = "Chosen on validation documents, which are a share of those to learn from; the table above is of the test."
    return Section("Search", paragraph(about) + sorting_table(head, rows) + drawn)


def draw_study(study: Study, importances: dict[str, float], measure: str, path: Path) -> Path:
    """The value of every trial in turn, and against each of the settings that matter most."""
    names = [*importances, *(name for name in study.space if name not in importances)][:_MOST_PANELS]
    figure = Figure(figsize=(3.2 * (1 + len(names)), 3.2), layout="constrained")
    axes = figure.subplots(1, 1 + len(names), sharey=True, squeeze=False)[0]
    whole, pruned = study.whole_trials, [trial for trial in study.trials if trial.pruned and trial.values]
    for trials, style in ((whole, {"color": INK}), (pruned, {"color": SOFT, "marker": "x"})):
        label = "given up early" if trials is pruned else "all rows"
        values = [signed(measure, trial.value) for trial in trials]
        axes[0].scatter([trial.number + 1 for trial in trials], values, s=14, label=label, **style)
        for panel, name in zip(axes[1:], names, strict=True):
            panel.scatter([_place(study, name, trial.point[name]) for trial in trials], values, s=14, **style)
    best = signed(measure, 1.0) * np.maximum.accumulate([trial.value for trial in whole])
    axes[0].step([trial.number + 1 for trial in whole], best, where="post", color=INK, linewidth=1)
    axes[0].set(xlabel="trial", ylabel=plain_text(f"{measure} on validation documents"))
    axes[0].legend(frameon=False, fontsize=8)
    for panel, name in zip(axes[1:], names, strict=True):
        tried = study.space[name]
        blame = f" ({importances[name]:.0%})" if name in importances else ""
        panel.set(xlabel=plain_text(name + blame))
        if isinstance(tried, SearchRange):
            panel.set_xscale("log" if tried.log else "linear")
        else:
            panel.set_xticks(range(len(tried)), [plain_text(_short(value)) for value in tried], fontsize=8)
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    return path


def _place(study: Study, name: str, value: Any) -> float:
    values = study.space[name]
    return values.index(value) if isinstance(values, list) else value


def _blame(one: StudySummary) -> str:
    if not one.importances:
        return "Too few trials to tell which setting matters."
    shares = ", ".join(f"{name} {share:.0%}" for name, share in one.importances.items())
    return f"Of the differences between whole trials, by fANOVA: {shares}."


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
