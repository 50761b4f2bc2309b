"""Popular against rare tags: of documents that have a tag, how many are given it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from tagcore.metrics.breakdown import GROUPS
from tagcore.metrics.evaluation import Evaluation, TagEvaluation
from tagcore.metrics.measure import SUGGESTED
from tasks.evaluate import EvaluatedModel
from tasks.reporting.plots import plain_text


class Group(NamedTuple):
    """Tags of about a third of all taggings to learn from."""

    name: str
    tags: int
    lowest: int  # documents to learn from with a tag of the group
    highest: int

    def __str__(self) -> str:
        return f"{self.name} ({self.tags:,} tags on {self.lowest:,} to {self.highest:,} documents)"


Table = Mapping[str, np.ndarray]  # label -> share of each group, NaN where no held-out document has a tag of it


def found_by_popularity(measured: Sequence[EvaluatedModel]) -> tuple[dict[str, np.ndarray], list[Group]]:
    """(share of every group by model, the groups as the first split has them). A share is the mean over tags of the
    held-out documents with a tag that have it among the first suggestions, and that the mean over seeds."""
    shares: dict[str, list[np.ndarray]] = {}
    groups: list[Group] = []
    for one in measured:
        evaluation = Evaluation.load(one.evaluation)
        assert isinstance(evaluation, TagEvaluation)
        rows = {row["group"]: row for row in evaluation.breakdown.to_pylist()}
        known = [rows[name] for name in GROUPS if name in rows]
        groups = groups or [Group(row["group"], row["tags"], row["lowest"], row["highest"]) for row in known]
        found = [rows.get(group.name, {}).get("macro_recall") for group in groups]
        shares.setdefault(one.label, []).append(np.array(found, float))  # None, where nothing was tested, is NaN
    return {label: np.mean(of_model, axis=0) for label, of_model in shares.items()}, groups


def popularity_markdown(table: Table, groups: Sequence[Group]) -> str:
    """A table of groups across."""
    head = [f"share of a tag's documents with it among the first {SUGGESTED}, mean over tags", *map(str, groups)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for label, shares in table.items():
        lines.append(f"| {label} | " + " | ".join("" if s != s else f"{s:.3f}" for s in shares) + " |")
    return "\n" + "\n".join(lines) + "\n"


def draw_popularity(table: Table, groups: Sequence[Group], path: Path) -> Path:
    """Bars of all models beside each other, group by group."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    width, at = 0.8 / max(1, len(table)), np.arange(len(groups))
    for number, (label, shares) in enumerate(table.items()):
        left = at + (number - (len(table) - 1) / 2) * width
        axes.bar(left, shares, width, color=f"C{number % 10}", label=plain_text(label))
    axes.set_xticks(at, [f"{group.name}\n{group.lowest:,} to {group.highest:,} documents" for group in groups])
    axes.set(ylabel=f"found among the first {SUGGESTED}")
    figure.legend(loc="outside lower center", frameon=False, fontsize=8, ncols=3)
    figure.savefig(path, dpi=130)
    return path
