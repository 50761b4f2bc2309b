"""Pictures: of one evaluation, of several models side by side, of quality against a setting, of topics."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten

import matplotlib

matplotlib.use("agg")  # no screen is needed, on any thread

import numpy as np
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from tagcore.metrics.catalogue import columns_shown_at_k
from tagcore.metrics.evaluation import TagEvaluation
from tagcore.metrics.intervals import Estimate
from tagcore.models.topics import Topic
from tasks.reporting.topics import SHOWN, noticeable_tags

INK, SOFT = "#1f4e79", "#c8553d"
_PANELS_ACROSS, _PANEL_WIDTH, _LONGEST_LABEL = 4, 1.8, 44  # of comparisons: to fit a page


def draw_all(evaluation: TagEvaluation, folder: Path, topics: Sequence[Topic] = ()) -> list[Path]:
    """quality_at_k.png, calibration.png, tags.png; expected_f.png and topics.png where there is something to show."""
    pictures = {"quality_at_k": quality_at_k, "calibration": calibration, "tags": tag_quality}
    if evaluation.expected_f.num_rows:
        pictures["expected_f"] = expected_f
    paths = []
    for name, draw in pictures.items():
        figure, axes = _figure()
        draw(evaluation, axes)
        paths.append(_save(figure, folder / f"{name}.png"))
    return [*paths, draw_topics(topics, folder / "topics.png")] if topics else paths


def quality_at_k(evaluation: TagEvaluation, axes: Axes) -> None:
    curve = evaluation.curve
    for (column, name), marker in zip(columns_shown_at_k().items(), itertools.cycle("o^sDv")):
        axes.plot(curve["k"], curve[column], f"-{marker}", label=name, markersize=4)
    axes.set(xlabel="tags suggested (k)", ylabel="quality on held-out documents", ylim=(0, 1))
    axes.legend(frameon=False)


def calibration(evaluation: TagEvaluation, axes: Axes) -> None:
    table = evaluation.reliability.filter(pc.equal(evaluation.reliability["strategy"], "mass"))
    axes.plot([0, 1], [0, 1], ":", color="grey", label="perfect")
    axes.plot(
        table["probability"], table["hit_rate"], "-o", color=INK, markersize=5, label="equal numbers of suggestions"
    )
    axes.set(xlabel="probability given", ylabel="share that was right", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False, loc="upper left")


def tag_quality(evaluation: TagEvaluation, axes: Axes) -> None:
    table = evaluation.per_tag
    trained, f1, tested = (np.asarray(table[c]) for c in ("train_count", "f1", "test_count"))
    shown = tested > 0
    axes.scatter(np.maximum(trained[shown], 0.5), f1[shown], s=9, alpha=0.4, color=INK, linewidths=0)
    edges = 2.0 ** np.arange(-1, np.log2(max(trained.max(), 1)) + 2)
    which = np.digitize(np.maximum(trained[shown], 0.5), edges)
    groups = [g for g in np.unique(which) if (which == g).sum() >= 3]
    middle = [np.median(np.maximum(trained[shown], 0.5)[which == g]) for g in groups]
    axes.plot(middle, [f1[shown][which == g].mean() for g in groups], "-o", color=SOFT, markersize=4, label="mean")
    axes.set(xscale="log", xlabel="documents with the tag in training", ylabel="F1 at 5 of the tag", ylim=(-0.02, 1.02))
    decades = np.log10(np.divide(*axes.get_xlim()[::-1]))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))  # more labels would collide
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False)


def expected_f(evaluation: TagEvaluation, axes: Axes) -> None:
    """What the model expects of a threshold without any label, against what comes of it."""
    table = evaluation.expected_f
    theta, tags = table["theta"].to_numpy(), table["tags"].to_numpy()
    axes.plot(theta, table["expected"], "-o", color=INK, markersize=4, label="expected F1")
    axes.plot(theta, table["true"], "-s", color=SOFT, markersize=4, label="true F1")
    if tags.sum():
        axes.axvline(np.average(theta, weights=tags), ls=":", color="grey", label="mean of the thresholds chosen")
    axes.set(xlabel="threshold on the probability", ylabel="F1, mean over tags", xlim=(0, 1), ylim=(0, None))
    axes.legend(frameon=False)


def draw_topics(topics: Sequence[Topic], path: Path) -> Path:
    """Bars of the heaviest topics' weights, each with its tags."""
    shown = topics[:SHOWN]
    figure, axes = _figure(width=8.0, height=0.8 + 0.28 * len(shown))
    places = np.arange(len(shown))
    axes.barh(places, [topic.weight for topic in shown], color=INK)
    axes.set_yticks(
        places, [plain_text(", ".join(tag for tag, _ in noticeable_tags(topic))) for topic in shown], fontsize=7
    )
    axes.invert_yaxis()
    axes.set(xlabel="weight of the topic")
    return _save(figure, path)


def against_setting(curves: Mapping[str, Mapping[str, Mapping[float, Estimate]]], setting: str, path: Path) -> Path:
    """One panel for every measure, one line with its intervals for every model."""
    figure = Figure(figsize=(0.8 + 4.4 * len(curves), 4.2), layout="constrained")
    colours: dict[str, str] = {}
    for panel, (measure, lines) in enumerate(curves.items(), start=1):
        axes = figure.add_subplot(1, len(curves), panel)
        axes.spines[["top", "right"]].set_visible(False)
        for line, points in lines.items():
            colour = colours.setdefault(line, f"C{len(colours) % 10}")
            at = np.array(list(points))
            value, low, high = (np.array([getattr(m, of) for m in points.values()]) for of in ("value", "low", "high"))
            axes.plot(at, value, "-o", color=colour, markersize=4, label=plain_text(line))
            axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
        values = sorted({v for points in lines.values() for v in points})
        axes.set_xscale(_scale_for(values, 10))
        axes.set_yscale(_scale_for([m.value for points in lines.values() for m in points.values()], 30))
        if len(values) <= 8:  # as they were chosen; more would not fit beside one another
            axes.set_xticks(values, [f"{v:g}" for v in values])
            axes.minorticks_off()
        axes.set(xlabel=setting, ylabel=measure)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", frameon=False, fontsize=8, ncols=2)
    return _save(figure, path)


def _scale_for(values: Sequence[float], widest: float) -> str:
    """Gives the scale of an axis: a logarithmic one where the largest value is at least `widest` times the smallest."""
    return "log" if values and 0 < widest * min(values) <= max(values) else "linear"


def compare(summaries: Mapping[str, Mapping[str, Estimate]], measures: list[str], held_out: str, path: Path) -> Path:
    """A panel for every measure, in it all models below one another with their intervals, as measured on held-out
    documents or ratings. What a model was not measured by is said so."""
    across = min(len(measures), _PANELS_ACROSS)
    down = -(-len(measures) // across)
    names = [plain_text(shorten(name, _LONGEST_LABEL, placeholder="…")) for name in summaries]
    width = 0.6 + 0.055 * max(map(len, names)) + _PANEL_WIDTH * across
    figure = Figure(figsize=(width, 0.4 + down * (0.7 + 0.22 * len(names))), layout="constrained")
    places = np.arange(len(names))
    for number, measure in enumerate(measures):
        axes = figure.add_subplot(down, across, number + 1)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(measure, fontsize=9)
        axes.set_yticks(places, names if number % across == 0 else [], fontsize=8)
        axes.set(xlim=(0, _upper_end(summaries, measure)), ylim=(len(names) - 0.5, -0.5))
        axes.tick_params(axis="x", labelsize=7)
        for place, summary in enumerate(summaries.values()):
            _draw_estimate(axes, place, summary.get(measure))
    figure.supxlabel(f"held-out {held_out}, 95 % intervals", fontsize=8)
    return _save(figure, path)


def _draw_estimate(axes: Axes, place: int, estimate: Estimate | None) -> None:
    if estimate is None:  # not every model follows every rule
        axes.text(
            0.02, place, "not measured", color="grey", fontsize=7, va="center", transform=axes.get_yaxis_transform()
        )
        return
    axes.hlines(place, 0, estimate.value, color="lightgrey", linewidth=1)
    axes.hlines(place, estimate.low, estimate.high, color=INK, linewidth=2)
    axes.plot(estimate.value, place, "o", color=INK, markersize=4)


def _upper_end(summaries: Mapping[str, Mapping[str, Estimate]], measure: str) -> float:
    """1 for shares, more for errors and counts."""
    known = [summary[measure] for summary in summaries.values() if measure in summary]
    return max(1.0, 1.05 * np.nanmax([end for estimate in known for end in (estimate.value, estimate.high)]))


def plain_text(text: str) -> str:
    """Dollars and a leading underscore mean something to matplotlib."""
    return text.replace("$", r"\$").lstrip("_")


def _figure(width: float = 5.2, height: float = 3.6) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")  # no pyplot: its figures are global and never freed
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=150)
    return path
