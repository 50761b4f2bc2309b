"""Everything that is measured of one model on held-out documents, and how it is stored."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from tagcore.base import Progress, label_matrix, silent
from tagcore.labelling import top_k_labels
from tagcore.metrics.auc import AUC, roc_auc
from tagcore.metrics.calibration import STRATEGIES, expected_calibration_error, reliability_curve
from tagcore.metrics.classification import per_tag_table
from tagcore.metrics.intervals import Measure, bootstrap_intervals, bootstrap_ratio
from tagcore.metrics.ranking import Hits, mark_hits

FORMAT = 1
SUGGESTED = 5  # F1, the table per tag and calibration are of the first 5 suggestions
CURVE = 10  # quality against k goes this far
TABLES = ("per_document", "per_tag", "reliability", "curve")


class Scorer(Protocol):
    """What is asked of a model."""

    def top_k(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]: ...
    def score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]: ...
    def proba(self, scores: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Counts:
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
    """

    summary: dict[str, Measure]
    counts: Counts
    per_document: pa.Table  # document (its row in the test set) and one column per measure of single documents
    per_tag: pa.Table
    reliability: pa.Table  # bins of equal width and of equal mass, told apart by `strategy`
    curve: pa.Table  # k, precision, recall, ndcg

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
        folder = Path(folder)
        path = folder / "evaluation.json"
        try:
            head = json.loads(path.read_text(encoding="utf-8"))
            if head["format"] != FORMAT:
                raise ValueError(f"format {head['format']!r}, this version reads {FORMAT}")
            summary = {
                name: Measure(**{k: math.nan if v is None else v for k, v in bounds.items()})
                for name, bounds in head["summary"].items()
            }
            counts = Counts(**head["counts"])
            tables = {}
            for name in TABLES:
                path = folder / f"{name}.parquet"
                tables[name] = pq.read_table(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: not part of a stored evaluation ({error!r})") from error
        return cls(summary=summary, counts=counts, **tables)


def evaluate(
    model: Scorer,
    X: Any,
    Y: Any,
    *,
    ks: Sequence[int] = (1, 3, 5, 10),
    tag_names: Sequence[str] | None = None,
    train_counts: np.ndarray | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Measures `model` on rows X with true tags Y (n × L, a tag present iff > 0).

    `train_counts` says how often each tag was trained on; `seed` fixes the draws of the intervals.
    """
    n = X.shape[0]
    if n == 0:
        raise ValueError("the test set has no documents: there is nothing to measure")
    if not ks or min(ks) < 1:
        raise ValueError(f"ks is {tuple(ks)}, expected at least one k, each 1 or more")
    truth = label_matrix(Y, n)
    progress = progress or silent

    depth = max(*ks, CURVE, SUGGESTED)
    top, scores = model.top_k(X, depth)
    ranked = mark_hits(truth, top)
    labels = top_k_labels(top[:, :SUGGESTED], truth.shape[1])
    per_tag = per_tag_table(truth, labels, train_counts, tag_names)
    hits = ranked.padded(depth)
    documents = _per_document(hits, ks)
    progress(1, 3, {name: float(values.mean()) for name, values in documents.items()})

    auc = roc_auc(truth, lambda: model.score_blocks(X))
    documents["AUC (row)"] = auc.rows
    progress(2, 3, {"AUC (row)": auc.row, "AUC (macro)": auc.macro, "AUC (micro)": auc.micro})

    right = ranked.right[:, :SUGGESTED]
    probabilities = model.proba(scores[:, :SUGGESTED])
    twice_right, both = 2 * np.count_nonzero(right, axis=1), right.shape[1] + hits.n_true
    summary = {
        **bootstrap_intervals(documents, seed=seed),
        "AUC (macro)": Measure(auc.macro),
        "AUC (micro)": Measure(auc.micro),
        f"micro-F1@{SUGGESTED}": bootstrap_ratio(twice_right, both, seed=seed),
        f"macro-F1@{SUGGESTED}": Measure(float(per_tag["f1"].to_numpy().mean())),
        "ECE": Measure(expected_calibration_error(probabilities, right)),
    }
    progress(3, 3, {name: measure.value for name, measure in summary.items()})
    return Evaluation(
        summary=summary,
        counts=_counts(truth, train_counts, auc),
        per_document=pa.table({"document": np.arange(n), **documents}),
        per_tag=per_tag,
        reliability=_reliability(probabilities, right),
        curve=_curve(hits),
    )


def _per_document(hits: Hits, ks: Sequence[int]) -> dict[str, np.ndarray]:
    measures = {"P": hits.precision, "R": hits.recall, "nDCG": hits.ndcg, "acc": hits.accuracy}
    return {f"{name}@{k}": measure(k) for name, measure in measures.items() for k in sorted(set(ks))}


def _curve(hits: Hits) -> pa.Table:
    ks = range(1, CURVE + 1)
    columns = {"precision": hits.precision, "recall": hits.recall, "ndcg": hits.ndcg}
    return pa.table({"k": list(ks), **{name: [f(k).mean() for k in ks] for name, f in columns.items()}})


def _reliability(probabilities: np.ndarray, right: np.ndarray) -> pa.Table:
    curves = []
    for strategy in STRATEGIES:
        curve = reliability_curve(probabilities, right, strategy=strategy)
        curves.append(curve.add_column(0, "strategy", [[strategy] * curve.num_rows]))
    return pa.concat_tables(curves)


def _counts(truth: sp.csr_matrix, train_counts: np.ndarray | None, auc: AUC) -> Counts:
    return Counts(
        documents=truth.shape[0],
        untagged_documents=int(np.count_nonzero(np.diff(truth.indptr) == 0)),
        tags=truth.shape[1],
        tags_in_test=len(np.unique(truth.indices)),
        tags_in_train=None if train_counts is None else int(np.count_nonzero(train_counts)),
        documents_without_auc=auc.rows_left_out,
        tags_without_auc=auc.labels_left_out,
    )


def _plain(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
