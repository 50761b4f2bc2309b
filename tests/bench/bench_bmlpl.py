"""BMLPL: CPU seconds of an iteration, how they grow with positives, the exact M-step, and liblinear's one-vs-rest."""

import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.baselines import OneVsRestLogistic
from tagcore.metrics.auc import roc_auc
from tagcore.models import BMLPL
from tagcore.models.bmlpl.kernels.em import expect_counts
from tagcore.tag_model import TagModel
from tests.bench.timing import cpu
from tests.problems import official_split

Split = tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)


def run(data: Path | None) -> list[dict[str, Any]]:
    """All on one thread; nothing without data."""
    if data is None:
        return []
    bibtex, delicious, eurlex = (official_split(data / name) for name in ("bibtex", "delicious", "eurlex4k"))
    BMLPL(n_topics=8, max_iter=2).fit(bibtex[0][:500], bibtex[1][:500])  # compiles
    BMLPL(n_topics=8, max_iter=2, solver="exact").fit(delicious[0][:500], delicious[1][:500])
    return [
        _iteration("delicious", delicious, 200),
        _iteration("eurlex4k", eurlex, 400),
        *_positives(delicious, 200),
        _exact(delicious, 200),
        *_liblinear(bibtex),
        *_to_auc("bibtex", bibtex, 127),
        *_to_auc("delicious", delicious, 200),
    ]


def _iteration(name: str, split: Split, n_topics: int) -> dict[str, Any]:
    X, Y, _, _ = split
    tracemalloc.start()
    BMLPL(n_topics=n_topics, max_iter=1).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    what = f"{name}: EM iteration, K = {n_topics}, float32"
    return {"what": what, "CPU s": _per_iteration(X, Y, n_topics), "peak MiB": peak / 2**20}


def _positives(split: Split, n_topics: int) -> list[dict[str, Any]]:
    """The paper's Figure 2, left: the counts are what depends on positives, the rest of an iteration on words."""
    X, Y, _, _ = split
    rng = np.random.default_rng(0)
    U, V = (rng.random((n, n_topics), np.float32) for n in Y.shape)
    parts = [_share(Y, share) for share in SHARES]
    seconds = [
        min(cpu(lambda p=p: expect_counts(p.indices, p.indptr, U, V, *map(np.zeros_like, (U, V)))) for _ in range(7))
        for p in parts
    ]
    line = np.corrcoef([p.nnz for p in parts], seconds)[0, 1] ** 2
    what = f"delicious, K = {n_topics}: 20 to 100 % of the positives"
    whole = {"CPU s at 20 %": _per_iteration(X, parts[0], n_topics), "CPU s": _per_iteration(X, Y, n_topics)}
    return [
        {"what": f"{what}: counts", "R²": float(line), "CPU s at 20 %": seconds[0], "CPU s": seconds[-1]},
        {"what": f"{what}: EM iteration", **whole},
    ]


def _exact(split: Split, n_topics: int) -> dict[str, Any]:
    X, Y, _, _ = split
    exact = _per_iteration(X, Y, n_topics, iterations=1, solver="exact")
    steps = _per_iteration(X, Y, n_topics)
    what = f"delicious: EM iteration with exact M-step, K = {n_topics}"
    return {"what": what, "CPU s": exact, "times CG": exact / steps}


def _liblinear(split: Split) -> list[dict[str, Any]]:
    X, Y, X_test, Y_test = split
    ours = BMLPL(n_topics=64, max_iter=60, tol=0.0)
    seconds = cpu(lambda: ours.fit(X, Y))
    peer = OneVsRestClassifier(LinearSVC(random_state=0), n_jobs=1)
    peer_seconds = cpu(lambda: peer.fit(normalize(X), Y > 0))
    scores = peer.decision_function(normalize(X_test))
    peer_auc = roc_auc(Y_test, lambda: [(slice(0, len(scores)), scores)]).row
    return [
        {"what": "bibtex: 60 iterations, K = 64", "CPU s": seconds, "row AUC": _auc(ours, X_test, Y_test)},
        {
            "what": "bibtex: scikit-learn's LinearSVC, one-vs-rest",
            "CPU s": peer_seconds,
            "times ours": peer_seconds / seconds,
            "row AUC": peer_auc,
        },
    ]


def _to_auc(name: str, split: Split, n_topics: int) -> list[dict[str, Any]]:
    """Iterations until the row AUC is that of one-vs-rest logistic regression, or all."""
    X, Y, X_test, Y_test = split
    peer = OneVsRestLogistic()
    peer.fit(X[:200], Y[:200])  # compiles
    peer_seconds = cpu(lambda: peer.fit(X, Y))
    peer_auc = _auc(peer, X_test, Y_test)
    rows = [{"what": f"{name}: OneVsRestLogistic", "CPU s": peer_seconds, "row AUC": peer_auc}]
    for iterations in (5, 10, 20, 40, 80):
        ours = BMLPL(n_topics=n_topics, max_iter=iterations, tol=0.0)
        seconds = cpu(lambda ours=ours: ours.fit(X, Y))
        auc = _auc(ours, X_test, Y_test)
        what = f"{name}: BMLPL, K = {n_topics}, {iterations} iterations"
        rows.append({"what": what, "CPU s": seconds, "row AUC": auc})
        if auc >= peer_auc:
            break
    return rows


def _per_iteration(X: sp.csr_matrix, Y: sp.csr_matrix, n_topics: int, iterations: int = 6, solver: str = "cg") -> float:
    """Least CPU seconds between two iterations: without loading, and least of what others do to this machine."""
    marks: list[float] = []
    model = BMLPL(n_topics=n_topics, max_iter=iterations + 1, tol=0.0, solver=solver)
    model.fit(X, Y, progress=lambda *_: marks.append(time.process_time()))
    return float(np.diff(marks).min())


def _share(Y: sp.csr_matrix, share: float) -> sp.csr_matrix:
    kept = np.random.default_rng(0).random(Y.nnz) < share
    starts = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
    return sp.csr_matrix((Y.data[kept], Y.indices[kept], starts), shape=Y.shape)


def _auc(model: TagModel, X: sp.csr_matrix, Y: sp.csr_matrix) -> float:
    return roc_auc(Y, lambda: model.score_blocks(X)).row
