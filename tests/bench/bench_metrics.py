"""Measures of 100,000 documents × 4,000 tags with 50 scores each, in dense blocks of 1,000 documents, against
scikit-learn on dense arrays.

Dense arrays of all would take 3.2 GB each, so scikit-learn measures a hundredth, the first 1,000 documents or 40 tags,
and its seconds are multiplied by 100. `ours` are seconds of one core on everything, compilation excluded; on the
hundredth both agree. Memory is the peak of a process that does all of ours.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import kendalltau
from sklearn import metrics as peer

from tagcore.label_matrix import label_matrix
from tagcore.metrics.auc import roc_auc
from tagcore.metrics.classification import label_counts_at
from tagcore.metrics.kendall import kendall_at
from tagcore.metrics.propensity import propensities, propensity_hits
from tagcore.metrics.ranking import mark_hits
from tagcore.metrics.row_ranking import LabelRanking, rank_rows
from tagcore.metrics.tally import tally_labels
from tagcore.scoring.blocks import ScorePart
from tests.bench.bench_tfidf import _peak_megabytes

DOCUMENTS, TAGS, SCORES, K = 100_000, 4_000, 50, 5
SHARE = 100
Matrix = sp.csr_matrix
Problem = tuple[Matrix, Matrix, np.ndarray]  # user counts, scores, the best ten tags of every document
Means = np.ndarray | float  # what both must agree on


def run(data: Path | None) -> list[dict[str, Any]]:
    """One row per group of measures: seconds, their ratio, and the memory of all."""
    problem = _problem(DOCUMENTS)
    of_documents = tuple(part[: DOCUMENTS // SHARE] for part in problem)
    of_tags = (*(matrix[:, : TAGS // SHARE] for matrix in problem[:2]), problem[2])
    rows = []
    for what, (ours, theirs) in GROUPS.items():
        part = of_tags if theirs is _their_area_by_tag else of_documents
        found = ours(part)  # compiles
        seconds, _ = _timed(lambda ours=ours: ours(problem))
        row: dict[str, Any] = {"what": what, "ours": seconds}
        if theirs is not None:
            dense = (part[0].toarray() > 0).astype(np.int8), part[1].toarray()
            taken, expected = _timed(lambda theirs=theirs, dense=dense, part=part: theirs(*dense, part))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=what)
            row |= {"scikit-learn": taken * SHARE, "ratio": taken * SHARE / seconds}
        rows.append(row)
    compared = [row for row in rows if "ratio" in row]
    ours_in_all, theirs_in_all = (sum(row[name] for row in compared) for name in ("ours", "scikit-learn"))
    total = {"ours": ours_in_all, "scikit-learn": theirs_in_all, "ratio": theirs_in_all / ours_in_all}
    return [*rows, {"what": "all that both have", **total, "peak MB": _peak_of_all()}]


def _problem(n: int) -> Problem:
    """Three of five true tags are among the scored ones, the other two anywhere with Zipf's frequencies."""
    random = np.random.default_rng(0)
    scored = (random.integers(TAGS, size=(n, 1)) + TAGS // SCORES * np.arange(SCORES)) % TAGS
    values = random.random((n, SCORES)) + np.linspace(0.5, 0, SCORES)
    true = np.hstack([scored[:, [0, 7, 30]], random.zipf(1.3, (n, 2)) % TAGS])
    counts = random.integers(1, 9, true.shape).astype(np.float64)
    best = np.argsort(-values, axis=1)[:, :10]
    return _csr(true, counts), _csr(scored, values), np.take_along_axis(scored, best, axis=1)


def _csr(tags: np.ndarray, values: np.ndarray) -> Matrix:
    n, per_row = tags.shape
    made = sp.csr_matrix((values.ravel(), tags.ravel(), np.arange(n + 1) * per_row), shape=(n, TAGS))
    made.sum_duplicates()
    return made


def _chosen(top: np.ndarray) -> np.ndarray:
    chosen = np.zeros((len(top), TAGS), np.int8)
    np.put_along_axis(chosen, top[:, :K], 1, axis=1)
    return chosen


def _blocks(problem: Problem) -> Iterator[tuple[slice, np.ndarray]]:
    n = problem[1].shape[0]
    for start in range(0, n, 1_000):
        yield slice(start, min(start + 1_000, n)), problem[1][start : start + 1_000].toarray()


def _rows(problem: Problem) -> Means:
    part = ScorePart(partial(_blocks, problem), label_matrix(problem[0], problem[0].shape[0]))
    ranking = LabelRanking(*rank_rows(part)["measures"])
    return np.array([ranking.lrap.mean(), ranking.coverage.mean(), ranking.ranking_loss.mean()])


def _their_rows(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    measures = (peer.label_ranking_average_precision_score, peer.coverage_error, peer.label_ranking_loss)
    return np.array([measure(truth, scores) for measure in measures])


def _areas(problem: Problem) -> Means:
    auc = roc_auc(problem[0], partial(_blocks, problem))
    return np.array([auc.row, auc.micro])


def _their_areas(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    return np.array([peer.roc_auc_score(truth, scores, average=average) for average in ("samples", "micro")])


def _area_by_tag(problem: Problem) -> Means:
    return roc_auc(problem[0], partial(_blocks, problem)).macro


def _their_area_by_tag(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    return peer.roc_auc_score(truth, scores, average="macro")


def _at_k(problem: Problem) -> Means:
    hits = mark_hits(problem[0], problem[2])
    return np.array([hits.precision(K).mean(), hits.recall(K).mean(), hits.f1(K).mean()])


def _their_at_k(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    chosen = _chosen(problem[2])
    return np.array(peer.precision_recall_fscore_support(truth, chosen, average="samples", zero_division=0)[:3])


def _by_tag(problem: Problem) -> Means:
    counts = label_counts_at(problem[0], problem[2], K)
    return np.array([*counts.micro(), *counts.macro()])


def _their_by_tag(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    chosen = _chosen(problem[2])
    both = [
        peer.precision_recall_fscore_support(truth, chosen, average=average, zero_division=0)[:3]
        for average in ("micro", "macro")
    ]
    return np.concatenate(both)


def _ndcg(problem: Problem) -> Means:
    return float(mark_hits(problem[0], problem[2]).ndcg(K).mean())


def _their_ndcg(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    return peer.ndcg_score(truth, scores, k=K)


def _hamming(problem: Problem) -> Means:
    first = problem[2][:, :K]
    return float(tally_labels(problem[0], _csr(first, np.ones(first.shape))).hamming_loss().mean())


def _their_hamming(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    return peer.hamming_loss(truth, _chosen(problem[2]))


def _kendall(problem: Problem) -> Means:
    return float(kendall_at(problem[0], problem[2], 9).mean())


def _their_kendall(truth: np.ndarray, scores: np.ndarray, problem: Problem) -> Means:
    given = np.take_along_axis(problem[0].toarray(), problem[2][:, :9], axis=1)
    taus = [kendalltau(np.arange(9, 0, -1), row).statistic for row in given]
    return float(np.nan_to_num(taus).mean())


def _propensity(problem: Problem) -> Means:
    Y, _, top = problem
    hits = propensity_hits(Y, top, propensities(np.bincount(Y.indices, minlength=TAGS), Y.shape[0]))
    return np.array([m(k).value for m in (hits.precision, hits.ndcg) for k in (1, 3, 5)])


Ours = Callable[[Problem], Means]
Theirs = Callable[[np.ndarray, np.ndarray, Problem], Means]
GROUPS: dict[str, tuple[Ours, Theirs | None]] = {
    "LRAP, coverage, ranking loss, one-error": (_rows, _their_rows),
    "AUC by document and of all cells": (_areas, _their_areas),
    "AUC by tag": (_area_by_tag, _their_area_by_tag),
    "nDCG@5": (_ndcg, _their_ndcg),
    "P, R, F1 at 5 by document": (_at_k, _their_at_k),
    "P, R, F1 at 5, micro and macro": (_by_tag, _their_by_tag),
    "Hamming loss at 5": (_hamming, _their_hamming),
    "Kendall's τ-b of 9, against scipy": (_kendall, _their_kendall),
    "PSP and PSnDCG at 1, 3, 5": (_propensity, None),
}


def _timed(measured: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = measured()
    return time.process_time() - start, result


def _peak_of_all() -> float:
    command = [sys.executable, "-m", "tests.bench.bench_metrics", "--all"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    return float(done.stdout)


def main() -> None:
    if "--all" in sys.argv:
        problem = _problem(DOCUMENTS)
        for ours, _ in GROUPS.values():
            ours(problem)
        print(_peak_megabytes())
        return
    for row in run(None):
        print(f"{row.pop('what'):58}" + "".join(f"{name}: {value:<10.4g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
