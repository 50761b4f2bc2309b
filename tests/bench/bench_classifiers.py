"""SGPS against what scikit-learn offers today, at equal rows and, but for its full Gaussian process, equal prototypes:
CPU seconds on one thread (numba compiled before) and error on the other rows of segment, columns scaled. "given":
length scale and amplitude are those that SGPS finds. "searched": each finds its own, by evidence; Nystroem with
logistic regression by three-fold cross-validation over 12 points. GPyTorch's sparse variational classifier (natural
gradients, mini-batches of 256), which learns its parameters and inducing points along with the rest, stands there after
ever more epochs; it runs in the Python that TAGFLOW_GPYTORCH_PYTHON names, without which its rows are left out.
"""

import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from tagcore.features.class_split import Scaling
from tagcore.models import SGPS
from tagcore.readers import open_source

SIZES = {500: 100, 1386: 69}  # rows, prototypes
EPOCHS = 10, 30, 100, 300


def run(data: Path | None) -> list[dict[str, Any]]:
    """One line for every size and classifier."""
    if data is None:
        return []
    X, y = _table(data / "uci" / "segment.dat")
    order = np.random.default_rng(0).permutation(y.size)
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's search ends at bounds
        for size, prototypes in SIZES.items():
            learnt, held_out = order[:size], order[1386:]
            scaling = Scaling.of(X[learnt])
            sides = scaling.apply(X[learnt]), y[learnt], scaling.apply(X[held_out]), y[held_out]
            SGPS(n_prototypes=20).fit(*sides[:2])  # compiles
            for made, parameters in _classifiers(sides, size, prototypes):
                rows.append(
                    {"rows": size, "classifier": made[0], "parameters": parameters, **_measured(made[1], sides)}
                )
            rows += [{"rows": size, **row} for row in _gpytorch(sides, prototypes)]
    for row in rows:
        ours = next(r for r in rows if r["rows"] == row["rows"] and r["parameters"] == row["parameters"])
        row["times SGPS"] = f"{row['fit s'] / ours['fit s']:.2f}"
    return rows


def _classifiers(sides: tuple, size: int, prototypes: int) -> list[tuple[tuple[str, Callable[[], Any]], str]]:
    sgps = SGPS(n_prototypes=prototypes).fit(*sides[:2])
    length, amplitude = float(sgps.length_scale_.ravel()[0]), float(sgps.amplitudes_[0])
    gamma = 0.5 / length**2

    def peer(gamma: float, C: float) -> Any:
        return make_pipeline(
            Nystroem(gamma=gamma, n_components=prototypes, random_state=0), LogisticRegression(C=C, max_iter=2000)
        )

    grid = {
        "nystroem__gamma": [gamma * factor for factor in (0.25, 1.0, 4.0, 16.0)],
        "logisticregression__C": [1.0, 100.0, 10_000.0],
    }
    kernel = ConstantKernel(amplitude**2) * RBF(length)
    given: dict[str, Callable[[], Any]] = {
        "SGPS": lambda: SGPS(n_prototypes=prototypes, search="none", length_scale=length, amplitude=amplitude),
        "Nystroem + LogisticRegression": lambda: peer(gamma, amplitude**2),
    }
    searched: dict[str, Callable[[], Any]] = {
        "SGPS": lambda: SGPS(n_prototypes=prototypes),
        "Nystroem + LogisticRegression": lambda: GridSearchCV(peer(gamma, 1.0), grid, cv=3),
    }
    if size <= 500:
        given["GaussianProcessClassifier"] = lambda: GaussianProcessClassifier(kernel, optimizer=None)
        searched["GaussianProcessClassifier"] = lambda: GaussianProcessClassifier(ConstantKernel(9.0) * RBF(2.0))
    return [(pair, name) for name, made in (("given", given), ("searched", searched)) for pair in made.items()]


def _gpytorch(sides: tuple, prototypes: int) -> list[dict[str, Any]]:
    python = os.environ.get("TAGFLOW_GPYTORCH_PYTHON")
    if not python:
        return []
    X, y, X_new, y_new = sides
    classes, codes = np.unique(y, return_inverse=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npz")
        np.savez(path, X=X, y=codes, X_new=X_new, y_new=np.searchsorted(classes, y_new))
        command = [python, str(Path(__file__).with_name("process_rivals.py")), str(path), str(prototypes)]
        told = subprocess.run([*command, ",".join(map(str, EPOCHS))], check=True, capture_output=True, text=True)
    return [
        {
            "classifier": f"GPyTorch, {point['epochs']} epochs",
            "parameters": "searched",
            "fit s": point["fit s"],
            "predict s": point["predict s"],
            "error %": f"{point['error %']:.2f}",
        }
        for point in json.loads(told.stdout)
    ]


def _measured(make: Callable[[], Any], sides: tuple) -> dict[str, Any]:
    X, y, X_new, y_new = sides
    begun = time.process_time()
    fitted = make().fit(X, y)
    trained = time.process_time()
    right = fitted.predict(X_new) == y_new
    asked = time.process_time() - trained
    return {"fit s": trained - begun, "predict s": asked, "error %": f"{100 * np.mean(~right):.2f}"}


def _table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    source = open_source(path)
    X, y = [], []
    for block in source.blocks(8192):
        assert block.words is not None
        X.append(block.words.toarray().astype(np.float64))
        y.append(block.taggings["tag"].to_numpy())
    return np.concatenate(X), np.concatenate(y)
