"""Errors by how much a user has rated: whom a recommender serves better than another."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tagcore.metrics.evaluation import Evaluation, RatingEvaluation
from tasks.evaluate import EvaluatedModel
from tasks.reporting.plots import plain_text

_EDGES = (1, 21, 41, 81, 161, 321)  # first of each group: doubled from group to group, as the TagiCoFi paper does
GROUPS = ("0", "1–20", "21–40", "41–80", "81–160", "161–320", "321 and more")

Table = Mapping[str, np.ndarray]  # label -> MAE of each group, NaN where it has no user


def errors_by_activity(measured: Sequence[EvaluatedModel]) -> tuple[dict[str, np.ndarray], np.ndarray] | None:
    """(MAE of every group of users by model, users in each group), over all seeds; None for models of documents."""
    sums: dict[str, np.ndarray] = {}
    users = np.zeros(len(GROUPS))
    for one in measured:
        evaluation = Evaluation.load(one.evaluation)
        if not isinstance(evaluation, RatingEvaluation):
            return None
        table = evaluation.per_user
        group = np.searchsorted(_EDGES, table["train_ratings"].to_numpy(), side="right")
        added = [np.bincount(group, table[c].to_numpy(), len(GROUPS)) for c in ("absolute_error", "ratings")]
        sums[one.label] = sums.get(one.label, np.zeros((2, len(GROUPS)))) + np.array(added)
        if one.label == measured[0].label:
            users += np.bincount(group, minlength=len(GROUPS))
    seeds = sum(one.label == measured[0].label for one in measured)
    return {label: _ratio(*of_model) for label, of_model in sums.items()}, users / seeds


def activity_markdown(table: Table, users: np.ndarray, against: str) -> str:
    """A table of groups across; where one model is compared `against`, changes in per cent stand beside the errors."""
    shown = np.flatnonzero(users > 0)
    head = ["MAE by ratings to learn from", *(f"{GROUPS[group]} ({users[group]:,.0f} users)" for group in shown)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    base = table.get(against)
    for label, errors in table.items():
        cells = []
        for group in shown:
            change = "" if base is None or label == against else f" ({100 * (errors[group] / base[group] - 1):+.1f} %)"
            cells.append(f"{errors[group]:.3f}{change}")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n" + "\n".join(lines) + "\n"


def draw_activity(table: Table, users: np.ndarray, path: Path) -> Path:
    """A line for every model, over the groups of users."""
    shown = np.flatnonzero(users > 0)
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    for number, (label, errors) in enumerate(table.items()):
        axes.plot(
            range(shown.size), errors[shown], "-o", color=f"C{number % 10}", markersize=4, label=plain_text(label)
        )
    axes.set_xticks(range(shown.size), [GROUPS[group] for group in shown])
    axes.set(xlabel="ratings of the user to learn from", ylabel="MAE")
    figure.legend(loc="outside lower center", frameon=False, fontsize=8, ncols=2)
    figure.savefig(path, dpi=130)
    return path


def _ratio(errors: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    return np.divide(errors, ratings, out=np.full(errors.size, np.nan), where=ratings > 0)
