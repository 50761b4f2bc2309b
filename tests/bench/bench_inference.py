"""BMLPL's ways of inference, as the right half of the paper's Figure 2: AUC per row of the test documents against CPU
seconds of training on one thread, without measuring. One seed, default settings, but online EM has one shard instead of
eight. An iteration is a sweep for Gibbs, which predicts by the later half of its draws, a minibatch of 256 documents
for online EM. The exact M-step factorises K matrices of words × words: on bibtex (1,837 words) it gets two iterations.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagcore.features.rows import InMemory
from tagcore.metrics.auc import roc_auc
from tagcore.metrics.intervals import Estimate
from tagcore.models import BMLPL
from tagcore.models.bmlpl.em import EM
from tagcore.models.bmlpl.gibbs import KEPT, GibbsLearner
from tagcore.models.bmlpl.learning import (
    em_settings,
    gibbs_settings,
    online_learner,
    row_preparation,
    scaled,
    starting_arrays,
)
from tagcore.models.bmlpl.preparation import prepared_shards
from tagcore.models.bmlpl.scores import Draws, scores
from tagcore.shards import Arrays, InProcess
from tagcore.training import Learner
from tasks.reporting.plots import against_setting
from tests.problems import official_split

PICTURE = Path(__file__).parents[2] / "docs" / "results" / "pictures" / "inference.png"
SEED = 0
TOPICS = {"bibtex": 64, "delicious": 100}
METHODS: dict[str, dict[str, Any]] = {
    "EM, 2 CG steps": {},
    "EM, exact M-step": {"solver": "exact"},
    "online EM": {"inference": "online", "n_shards": 1},  # a minibatch in eight parts takes about twice as long
    "Gibbs": {"inference": "gibbs", "burn_in": 0, "thin": 5, "n_draws": 40},
}
MARKS = {
    "bibtex": {
        "EM, 2 CG steps": (2, 5, 10, 20, 40, 100),
        "EM, exact M-step": (1, 2),
        "online EM": (5, 10, 20, 50, 100, 200, 500),
        "Gibbs": (5, 10, 20, 50, 100, 200),
    },
    "delicious": {
        "EM, 2 CG steps": (2, 5, 10, 20, 40, 100),
        "EM, exact M-step": (1, 2, 5, 10, 15),
        "online EM": (5, 10, 20, 50, 100, 200, 500),
        "Gibbs": (5, 10, 20, 50, 100),
    },
}

Split = tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]


def run(data: Path | None) -> list[dict[str, Any]]:
    """A row for each data set, method and mark; nothing without data."""
    if data is None:
        return []
    splits = {name: official_split(data / name) for name in TOPICS}
    for options in METHODS.values():
        list(_curve(BMLPL(n_topics=2, **options), splits["delicious"], (5,)))  # compiles
    return [
        {"data": f"{name}, K = {n_topics}", "method": method, **point}
        for name, n_topics in TOPICS.items()
        for method, options in METHODS.items()
        for point in _curve(BMLPL(n_topics=n_topics, **options), splits[name], MARKS[name][method])
    ]


def draw(rows: list[dict[str, Any]]) -> Path:
    """A panel for each data set, a line for each method."""
    curves: dict[str, dict[str, dict[float, Estimate]]] = {}
    for row in rows:
        lines = curves.setdefault(f"AUC per row, {row['data']}", {})
        lines.setdefault(row["method"], {})[row["CPU s"]] = Estimate(row["AUC per row"])
    PICTURE.parent.mkdir(exist_ok=True)
    return against_setting(curves, "CPU seconds of training", PICTURE)


def _curve(model: BMLPL, split: Split, marks: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Quality after so many iterations of one training."""
    X, Y, X_test, Y_test = split
    rows, X_test = InMemory(X, Y), scaled(model, X_test)
    shards = prepared_shards(rows, None, row_preparation(model), model.n_shards, InProcess())
    learner = _learner(model, rows.n_rows, starting_arrays(model, shards, rows, None, SEED))
    arrays, seconds = learner.init(shards), 0.0
    for number in range(max(marks)):
        begun = time.process_time()
        arrays, _ = learner.round(shards, arrays, number)
        seconds += time.process_time() - begun
        if number + 1 in marks:
            yield {"iterations": number + 1, "CPU s": seconds, "AUC per row": _auc(arrays, X_test, Y_test)}


def _learner(model: BMLPL, n: int, start: Arrays) -> Learner:
    if model.inference == "gibbs":
        return GibbsLearner(gibbs_settings(model), start, SEED)
    if model.inference == "online":
        return online_learner(model, em_settings(model), start, n, -(-n // model.batch_rows), 0, SEED)
    return EM(em_settings(model), start)


def _auc(arrays: Arrays, X: sp.csr_matrix, Y: sp.csr_matrix) -> float:
    found = [arrays.get(f"draws_{name}", arrays[name][None]) for name in KEPT]
    V, W, r = (draws[len(draws) // 2 :] for draws in found)
    every = scores(X, Draws(np.ascontiguousarray(V.transpose(0, 2, 1)), W, r), 1.0)
    return roc_auc(Y, lambda: [(slice(0, X.shape[0]), every)]).row
