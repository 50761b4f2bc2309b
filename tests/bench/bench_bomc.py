"""BOMC, one thread: training documents a second, and how many times as long liblinear (scikit-learn's LinearSVC,
defaults, one-vs-rest) and scikit-learn's passive-aggressive take for the same documents and tags, in CPU seconds of the
same run, the least of three for each. On RCV1's shape the peers train every eighth tag and are scaled up: their tags
are independent of one another.
"""

import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.models import BOMC
from tagcore.readers.qrels import read_qrels
from tagcore.synthetic.newswire import rcv1_shaped
from tests.bench.timing import least_cpu
from tests.problems import matrices, official_split

SIZES = (25_000, 50_000, 100_000, 200_000, 400_000)
RUNS = 3
VARIANTS: tuple[dict[str, Any], ...] = ({}, {"dtype": "float64"}, {"variant": "independent"})


def run(data: Path | None) -> list[dict[str, Any]]:
    """Nothing without the topics of RCV1 and the other data."""
    if data is None:
        return []
    rows = []
    for name in ("bibtex", "reuters21578"):
        X, Y, _, _ = official_split(data / name)
        rows += against(name, normalize(X), Y, every=1)
    X, Y = newswire(data, max(SIZES))
    rows += against("RCV1's shape", X[:100_000], Y[:100_000], every=8)
    return rows + [grown(X[:n], Y[:n]) for n in SIZES]


def against(name: str, X: sp.csr_matrix, Y: sp.csr_matrix, every: int) -> list[dict[str, Any]]:
    tags = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    Y = Y[:, tags]
    online = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 1.0, "max_iter": 1, "tol": None}
    columns = sp.csc_matrix(Y)[:, ::every]
    truths = [columns[:, [c]].toarray().ravel() > 0 for c in range(columns.shape[1])]
    machines = LinearSVC(random_state=0), SGDClassifier(**online, random_state=0)
    models = [BOMC.published(normalise=False, **settings) for settings in VARIANTS]
    for model in models:
        model.fit(X[:200], Y[:200])  # compiles
    works = [partial(fit_each, machine, X, truths) for machine in machines] + [partial(m.fit, X, Y) for m in models]
    liblinear, passive, *ours = least_cpu(RUNS, *works)
    scale = Y.shape[1] / len(truths)
    return [
        {
            "what": f"{name}, {X.shape[0]:,} documents, {tags.size} tags: {label(settings)}",
            "documents per s": X.shape[0] / seconds,
            "liblinear takes ×": scale * liblinear / seconds,
            "passive-aggressive takes ×": scale * passive / seconds,
        }
        for settings, seconds in zip(VARIANTS, ours, strict=True)
    ]


def grown(X: sp.csr_matrix, Y: sp.csr_matrix) -> dict[str, Any]:
    (seconds,) = least_cpu(RUNS, lambda: BOMC.published(normalise=False).fit(X, Y))
    tracemalloc.start()
    BOMC.published(normalise=False).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "what": f"RCV1's shape, {X.shape[0]:,} documents: coupled float32",
        "documents per s": X.shape[0] / seconds,
        "µs per document": 1e6 * seconds / X.shape[0],
        "peak MB": peak / 2**20,
        "MB of state": 2 * 4 * X.shape[1] * Y.shape[1] / 2**20,
    }


def label(settings: dict[str, Any]) -> str:
    return f"{settings.get('variant', 'coupled')} {settings.get('dtype', 'float32')}"


def fit_each(machine: Any, X: sp.csr_matrix, truths: list[np.ndarray]) -> None:
    for truth in truths:
        machine.fit(X, truth)


def newswire(data: Path, n: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Rows made from the true topics of RCV1, as tf-idf of unit length."""
    ids, topics, names = read_qrels(data / "rcv1" / "rcv1-v2.topics.qrels.gz")
    X, Y, _ = matrices(rcv1_shaped(topics, names, ids=ids, n_documents=n))
    return normalize(X), Y
