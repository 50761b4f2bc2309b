"""Whether probabilities hold, for all models of a report in one picture."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

import pyarrow.compute as pc
from matplotlib.figure import Figure

from tagcore.metrics.evaluation import TagEvaluation
from tasks.evaluate import EvaluatedModel
from tasks.reporting.plots import plain_text

MOST_LINES = 8  # more cannot be told apart
_LONGEST_LABEL = 48  # characters: with longer ones no room is left for the lines


def draw_reliability(measured: Sequence[EvaluatedModel], labels: Sequence[str], path: Path) -> Path:
    """The share of suggestions that were right against the probability given, of the first of these models."""
    first = {one.label: one for one in reversed(measured)}  # with its first seed
    figure = Figure(figsize=(5.4, 4.8), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.plot([0, 1], [0, 1], ":", color="grey", label="perfect")
    for label in labels[:MOST_LINES]:
        evaluation = TagEvaluation.load(first[label].evaluation)
        table = evaluation.reliability.filter(pc.equal(evaluation.reliability["strategy"], "mass"))  # type: ignore[attr-defined]
        error = evaluation.summary["ECE"].value
        told = plain_text(f"{shorten(label, _LONGEST_LABEL, placeholder=' …')} (ECE {error:.3f})")
        axes.plot(table["probability"], table["hit_rate"], "-o", markersize=4, linewidth=1.2, label=told)
    axes.set(xlabel="probability given", ylabel="share that was right", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(path, dpi=130)
    return path
