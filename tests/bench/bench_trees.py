"""OneVsRestLinear against trees of tags: omikuji (Parabel, Bonsai) and napkinXC (PLT) on eurlex4k, in the same run.

The rivals, as the preset `grand` has them, learn from the same rows, of unit length, on one thread of the Python that
TAGFLOW_RIVALS_PYTHON names; without it there are only ours. CPU seconds and microseconds are the least of all turns,
which the sides take one after the other; "÷ Parabel" is over omikuji's seconds as it comes. Documents are asked for
many at once, for five tags; of rivals for fifty. `tol=0.1` is liblinear's own tolerance.
"""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from flows.recipes import load_recipe
from tagcore.baselines import OneVsRestLinear
from tagcore.corpus import lists_from_csr
from tagcore.metrics.evaluate_model import evaluate
from tagcore.numeric.normalise import normalise_rows
from tagcore.tag_model import TagModel
from tasks.recipe_settings import RivalSettings
from tasks.rivals.measure import GivenScores, run_program, scores_of
from tests.bench.timing import cpu
from tests.problems import official_split

RIVALS = ("omikuji (Parabel)", "omikuji (Bonsai)", "napkinXC (PLT)")
KS, MEASURES = (1, 3, 5), ("P@1", "P@3", "P@5", "nDCG@5")
SECONDS, MICROS = "train CPU s", "µs a document"

Split = tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]


def run(data: Path | None, turns: int = 2) -> list[dict[str, Any]]:
    """A row for each side; nothing without data."""
    if data is None:
        return []
    X, Y, X_test, Y_test = official_split(data / "eurlex4k")
    split = normalise_rows(X, True), Y, normalise_rows(X_test, True), Y_test
    sides: dict[str, Callable[[], dict[str, float]]] = {
        "OneVsRestLinear": partial(_ours, OneVsRestLinear(), split),
        "OneVsRestLinear, tol=0.1": partial(_ours, OneVsRestLinear(tol=0.1), split),
    }
    OneVsRestLinear().fit(X[:200], Y[:200, :50]).top_k(X_test[:20], 5)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        if python := os.environ.get("TAGFLOW_RIVALS_PYTHON"):
            _write(split, Path(folder))
            rivals = {rival.label: rival for rival in load_recipe("grand").rivals}
            sides |= {name: partial(_theirs, Path(python), rivals[name], Path(folder), Y_test) for name in RIVALS}
        turn = [{name: side() for name, side in sides.items()} for _ in range(turns)]
    found = {name: turn[0][name] | _least([each[name] for each in turn]) for name in sides}
    if python:
        for row in found.values():
            row["÷ Parabel"] = row[SECONDS] / found[RIVALS[0]][SECONDS]
    return [{"what": name, **row} for name, row in found.items()]


def _least(turns: list[dict[str, float]]) -> dict[str, float]:
    """The least costs of one side."""
    return {cost: min(turn[cost] for turn in turns) for cost in (SECONDS, MICROS)}


def _ours(model: TagModel, split: Split) -> dict[str, float]:
    X, Y, X_test, Y_test = split
    seconds, asked = cpu(lambda: model.fit(X, Y)), cpu(lambda: model.top_k(X_test, max(KS)))
    return _row(seconds, asked, model, X_test, Y_test)


def _theirs(python: Path, rival: RivalSettings, prepared: Path, truth: sp.csr_matrix) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as out:
        told = run_program(python, rival, prepared, Path(out))
        scores = scores_of(pq.read_table(Path(out, "suggestions.parquet")), truth.shape[1])
    every = sp.identity(truth.shape[0], np.float64, "csr")
    return _row(told["train_cpu_seconds"], told["predict_cpu_seconds"], GivenScores(scores), every, truth)


def _row(seconds: float, asked: float, model: Any, X: sp.csr_matrix, truth: sp.csr_matrix) -> dict[str, float]:
    summary = evaluate(model, X, truth, ks=KS).summary
    costs = {SECONDS: seconds, MICROS: 1e6 * asked / truth.shape[0]}
    return costs | {measure: summary[measure].value for measure in MEASURES}


def _write(split: Split, folder: Path) -> None:
    """Writes the rows as rivals read them."""
    for side, X, Y in (("train", *split[:2]), ("test", *split[2:])):
        columns = [*lists_from_csr(X), lists_from_csr(Y)[0]]
        pq.write_table(pa.table(columns, names=["words", "values", "tags"]), folder / f"{side}.parquet")
