"""Which held-out documents a night decides on, and which came in the last nights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.intervals import bootstrap_intervals
from tagcore.store.datasets import Dataset
from tasks.evaluate import EvaluatedModel
from tasks.registry.model_card import measure_text

NIGHTS = 7  # whose documents are the newest
HEAD = ["model", "held out at first", "documents", f"of the last {NIGHTS} nights", "documents"]


@dataclass(frozen=True, eq=False)
class HoldOuts:
    """Marks among held-out documents: those of the first night, which stay the same, and the newest.

    Where no time tells which are newest all are held out by draw, and all decide.
    """

    fixed: np.ndarray
    newest: np.ndarray

    @classmethod
    def of(cls, ledger: Path, documents: np.ndarray) -> "HoldOuts":
        """Of documents by their numbers in the corpus."""
        data = Dataset.open(ledger, "ledger", verify=False)
        since = data.read("documents", ["since"])["since"].to_numpy()[documents]
        made = data.manifest["parameters"]
        fixed = since == 0 if made["split"]["kind"] == "newest" else np.ones(since.size, bool)
        return cls(fixed, (since > 0) & (since > made["night"] - NIGHTS))


def quality_by_hold_out(evaluated: Sequence[EvaluatedModel], ledger: Path, measure: str) -> list[list[str]]:
    """Rows of `HEAD`: the measure of every model on both, with 95 % intervals."""
    rows = []
    for model in evaluated:
        features = Dataset.open(model.prepared, "features", verify=False)
        parts = HoldOuts.of(ledger, features.read("test", ["document"])["document"].to_numpy())
        values = Evaluation.load(model.evaluation).per_unit[measure].to_numpy()
        cells = [_told(values[part], int(part.sum())) for part in (parts.fixed, parts.newest)]
        rows.append([model.label, *(text for cell in cells for text in cell)])
    return rows


def _told(values: np.ndarray, n: int) -> tuple[str, str]:
    if not n:
        return "none yet", "0"
    return measure_text(bootstrap_intervals({"value": values})["value"]), f"{n:,}"
