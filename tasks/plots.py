"""Pictures of an evaluation: quality against k, calibration, quality of each tag against its frequency."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("agg")  # no screen is needed, on any thread

import numpy as np
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from tagcore.metrics import Evaluation, Measure

INK, SOFT = "#1f4e79", "#c8553d"


def draw_all(evaluation: Evaluation, folder: Path) -> list[Path]:
    """quality_at_k.png, calibration.png and tags.png."""
    pictures = {"quality_at_k": quality_at_k, "calibration": calibration, "tags": tag_quality}
    paths = []
    for name, draw in pictures.items():
        figure, axes = _figure()
        draw(evaluation, axes)
        paths.append(_save(figure, folder / f"{name}.png"))
    return paths


def quality_at_k(evaluation: Evaluation, axes: Axes) -> None:
    curve = evaluation.curve
    for measure, style in (("precision", "-o"), ("recall", "-s"), ("ndcg", "-^")):
        axes.plot(curve["k"], curve[measure], style, label=measure.replace("ndcg", "nDCG"), markersize=4)
    axes.set(xlabel="tags suggested (k)", ylabel="quality on held-out documents", ylim=(0, 1))
    axes.legend(frameon=False)


def calibration(evaluation: Evaluation, axes: Axes) -> None:
    table = evaluation.reliability.filter(pc.equal(evaluation.reliability["strategy"], "mass"))
    axes.plot([0, 1], [0, 1], ":", color="grey", label="perfect")
    axes.plot(
        table["probability"], table["hit_rate"], "-o", color=INK, markersize=5, label="equal numbers of suggestions"
    )
    axes.set(xlabel="probability given", ylabel="share that was right", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False, loc="upper left")


def tag_quality(evaluation: Evaluation, axes: Axes) -> None:
    table = evaluation.per_tag
    seen, f1, tested = (np.asarray(table[c]) for c in ("train_count", "f1", "test_count"))
    shown = tested > 0
    axes.scatter(np.maximum(seen[shown], 0.5), f1[shown], s=9, alpha=0.4, color=INK, linewidths=0)
    edges = 2.0 ** np.arange(-1, np.log2(max(seen.max(), 1)) + 2)
    which = np.digitize(np.maximum(seen[shown], 0.5), edges)
    groups = [g for g in np.unique(which) if (which == g).sum() >= 3]
    middle = [np.median(np.maximum(seen[shown], 0.5)[which == g]) for g in groups]
    axes.plot(middle, [f1[shown][which == g].mean() for g in groups], "-o", color=SOFT, markersize=4, label="mean")
    axes.set(xscale="log", xlabel="documents with the tag in training", ylabel="F1 at 5 of the tag", ylim=(-0.02, 1.02))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False)


def compare(summaries: Mapping[str, Mapping[str, Measure]], measures: list[str], path: Path) -> Path:
    """All models side by side with their intervals."""
    figure, axes = _figure(width=1.6 + 1.7 * len(measures))
    width = 0.8 / len(summaries)
    for i, (name, summary) in enumerate(summaries.items()):
        found = [summary[m] for m in measures]
        values = np.array([f.value for f in found])
        around = np.abs(np.array([[f.low, f.high] for f in found]).T - values)
        axes.bar(np.arange(len(measures)) + i * width, values, width, yerr=around, capsize=2, label=name)
    axes.set_xticks(np.arange(len(measures)) + 0.4 - width / 2, measures)
    axes.set(ylim=(0, 1), ylabel="held-out documents, 95 % intervals")
    axes.legend(frameon=False, fontsize=8)
    return _save(figure, path)


def _figure(width: float = 5.2) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, 3.6), layout="constrained")  # no pyplot: its figures are global and never freed
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=150)
    return path
