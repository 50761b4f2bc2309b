"""A picture of recursive splits: which topics were parted from which, and how much the cut cost."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

from matplotlib.figure import Figure

from tagcore.models.topics import Topic
from tasks.reporting.plots import INK, SOFT, plain_text

MOST_SPLITS = 39  # forty lines are legible on a page
_LONGEST_LABEL = 60


def draw_splits(tree: dict[str, Any], n_splits: int, topics: Sequence[Topic], path: Path) -> Path:
    """Draws a tree whose leaves are topics, or heaps of topics where `n_splits` is more than the tree has."""
    leaves: list[dict[str, Any]] = []
    lines: list[tuple[tuple[float, float], tuple[float, float]]] = []
    inner: list[tuple[float, float, float]] = []

    def place(node: dict[str, Any], depth: int) -> float:
        if "halves" not in node:
            leaves.append(node | {"depth": depth})
            return float(len(leaves) - 1)
        heights = [place(half, depth + 1) for half in node["halves"]]
        height = sum(heights) / 2
        lines.extend(((depth, height), (depth + 1, half)) for half in heights)
        inner.append((depth, height, node["ncut"]))
        return height

    place(tree, 0)
    deepest = max(leaf["depth"] for leaf in leaves)
    figure = Figure(figsize=(5.0 + 0.5 * deepest, 0.9 + 0.2 * len(leaves)), layout="constrained")
    axes = figure.add_subplot()
    for (x, y), (to_x, to_y) in lines:
        axes.plot([x, x, to_x], [y, to_y, to_y], color="grey", linewidth=0.8, zorder=1)
    for x, y, ncut in inner:
        axes.plot(x, y, "o", color=INK, markersize=3, zorder=2)
        axes.annotate(f"{ncut:.2f}", (x, y), (3, 3), textcoords="offset points", fontsize=6, color=SOFT)
    for y, leaf in enumerate(leaves):
        axes.plot([leaf["depth"], deepest], [y, y], ":", color="lightgrey", linewidth=0.6, zorder=0)
        axes.annotate(_label(leaf, topics), (deepest, y), (4, 0), textcoords="offset points", fontsize=7, va="center")
    axes.set(xlim=(-0.2, deepest + 0.1), ylim=(len(leaves) - 0.4, -0.6))
    axes.axis("off")
    drawn = len(leaves) - 1
    more = f" of one of its topics; the first {drawn} of {n_splits} splits, which later ones refine"
    rest = more if n_splits > drawn else ""
    axes.set_title(f"splits with their Ncut, documents and first tags{rest}", fontsize=8, loc="left")
    figure.savefig(path, dpi=150, bbox_inches="tight")  # labels stand right of the axes
    return path


def _label(leaf: dict[str, Any], topics: Sequence[Topic]) -> str:
    """Documents, and the first tags of the topic that kept the number of the cluster."""
    topic = next(topic for topic in topics if topic.number == leaf.get("cluster", 0))
    documents = leaf.get("documents", topic.documents)
    return plain_text(shorten(f"{documents:,} · {', '.join(topic.tags)}", _LONGEST_LABEL, placeholder="…"))
