"""Everything that is measured of one model on held-out documents."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tagcore.base import best_k, label_matrix
from tagcore.features.rows import InMemory
from tagcore.labelling.rules import top_k_labels
from tagcore.metrics.auc import AUC, areas
from tagcore.metrics.breakdown import breakdown_table
from tagcore.metrics.calibration import STRATEGIES, expected_calibration_error, reliability_curve
from tagcore.metrics.classification import LabelCounts, hamming_loss, label_counts, per_tag_table
from tagcore.metrics.evaluation import Evaluation, EvaluationCounts
from tagcore.metrics.intervals import Measure, bootstrap_intervals, bootstrap_ratios
from tagcore.metrics.kendall import kendall_at, kendall_union_at
from tagcore.metrics.propensity import Ratio, propensities, propensity_hits
from tagcore.metrics.ranking import Hits, mark_hits
from tagcore.metrics.row_ranking import RowRanks
from tagcore.metrics.rule_quality import evaluate_rules, require_rules
from tagcore.progress import Progress, no_progress
from tagcore.scoring.blocks import ScorePart
from tagcore.scoring.sharded import ShardedScores
from tagcore.shards import Executor

SUGGESTED = 5  # F1, the tables of tags and calibration are of the first 5 suggestions
CURVE = 10  # quality against k and the histogram go this far
PASSES = 4  # as progress counts them: the ranking, AUC, labels by rule, intervals


def evaluate(
    model: Any,
    rows: Any,
    Y: Any = None,
    *,
    ks: Sequence[int] = (1, 3, 5, 10),
    tag_names: Sequence[str] | None = None,
    train_counts: np.ndarray | None = None,
    train_documents: int | None = None,
    labelling: Sequence[str] = (),
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measures a model or tagger on `Rows`, or on word weights X with true tags Y (n × L, a tag present iff > 0).

    `train_counts` says how often each tag was trained on, in how many `train_documents`; propensity-scored measures
    need both. `labelling` names rules whose labels are measured beside the ranking.
    `seed` fixes the draws of the intervals. Rows are scored in shards, where the executor runs them; only their tags
    and best suggestions come here.
    """
    rows = rows if Y is None else InMemory(rows, label_matrix(Y, rows.shape[0]))
    n = rows.n_rows
    if n == 0:
        raise ValueError("the test set has no documents: there is nothing to measure")
    if not ks or min(ks) < 1:
        raise ValueError(f"ks is {tuple(ks)}, expected at least one k, each 1 or more")
    rates = None if train_counts is None or not train_documents else np.asarray(train_counts) / train_documents
    require_rules(labelling, rates)
    ks = sorted(set(ks))
    progress = progress or no_progress
    spread = ShardedScores(model, rows, executor)

    depth = max(*ks, CURVE, SUGGESTED)
    seen = spread.collect(look, k=depth)
    truth = sp.vstack([part["truth"] for part in seen], format="csr")
    top, scores = (np.concatenate([part[name] for part in seen]) for name in ("tags", "scores"))
    measures, of_positives = (np.concatenate([p[name] for p in seen], axis=-1) for name in ("measures", "of_positives"))
    ranked = mark_hits(truth, top)
    labels = top_k_labels(top[:, :SUGGESTED], truth.shape[1])
    tags = label_counts(truth, labels)
    per_tag = per_tag_table(tags, train_counts, tag_names)
    hits = ranked.padded(depth)
    documents = _per_document(hits, ks)
    progress(1, PASSES, {name: float(values.mean()) for name, values in documents.items()})

    auc = areas(spread, truth, measures, of_positives)
    documents |= _of_all_scores(auc)
    documents[f"Hamming loss@{SUGGESTED}"] = hamming_loss(truth, labels)
    progress(2, PASSES, {"AUC (row)": auc.row, "AUC (macro)": auc.macro, "AUC (micro)": auc.micro})

    right = ranked.right[:, :SUGGESTED]
    probabilities = model.proba(scores[:, :SUGGESTED])
    by_rule = evaluate_rules(spread, model, truth, of_positives, labelling, rates)
    progress(3, PASSES, {name: measure.value for name, measure in by_rule.macro.items()})
    ratios = _micro(right, hits.n_true)
    if train_counts is not None and train_documents is not None:
        weighed = propensity_hits(truth, top, propensities(train_counts, train_documents)).padded(depth)
        ratios |= {f"PSP@{k}": weighed.precision(k) for k in ks} | {f"PSnDCG@{k}": weighed.ndcg(k) for k in ks}
    summary = {
        **bootstrap_intervals(documents, seed=seed),
        "AUC (macro)": Measure(auc.macro),
        "AUC (micro)": Measure(auc.micro),
        **bootstrap_ratios(ratios | by_rule.micro, seed=seed),
        **_macro(tags),
        **by_rule.macro,
        "ECE": Measure(expected_calibration_error(probabilities, right)),
    }
    progress(PASSES, PASSES, {name: measure.value for name, measure in summary.items()})
    return Evaluation(
        summary=summary,
        counts=_counts(truth, train_counts, auc),
        per_document=pa.table({"document": np.arange(n), **documents}),
        per_tag=per_tag,
        breakdown=breakdown_table(tags, train_counts),
        histogram=_histogram(hits),
        reliability=_reliability(probabilities, right),
        curve=_curve(truth, top, hits),
        labelling=by_rule.table,
        expected_f=by_rule.expected_f,
    )


def look(part: ScorePart, *, k: int) -> dict[str, Any]:
    """The first walk: the true tags of a part, its best k suggestions, and what all its scores say of its rows."""
    n, n_labels = part.truth.shape
    tags, scores = np.empty((n, min(k, n_labels)), np.int64), np.empty((n, min(k, n_labels)))
    ranks = RowRanks(part.truth)
    for first, block in part.blocks():
        rows = slice(first, first + len(block))
        ranks.add(first, block)
        tags[rows], scores[rows] = best_k(block, k)
    return {"truth": part.truth, "tags": tags, "scores": scores, **ranks.arrays()}


def _per_document(hits: Hits, ks: Sequence[int]) -> dict[str, np.ndarray]:
    measures = {"P": hits.precision, "R": hits.recall, "F1": hits.f1, "nDCG": hits.ndcg, "acc": hits.accuracy}
    return {f"{name}@{k}": measure(k) for name, measure in measures.items() for k in ks}


def _of_all_scores(auc: AUC) -> dict[str, np.ndarray]:
    rows = auc.ranking
    return {
        "AUC (row)": rows.auc,
        "LRAP": rows.lrap,
        "coverage": rows.coverage,
        "ranking loss": rows.ranking_loss,
        "one-error": rows.one_error,
    }


def _micro(right: np.ndarray, n_true: np.ndarray) -> dict[str, Ratio]:
    n_right, suggested = np.count_nonzero(right, axis=1), np.full(len(right), right.shape[1])
    return {
        f"micro-P@{SUGGESTED}": Ratio(n_right, suggested),
        f"micro-R@{SUGGESTED}": Ratio(n_right, n_true),
        f"micro-F1@{SUGGESTED}": Ratio(2 * n_right, suggested + n_true),
    }


def _macro(tags: LabelCounts) -> dict[str, Measure]:
    return {f"macro-{of}@{SUGGESTED}": Measure(value) for of, value in zip(("P", "R", "F1"), tags.macro(), strict=True)}


def _curve(truth: sp.csr_matrix, top: np.ndarray, hits: Hits) -> pa.Table:
    ks = range(1, CURVE + 1)
    columns: dict[str, Callable[[int], Any]] = {
        "precision": hits.precision,
        "recall": hits.recall,
        "tag_recall": hits.tag_recall,
        "f1": hits.f1,
        "ndcg": hits.ndcg,
        "accuracy": hits.accuracy,
        "exact": hits.exact,
        "kendall": lambda k: kendall_at(truth, top, min(k, top.shape[1])),
        "kendall_union": lambda k: kendall_union_at(truth, top, min(k, top.shape[1])),
    }
    return pa.table({"k": list(ks), **{name: [float(np.mean(f(k))) for k in ks] for name, f in columns.items()}})


def _histogram(hits: Hits) -> pa.Table:
    found = {k: hits.histogram(k) for k in range(1, CURVE + 1)}
    return pa.table(
        {
            "k": np.repeat(list(found), [len(h) for h in found.values()]),
            "correct": np.concatenate([np.arange(len(h)) for h in found.values()]),
            "documents": np.concatenate(list(found.values())),
        }
    )


def _reliability(probabilities: np.ndarray, right: np.ndarray) -> pa.Table:
    curves = []
    for strategy in STRATEGIES:
        curve = reliability_curve(probabilities, right, strategy=strategy)
        curves.append(curve.add_column(0, "strategy", [[strategy] * curve.num_rows]))
    return pa.concat_tables(curves)


def _counts(truth: sp.csr_matrix, train_counts: np.ndarray | None, auc: AUC) -> EvaluationCounts:
    return EvaluationCounts(
        documents=truth.shape[0],
        untagged_documents=int(np.count_nonzero(np.diff(truth.indptr) == 0)),
        tags=truth.shape[1],
        tags_in_test=len(np.unique(truth.indices)),
        tags_in_train=None if train_counts is None else int(np.count_nonzero(train_counts)),
        documents_without_auc=auc.rows_left_out,
        tags_without_auc=auc.labels_left_out,
    )
