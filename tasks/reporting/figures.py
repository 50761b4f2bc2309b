"""The figures of the Poisson-mixture paper, drawn for any comparison: ours as lines, the published numbers as stars."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tagcore.features.side_by_side import open_rows
from tagcore.metrics.evaluation import TagEvaluation
from tagcore.tagger import Tagger
from tasks.evaluate import EvaluatedModel
from tasks.reporting.plots import plain_text
from tasks.reporting.topics import has_splits

Published = Mapping[str, Mapping[str, float]]

_SUGGESTED = 9  # as in the paper
_COMPANIONS = 12
_MARKERS = "o^sDvPX<>p"


def draw_figures(measured: Sequence[EvaluatedModel], published: Published, folder: Path) -> list[Path]:
    """figures.png (top-k and exact-k accuracy, precision and recall) and companions.png where a model has topics."""
    first = {one.label: one for one in reversed(measured)}  # with its first seed
    curves = {label: TagEvaluation.load(one.evaluation).curve.to_pydict() for label, one in first.items()}  # type: ignore[attr-defined]
    drawn = [_draw_quality(curves, published, folder / "figures.png")]
    with_topics = [one for one in first.values() if has_splits(one.model)]
    return [*drawn, _draw_companions(with_topics, folder / "companions.png")] if with_topics else drawn


def _draw_quality(curves: Mapping[str, Mapping[str, list]], published: Published, path: Path) -> Path:
    figure = Figure(figsize=(12.0, 4.6), layout="constrained")
    panels = (
        ("top-k: one of the first k is right", "accuracy", "acc"),
        ("exact-k: the k-th is right", "exact", "exact"),
    )
    for number, (title, column, measure) in enumerate(panels, start=1):
        axes = _axes(figure, number, title, "k", "share of held-out documents")
        axes.set(xlim=(0.5, _SUGGESTED + 0.5), xticks=range(1, _SUGGESTED + 1))
        for place, (label, curve) in enumerate(curves.items()):
            axes.plot(curve["k"][:_SUGGESTED], curve[column][:_SUGGESTED], label=plain_text(label), **_style(place))
        for place, (label, figures) in enumerate(published.items()):
            at = [(k, figures[f"{measure}@{k}"]) for k in range(1, _SUGGESTED + 1) if f"{measure}@{k}" in figures]
            axes.plot(*zip(*at, strict=True), **_star(place), label=plain_text(label)) if at else None
    axes = _axes(figure, 3, "tag precision against tag recall, k = 1 to 9", "tag recall", "tag precision")
    axes.set(xlim=(0, 1))
    for place, curve in enumerate(curves.values()):
        axes.plot(curve["tag_recall"][:_SUGGESTED], curve["precision"][:_SUGGESTED], **_style(place))
    for place, figures in enumerate(published.values()):
        ks = [k for k in range(1, _SUGGESTED + 1) if {f"P@{k}", f"tag recall@{k}"} <= figures.keys()]
        axes.plot([figures[f"tag recall@{k}"] for k in ks], [figures[f"P@{k}"] for k in ks], **_star(place))
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", frameon=False, fontsize=8, ncols=5)
    figure.savefig(path, dpi=130)
    return path


def _draw_companions(measured: Sequence[EvaluatedModel], path: Path) -> Path:
    """Which tags go with the most used one: as users gave them, and as models suggest them beside it (Figure 5)."""
    rows = open_rows(measured[0].prepared, "test")
    truth = rows.labels(slice(0, rows.n_rows)) > 0
    tag = int(np.bincount(truth.indices, minlength=truth.shape[1]).argmax())
    given = _companion_shares(truth.astype(np.int64), tag)
    lines, names = {}, Tagger.load(measured[0].model).tag_names
    for one in measured:
        X, _ = open_rows(one.prepared, "test").load(slice(0, rows.n_rows))
        top, _ = Tagger.load(one.model).top_k(X, _SUGGESTED)
        suggested = type(truth)(
            (np.ones(top.size, np.int64), top.ravel(), np.arange(0, top.size + 1, top.shape[1])), shape=truth.shape
        )
        lines[one.label] = (_companion_shares(suggested, tag), int(suggested[:, [tag]].sum()))
    best = np.argsort(-given, kind="stable")[:_COMPANIONS]
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    places, height = np.arange(best.size), 0.8 / (1 + len(lines))
    times = int(truth[:, [tag]].sum())
    axes.barh(places, given[best], height, color="grey", label=f"users ({times:,} documents)")
    for number, (label, (shares, suggested_times)) in enumerate(lines.items(), start=1):
        told = plain_text(f"{label} ({suggested_times:,} documents)")
        axes.barh(places + number * height, shares[best], height, label=told)
    axes.set_yticks(places + 0.4 - height / 2, [plain_text(names[t]) for t in best], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel=plain_text(f"share of the documents with “{names[tag]}” that also have the tag"))
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
    return path


def _companion_shares(tags: Any, tag: int) -> np.ndarray:
    """Of the documents (rows) that have the tag, the share that has each other one; nothing for the tag itself."""
    having = tags[np.asarray(tags[:, [tag]].todense()).ravel() > 0]
    shares = np.asarray(having.sum(axis=0)).ravel() / max(having.shape[0], 1)
    shares[tag] = 0.0
    return shares


def _axes(figure: Figure, number: int, title: str, x: str, y: str) -> Any:
    axes = figure.add_subplot(1, 3, number)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=9)
    axes.set(xlabel=x, ylabel=y, ylim=(0, 1))
    return axes


def _style(place: int) -> dict[str, Any]:
    return {"color": f"C{place % 10}", "marker": _MARKERS[place % 10], "markersize": 4, "linewidth": 1.2}


def _star(place: int) -> dict[str, Any]:
    colour = ("black", "dimgrey", "darkgrey")[place % 3]
    return {"color": colour, "marker": "*", "markersize": 11, "linestyle": ":", "linewidth": 0.8}
