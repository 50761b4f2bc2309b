"""SGPS against scikit-learn's Gaussian process classifier and Nyström features with logistic regression, on letter.

CPU seconds of one thread, the least of three runs of each side in turn, all with the same fixed length scale and
amplitude. GaussianProcessClassifier (one against the rest) and SGPS learn the same 500 rows, all of them prototypes;
Nyström and SGPS learn the same rows with as many components as prototypes. Error is on 4,000 other rows. The last rows
double N at M fixed: `per step` is the time of a step of L-BFGS.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from tagcore.models import SGPS
from tests.bench.timing import least_cpu

SCALE, AMPLITUDE, RUNS = 2.5, 5.0, 3


def run(data: Path | None) -> list[dict[str, Any]]:
    """Ours and peers in pairs, then growing rows; nothing without data."""
    if data is None:
        return []
    X, y, X_new, y_new = _letter(data / "uci" / "letter-recognition.data")
    rows = []
    with threadpool_limits(1):
        ours, kernel = _sgps(500), ConstantKernel(AMPLITUDE**2, "fixed") * RBF(SCALE, "fixed")
        peer: Any = GaussianProcessClassifier(kernel, optimizer=None)
        rows += _pair("GaussianProcessClassifier", ours, peer, X[:500], y[:500], X_new[:1000], y_new[:1000])
        features = Nystroem(gamma=0.5 / SCALE**2, n_components=200, random_state=0)
        peer = make_pipeline(features, LogisticRegression(C=AMPLITUDE**2, max_iter=1000))
        rows += _pair("Nystroem + LogisticRegression", _sgps(200), peer, X[:4000], y[:4000], X_new, y_new)
        rows += _growth(X, y)
    return rows


def _sgps(n_prototypes: int) -> SGPS:
    fixed = {"length_scale": SCALE, "amplitude": AMPLITUDE, "search": "none", "scaling": "none", "evidence": "none"}
    return SGPS(n_prototypes, selector="random", **fixed)


def _pair(name: str, ours: SGPS, peer: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> list[dict[str, Any]]:
    seconds = least_cpu(RUNS, lambda: ours.fit(X, y), lambda: peer.fit(X, y))
    return [
        {
            "model": which,
            "rows": len(y),
            "M": ours.n_prototypes if which == "SGPS" or "Nys" in which else len(y),
            "CPU s": taken,
            "SGPS is faster": seconds[1] / seconds[0] if which != "SGPS" else None,
            "error %": 100.0 * (1.0 - model.score(X_new, y_new)),
        }
        for which, model, taken in (("SGPS", ours, seconds[0]), (name, peer, seconds[1]))
    ]


def _growth(X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    sizes, steps = (2000, 4000, 8000, 16_000), {}

    def fit(n: int) -> None:
        told: list[float] = []
        _sgps(200).fit(X[:n], y[:n], progress=lambda done, total, known: told.append(known["steps"]))
        steps[n] = sum(told[:-1])  # the last round is told again, as the end

    rows: list[dict[str, Any]] = []
    for n, taken in zip(sizes, least_cpu(RUNS, *(partial(fit, n) for n in sizes)), strict=True):
        row = {"model": "SGPS", "rows": n, "M": 200, "CPU s": taken, "ms per step": 1e3 * taken / steps[n]}
        if rows:
            row["times as long as half"] = taken / rows[-1]["CPU s"]
            row["per step"] = row["ms per step"] / rows[-1]["ms per step"]
        rows.append(row)
    return rows


def _letter(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    cells = np.genfromtxt(file, str, delimiter=",")
    order = np.random.default_rng(0).permutation(len(cells))
    X, y = cells[order, 1:].astype(float), cells[order, 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:16_000], y[:16_000], X[16_000:], y[16_000:]
