"""The result of measuring one model: what it consists of, and how it is stored."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tagcore.metrics.intervals import Estimate

FORMAT = 3
TABLES = ("per_document", "per_tag", "breakdown", "histogram", "reliability", "curve", "labelling", "expected_f")


@dataclass(frozen=True)
class EvaluationCounts:
    """What was measured on, and what had to be left out of the mean AUCs for having no positive or no negative."""

    documents: int
    untagged_documents: int
    tags: int
    tags_in_test: int
    tags_in_train: int | None
    documents_without_auc: int
    tags_without_auc: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures of one model on one test set.

    Intervals are over documents. Macro measures, micro AUC and ECE have none: resampled documents lose rare tags
    and scatter bins, which biases these. A k above the number of tags counts the missing suggestions as wrong.
    Documents without a tag count as 0, but as 1 in LRAP, where scikit-learn calls any order of no tags right.
    """

    summary: dict[str, Estimate]
    counts: EvaluationCounts
    per_document: pa.Table  # document (its row in the test set) and one column per measure of single documents
    per_tag: pa.Table
    breakdown: pa.Table  # popular against rare tags: head, torso, tail, unseen; empty without training counts
    histogram: pa.Table  # k, correct, documents: how many have so many right among the first k
    reliability: pa.Table  # bins of equal width and of equal mass, told apart by `strategy`
    curve: pa.Table  # k and means at k; kendall is of user counts, over the suggestions or with all tags of users
    labelling: pa.Table  # one line for every labelling rule of the evaluation, empty where the model cannot follow it
    expected_f: pa.Table  # expected against true F1 over the thresholds of the sampled rule

    def save(self, folder: Path | str) -> None:
        """Fills a folder; whoever needs it whole or not at all gives a temporary one and renames it."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            pq.write_table(getattr(self, name), folder / f"{name}.parquet", compression="zstd")
        summary = {name: {k: _plain(v) for k, v in asdict(m).items()} for name, m in self.summary.items()}
        head = {"format": FORMAT, "summary": summary, "counts": asdict(self.counts)}
        text = json.dumps(head, indent=1, allow_nan=False, ensure_ascii=False)
        (folder / "evaluation.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> "Evaluation":
        """The evaluation that `save` put into a folder; ValueError names the file that is not as it was."""
        folder = Path(folder)
        path = folder / "evaluation.json"
        try:
            head = json.loads(path.read_text(encoding="utf-8"))
            if head["format"] != FORMAT:
                raise ValueError(f"format {head['format']!r}, this version reads {FORMAT}")
            summary = {
                name: Estimate(**{k: math.nan if v is None else v for k, v in bounds.items()})
                for name, bounds in head["summary"].items()
            }
            counts = EvaluationCounts(**head["counts"])
            tables = {}
            for name in TABLES:
                path = folder / f"{name}.parquet"
                tables[name] = pq.read_table(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: not part of a stored evaluation ({error!r})") from error
        return cls(summary=summary, counts=counts, **tables)


def _plain(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
