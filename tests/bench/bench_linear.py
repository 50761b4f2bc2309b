"""Linear baselines against scikit-learn: CPU seconds for the same tags of eurlex4k, and quality with defaults."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.linear_model import Ridge as RidgePeer
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.baselines import OneVsRestLinear, OneVsRestLogistic, PassiveAggressive, Ridge
from tagcore.shards import InProcess
from tagcore.tag_model import TagModel
from tests.bench.timing import cpu
from tests.problems import official_split, precision

SAME_TAGS = slice(7, None, 125)
QUALITY = ("bibtex", "eurlex4k")
MODELS: tuple[type[TagModel], ...] = (OneVsRestLinear, OneVsRestLogistic, PassiveAggressive, Ridge)

Split = tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]


def run(data: Path | None) -> list[dict[str, Any]]:
    """CPU seconds of one thread, wall seconds of two; nothing without data."""
    if data is None:
        return []
    sets = {name: official_split(data / name) for name in QUALITY}
    X, Y, _, _ = sets["eurlex4k"]
    for model in MODELS:
        model().fit(X[:200], Y[:200, :50])  # compiles
    rows = [row for ours, peer in _pairs() for row in _against(ours, peer, sets["eurlex4k"])]
    return rows + [_quality(name, model(), split) for name, split in sets.items() for model in MODELS]


def _pairs() -> list[tuple[TagModel, Any]]:
    """Each of ours beside scikit-learn's way to the same problem, with the same tolerance."""
    linear, logistic = OneVsRestLinear(prune=0), OneVsRestLogistic(prune=0, fit_intercept=False)
    online, ridge = PassiveAggressive(shuffle=False), Ridge()
    same = {"loss": "hinge", "penalty": None, "learning_rate": "pa2", "shuffle": False, "tol": None}
    return [
        (linear, LinearSVC(C=linear.C, dual=True, tol=linear.tol, random_state=0)),
        (logistic, LogisticRegression(C=logistic.C, fit_intercept=False, solver="liblinear", tol=logistic.tol)),
        (online, SGDClassifier(**same, eta0=online.C, max_iter=online.max_iter)),
        (ridge, RidgePeer(alpha=ridge.alpha, tol=ridge.tol)),
    ]


def _against(ours: TagModel, peer: Any, split: Split) -> list[dict[str, Any]]:
    """One machine of the peer for each of a few tags; ours for these, or for all where they share the work."""
    X, Y, X_test, Y_test = split
    some = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))[SAME_TAGS]
    learnt = np.arange(Y.shape[1]) if isinstance(ours, PassiveAggressive | Ridge) else some
    columns = np.searchsorted(learnt, some)
    unit, unit_test = normalize(X), normalize(X_test)
    seconds = cpu(lambda: ours.fit(X, Y[:, learnt])) / learnt.size
    peer_seconds, peer_scores = 0.0, []
    for tag in some:
        truth = Y[:, [tag]].toarray().ravel() > 0
        peer_seconds += cpu(lambda truth=truth: peer.fit(unit, truth)) / some.size
        peer_scores.append(getattr(peer, "decision_function", peer.predict)(unit_test))
    scores = np.concatenate([block[:, columns] for _, block in ours.score_blocks(X_test)])
    found = np.column_stack(peer_scores)
    best, peer_best = (np.argsort(-s, axis=1, kind="stable") for s in (scores, found))
    what = f"eurlex4k, {some.size} tags, {X.shape[0]} documents: "
    return [
        {
            "what": what + type(ours).__name__,
            "s per tag": seconds,
            "scores apart": float(np.abs(scores - found).max()),
            "P@1": precision(Y_test[:, some], best, 1),
        },
        {
            "what": f"{what}scikit-learn's {type(peer).__name__}",
            "s per tag": peer_seconds,
            "times ours": peer_seconds / seconds,
            "P@1": precision(Y_test[:, some], peer_best, 1),
        },
    ]


def _quality(name: str, model: TagModel, split: Split) -> dict[str, Any]:
    X, Y, X_test, Y_test = split
    start = time.perf_counter()
    seconds = cpu(lambda: model.fit(X, Y, executor=InProcess(2)))
    wall = time.perf_counter() - start
    tags, _ = model.top_k(X_test, 5)
    quality = {f"P@{k}": precision(Y_test, tags, k) for k in (1, 3, 5)}
    what = f"{name}, all {Y.shape[1]} tags: {type(model).__name__}"
    return {"what": what, "s per tag": seconds / Y.shape[1], "wall s, 2 threads": wall, **quality}
