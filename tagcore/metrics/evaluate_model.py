"""Measures one model on held-out documents, by every measure of the catalogue."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tagcore.base import best_k
from tagcore.features.rows import InMemory
from tagcore.label_matrix import label_matrix
from tagcore.labelling.labels import top_k_labels
from tagcore.metrics.auc import AUC, auc_from_ranks
from tagcore.metrics.breakdown import breakdown_table
from tagcore.metrics.calibration import STRATEGIES, SuggestionProbabilities, reliability_curve
from tagcore.metrics.catalogue import compute, quality_against_k
from tagcore.metrics.evaluation import TagCounts, TagEvaluation
from tagcore.metrics.intervals import Estimate, Ratio, bootstrap_intervals, bootstrap_ratios
from tagcore.metrics.kendall import SuggestedOrder
from tagcore.metrics.label_quality import per_tag_table
from tagcore.metrics.measure import SUGGESTED, Values
from tagcore.metrics.propensity import propensities, propensity_hits
from tagcore.metrics.ranking import Hits, mark_hits
from tagcore.metrics.row_ranking import RowRanks
from tagcore.metrics.rule_quality import evaluate_rules, require_rules
from tagcore.metrics.tagging_time import time_single_documents
from tagcore.metrics.tally import tally_labels
from tagcore.progress import Progress, no_progress
from tagcore.scoring.blocks import ScorePart
from tagcore.scoring.sharded import Scorer, ShardedScores
from tagcore.shards import Executor

CURVE_DEPTH = 10  # quality against k and the histogram go this far
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
    timed: int = 0,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> TagEvaluation:
    """Measures a model or tagger on `Rows`, or on word weights X with true tags Y (n × L, a tag present iff > 0).

    `train_counts` says how often each tag was trained on, in how many `train_documents`; propensity-scored measures
    need both. `labelling` names rules whose labels are measured beside the ranking; so many documents are `timed`, one
    by one.
    `seed` fixes the draws of the intervals. Rows are scored in shards, where the executor runs them; only their tags
    and best suggestions come here.

    >>> from tagcore.baselines import Popular
    >>> X, Y = sp.csr_matrix([[1.0], [2.0], [3.0]]), [[0, 1], [1, 1], [1, 0]]
    >>> evaluation = evaluate(Popular().fit(X[:2], Y[:2]), X, Y, ks=[1])
    >>> {name: round(evaluation.summary[name].value, 2) for name in ("P@1", "LRAP")}
    {'P@1': 0.67, 'LRAP': 0.83}
    """
    rows = rows if Y is None else InMemory(rows, label_matrix(Y, rows.shape[0]))
    if rows.n_rows == 0:
        raise ValueError("the test set has no documents: there is nothing to measure")
    if not ks or min(ks) < 1:
        raise ValueError(f"ks is {tuple(ks)}, expected at least one k, each 1 or more")
    rates = None if train_counts is None or not train_documents else np.asarray(train_counts) / train_documents
    require_rules(labelling, rates)
    ks = sorted(set(ks))
    progress = progress or no_progress
    scores = ShardedScores(model, rows, executor)

    depth = max(*ks, CURVE_DEPTH, SUGGESTED)
    truth, top, top_scores, ranks = _suggestions_and_ranks(scores, depth)
    labels = tally_labels(truth, top_k_labels(top[:, :SUGGESTED], truth.shape[1]))
    per_tag = per_tag_table(labels.tags, train_counts, tag_names)
    unpadded = mark_hits(truth, top)
    hits = unpadded.padded(depth)
    order = SuggestedOrder(truth, top)
    values = compute("suggestions", hits, ks) | compute("order", order, ks)
    progress(1, PASSES, _means(values))

    auc = auc_from_ranks(scores, truth, **ranks)
    ranking_values = compute("rankings", auc)
    values |= ranking_values
    progress(2, PASSES, _means(ranking_values))

    values |= compute("labels", labels)
    if train_counts is not None and train_documents is not None:
        propensity = propensities(train_counts, train_documents)
        values |= compute("propensities", propensity_hits(truth, top, propensity).padded(depth), ks)
    by_rule = evaluate_rules(scores, model, truth, ranks["positive_scores"], labelling, rates)
    for rule, tally in by_rule.tallies.items():
        values |= compute("rule", tally, rule=rule)
    first = np.s_[:, :SUGGESTED]
    probabilities = SuggestionProbabilities(
        Scorer.of(model).proba(top_scores[first], top[first]), unpadded.right[first]
    )
    values |= compute("probabilities", probabilities)
    if timed:
        values |= compute("times", time_single_documents(model, rows, max(ks), timed))
    progress(3, PASSES, _means(values))

    summary = _estimates(values, seed)
    progress(PASSES, PASSES, {name: estimate.value for name, estimate in summary.items()})
    return TagEvaluation(
        summary=summary,
        counts=_counts(truth, train_counts, auc),
        per_document=pa.table({"document": np.arange(rows.n_rows), **_per_document(values)}),
        per_tag=per_tag,
        breakdown=breakdown_table(labels.tags, train_counts),
        histogram=_histogram(hits),
        reliability=_reliability(probabilities),
        curve=_quality_against_k(hits, order),
        labelling=by_rule.table,
        expected_f=by_rule.expected_f,
    )


def suggest_and_rank(part: ScorePart, *, k: int) -> dict[str, Any]:
    """Walks a part once, for its true tags, its best k suggestions, and how its scores rank the tags of each row."""
    n, n_labels = part.truth.shape
    tags, scores = np.empty((n, min(k, n_labels)), np.int64), np.empty((n, min(k, n_labels)))
    ranks = RowRanks(part.truth)
    for first, block in part.blocks():
        rows = slice(first, first + len(block))
        ranks.add(first, block)
        tags[rows], scores[rows] = best_k(block, k)
    return {"truth": part.truth, "tags": tags, "scores": scores, **ranks.arrays()}


def _suggestions_and_ranks(
    scores: ShardedScores, k: int
) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """(true tags, best k tags, their scores, what `RowRanks` gives) of all rows, put together from their shards."""
    parts = scores.collect(suggest_and_rank, k=k)
    truth = sp.vstack([part["truth"] for part in parts], format="csr")
    top, top_scores = (np.concatenate([part[name] for part in parts]) for name in ("tags", "scores"))
    ranks = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in ("measures", "positive_scores")}
    return truth, top, top_scores, ranks


def _per_document(values: Mapping[str, Values]) -> dict[str, np.ndarray]:
    """The measures that have a value for every document."""
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def _estimates(values: Mapping[str, Values], seed: int) -> dict[str, Estimate]:
    """Values with intervals over documents, where they are means or ratios over documents."""
    ratios = {name: value for name, value in values.items() if isinstance(value, Ratio)}
    estimates = bootstrap_intervals(_per_document(values), seed=seed) | bootstrap_ratios(ratios, seed=seed)
    estimates |= {name: value for name, value in values.items() if isinstance(value, Estimate)}
    return {n: Estimate(value) if isinstance(value, float) else estimates[n] for n, value in values.items()}


def _means(values: Mapping[str, Values]) -> dict[str, float]:
    """Means without intervals, as progress tells them."""
    means = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            defined = value[~np.isnan(value)]
            means[name] = float(defined.mean()) if defined.size else float("nan")
        else:
            means[name] = value if isinstance(value, float) else value.value
    return means


def _quality_against_k(hits: Hits, order: SuggestedOrder) -> pa.Table:
    ks = range(1, CURVE_DEPTH + 1)
    columns = quality_against_k("suggestions", hits, ks) | quality_against_k("order", order, ks)
    return pa.table({"k": list(ks), **columns})


def _histogram(hits: Hits) -> pa.Table:
    counts = {k: hits.histogram(k) for k in range(1, CURVE_DEPTH + 1)}
    return pa.table(
        {
            "k": np.repeat(list(counts), [len(h) for h in counts.values()]),
            "correct": np.concatenate([np.arange(len(h)) for h in counts.values()]),
            "documents": np.concatenate(list(counts.values())),
        }
    )


def _reliability(probabilities: SuggestionProbabilities) -> pa.Table:
    curves = []
    for strategy in STRATEGIES:
        curve = reliability_curve(*probabilities, strategy=strategy)
        curves.append(curve.add_column(0, "strategy", [[strategy] * curve.num_rows]))
    return pa.concat_tables(curves)


def _counts(truth: sp.csr_matrix, train_counts: np.ndarray | None, auc: AUC) -> TagCounts:
    return TagCounts(
        documents=truth.shape[0],
        untagged_documents=int(np.count_nonzero(np.diff(truth.indptr) == 0)),
        tags=truth.shape[1],
        tags_in_test=len(np.unique(truth.indices)),
        tags_in_train=None if train_counts is None else int(np.count_nonzero(train_counts)),
        documents_without_auc=auc.rows_left_out,
        tags_without_auc=auc.labels_left_out,
    )
