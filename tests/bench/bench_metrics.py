"""Measures of 100,000 documents × 4,000 tags with 50 scores each, against scikit-learn's best way to each.

What scikit-learn measures of sparse labels (precision, recall, F1, Hamming loss) it gets as sparse matrices of all
documents. What it measures of scores it takes from dense arrays alone: all would be 3.2 GB, so it measures a hundredth,
the first 1,000 documents or 40 tags, and its seconds are multiplied by 100; ours come from dense blocks of 1,000
documents and include making them. nDCG includes the ranking of the scores on both sides. CPU seconds of one core, the
least of three runs of each side in turn, compilation excluded; on the part that scikit-learn measures both agree.
Memory is the peak of a process that does all of ours.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import kendalltau
from sklearn import metrics as peer

from tagcore.base import best_k
from tagcore.label_matrix import label_matrix
from tagcore.labelling.labels import top_k_labels
from tagcore.metrics.auc import roc_auc
from tagcore.metrics.kendall import kendall_at
from tagcore.metrics.label_quality import label_counts_at
from tagcore.metrics.propensity import propensities, propensity_hits
from tagcore.metrics.ranking import mark_hits
from tagcore.metrics.row_ranking import LabelRanking, rank_rows
from tagcore.metrics.tally import tally_labels
from tagcore.scoring.blocks import ScorePart
from tests.bench.bench_tfidf import _peak_megabytes
from tests.bench.timing import least_cpu

DOCUMENTS, TAGS, SCORES, K = 100_000, 4_000, 50, 5
SHARE, RUNS = 100, 3
Matrix = sp.csr_matrix
Means = np.ndarray | float  # what both must agree on


class Problem(NamedTuple):
    """What is measured of every document."""

    counts: Matrix  # of its users, by tag
    scores: Matrix
    top: np.ndarray  # its best ten tags
    given: Matrix  # the first five


class Labels(NamedTuple):
    """What scikit-learn measures, in the form that it takes: true labels, and given ones or scores."""

    truth: Matrix | np.ndarray
    given: Matrix | np.ndarray
    problem: Problem


class Group(NamedTuple):
    """Measures of ours and of scikit-learn, and the part of the problem that it gets."""

    ours: Callable[[Problem], Means]
    theirs: Callable[[Labels], Means] | None = None
    part: str = "documents"


def run(data: Path | None) -> list[dict[str, Any]]:
    """One row per group of measures: seconds, their ratio, and the memory of all."""
    problem = _problem(DOCUMENTS)
    of_documents = Problem(*(part[: DOCUMENTS // SHARE] for part in problem))
    of_tags = problem._replace(counts=problem.counts[:, : TAGS // SHARE], scores=problem.scores[:, : TAGS // SHARE])
    parts = {"documents": _dense(of_documents), "tags": _dense(of_tags), "sparse": _sparse(problem)}
    rows = []
    for what, (ours, theirs, part) in GROUPS.items():
        labels = parts[part]
        found = ours(labels.problem)  # compiles
        if theirs is not None:
            np.testing.assert_allclose(found, theirs(labels), rtol=0, atol=1e-9, err_msg=what)
        works = [partial(ours, problem), *([partial(theirs, labels)] if theirs is not None else [])]
        seconds = dict(zip(("ours", "scikit-learn"), least_cpu(RUNS, *works), strict=False))
        if theirs is not None and part != "sparse":
            seconds["scikit-learn"] *= SHARE
        rows.append({"what": what, **seconds, **_ratio(seconds)})
    compared = [row for row in rows if "ratio" in row]
    total = {side: sum(row[side] for row in compared) for side in ("ours", "scikit-learn")}
    return [*rows, {"what": "all that both have", **total, **_ratio(total), "peak MB": _peak_of_all()}]


def _ratio(seconds: dict[str, float]) -> dict[str, float]:
    return {"ratio": seconds["scikit-learn"] / seconds["ours"]} if "scikit-learn" in seconds else {}


def _dense(problem: Problem) -> Labels:
    return Labels((problem.counts.toarray() > 0).astype(np.int8), problem.scores.toarray(), problem)


def _sparse(problem: Problem) -> Labels:
    return Labels((problem.counts > 0).astype(np.int8).tocsr(), problem.given, problem)


def _problem(n: int) -> Problem:
    """Three of five true tags are among the scored ones, the other two anywhere with Zipf's frequencies."""
    random = np.random.default_rng(0)
    scored = (random.integers(TAGS, size=(n, 1)) + TAGS // SCORES * np.arange(SCORES)) % TAGS
    values = random.random((n, SCORES)) + np.linspace(0.5, 0, SCORES)
    true = np.hstack([scored[:, [0, 7, 30]], random.zipf(1.3, (n, 2)) % TAGS])
    counts = random.integers(1, 9, true.shape).astype(np.float64)
    top = np.take_along_axis(scored, np.argsort(-values, axis=1)[:, :10], axis=1)
    return Problem(_csr(true, counts), _csr(scored, values), top, top_k_labels(top[:, :K], TAGS))


def _csr(tags: np.ndarray, values: np.ndarray) -> Matrix:
    n, per_row = tags.shape
    made = sp.csr_matrix((values.ravel(), tags.ravel(), np.arange(n + 1) * per_row), shape=(n, TAGS))
    made.sum_duplicates()
    return made


def _blocks(problem: Problem) -> Iterator[tuple[slice, np.ndarray]]:
    n = problem.scores.shape[0]
    for start in range(0, n, 1_000):
        yield slice(start, min(start + 1_000, n)), problem.scores[start : start + 1_000].toarray()


def _rows(problem: Problem) -> Means:
    part = ScorePart(partial(_blocks, problem), label_matrix(problem.counts, problem.counts.shape[0]))
    ranking = LabelRanking(*rank_rows(part)["measures"])
    return np.array([ranking.lrap.mean(), ranking.coverage.mean(), ranking.ranking_loss.mean()])


def _their_rows(labels: Labels) -> Means:
    measures = (peer.label_ranking_average_precision_score, peer.coverage_error, peer.label_ranking_loss)
    return np.array([measure(labels.truth, labels.given) for measure in measures])


def _areas(problem: Problem) -> Means:
    auc = roc_auc(problem.counts, partial(_blocks, problem))
    return np.array([auc.row, auc.micro])


def _their_areas(labels: Labels) -> Means:
    return np.array([peer.roc_auc_score(*labels[:2], average=average) for average in ("samples", "micro")])


def _area_by_tag(problem: Problem) -> Means:
    return roc_auc(problem.counts, partial(_blocks, problem)).macro


def _their_area_by_tag(labels: Labels) -> Means:
    return peer.roc_auc_score(*labels[:2], average="macro")


def _ndcg(problem: Problem) -> Means:
    top = np.concatenate([best_k(block, K)[0] for _, block in _blocks(problem)])
    return float(mark_hits(problem.counts, top).ndcg(K).mean())


def _their_ndcg(labels: Labels) -> Means:
    return peer.ndcg_score(*labels[:2], k=K)


def _at_k(problem: Problem) -> Means:
    hits = mark_hits(problem.counts, problem.top)
    return np.array([hits.precision(K).mean(), hits.recall(K).mean(), hits.f1(K).mean()])


def _their_at_k(labels: Labels) -> Means:
    return np.array(peer.precision_recall_fscore_support(*labels[:2], average="samples", zero_division=0)[:3])


def _by_tag(problem: Problem) -> Means:
    counts = label_counts_at(problem.counts, problem.top, K)
    return np.array([*counts.micro(), *counts.macro()])


def _their_by_tag(labels: Labels) -> Means:
    both = [
        peer.precision_recall_fscore_support(*labels[:2], average=average, zero_division=0)[:3]
        for average in ("micro", "macro")
    ]
    return np.concatenate(both)


def _hamming(problem: Problem) -> Means:
    return float(tally_labels(problem.counts, problem.given).hamming_loss().mean())


def _their_hamming(labels: Labels) -> Means:
    return peer.hamming_loss(*labels[:2])


def _kendall(problem: Problem) -> Means:
    return float(kendall_at(problem.counts, problem.top, 9).mean())


def _their_kendall(labels: Labels) -> Means:
    given = np.take_along_axis(labels.problem.counts.toarray(), labels.problem.top[:, :9], axis=1)
    places = np.broadcast_to(np.arange(9, 0, -1), given.shape)
    return float(np.nan_to_num(kendalltau(places, given, axis=1, method="asymptotic").statistic).mean())


def _propensity(problem: Problem) -> Means:
    Y = problem.counts
    hits = propensity_hits(Y, problem.top, propensities(np.bincount(Y.indices, minlength=TAGS), Y.shape[0]))
    return np.array([m(k).value for m in (hits.precision, hits.ndcg) for k in (1, 3, 5)])


GROUPS = {
    "LRAP, coverage, ranking loss, one-error": Group(_rows, _their_rows),
    "AUC by document and of all cells": Group(_areas, _their_areas),
    "AUC by tag": Group(_area_by_tag, _their_area_by_tag, "tags"),
    "nDCG@5, ranking included": Group(_ndcg, _their_ndcg),
    "P, R, F1 at 5 by document": Group(_at_k, _their_at_k, "sparse"),
    "P, R, F1 at 5, micro and macro": Group(_by_tag, _their_by_tag, "sparse"),
    "Hamming loss at 5": Group(_hamming, _their_hamming, "sparse"),
    "Kendall's τ-b of 9, against scipy": Group(_kendall, _their_kendall),
    "PSP and PSnDCG at 1, 3, 5": Group(_propensity),
}


def _peak_of_all() -> float:
    command = [sys.executable, "-m", "tests.bench.bench_metrics", "--all"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    return float(done.stdout)


def main() -> None:
    if "--all" in sys.argv:
        problem = _problem(DOCUMENTS)
        for group in GROUPS.values():
            group.ours(problem)
        print(_peak_megabytes())
        return
    for row in run(None):
        print(f"{row.pop('what'):58}" + "".join(f"{name}: {value:<10.4g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
