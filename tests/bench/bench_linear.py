"""One-vs-rest linear against liblinear: CPU seconds for the same tags of eurlex4k, and quality with defaults."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.baselines import OneVsRestLinear
from tests.unit.baselines.problems import official_split, precision

SAME_TAGS = slice(7, None, 125)
QUALITY = ("bibtex",)


def run(data: Path | None) -> list[dict[str, Any]]:
    """CPU seconds of one thread; nothing without data."""
    if data is None:
        return []
    X, Y, _, _ = official_split(data / "eurlex4k")
    OneVsRestLinear().fit(X[:200], Y[:200, :50])  # compiles
    used = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    rows = _against_liblinear(X, Y[:, used[SAME_TAGS]])
    return rows + [_quality(name, *official_split(data / name)) for name in QUALITY]


def _against_liblinear(X: sp.csr_matrix, Y: sp.csr_matrix) -> list[dict[str, Any]]:
    ours = OneVsRestLinear(prune=0)
    unit, columns = normalize(X), [column.toarray().ravel() for column in sp.csc_matrix(Y).T]
    same = {"C": ours.C, "dual": True, "tol": ours.tol, "random_state": 0}
    peers: list[LinearSVC] = []
    seconds = _cpu(lambda: ours.fit(X, Y))
    peer_seconds = _cpu(lambda: peers.extend(LinearSVC(**same).fit(unit, column) for column in columns))
    scores = np.concatenate([block for _, block in ours.score_blocks(X)])
    apart = max(np.abs(p.decision_function(unit) - scores[:, t]).max() for t, p in enumerate(peers))
    what = f"eurlex4k, {Y.shape[1]} tags, {X.shape[0]} documents, tol {ours.tol}"
    return [
        {"what": f"{what}: OneVsRestLinear", "s per tag": seconds / Y.shape[1], "scores apart": float(apart)},
        {
            "what": f"{what}: LinearSVC",
            "s per tag": peer_seconds / Y.shape[1],
            "times ours": peer_seconds / seconds,
        },
    ]


def _quality(
    name: str, X: sp.csr_matrix, Y: sp.csr_matrix, X_test: sp.csr_matrix, Y_test: sp.csr_matrix
) -> dict[str, Any]:
    model = OneVsRestLinear()
    seconds = _cpu(lambda: model.fit(X, Y))
    tags, _ = model.top_k(X_test, 5)
    quality = {f"P@{k}": precision(Y_test, tags, k) for k in (1, 3, 5)}
    return {"what": f"{name}: OneVsRestLinear", "s per tag": seconds / Y.shape[1], **quality}


def _cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the real data sets")
    for row in run(parser.parse_args().data):
        print(f"{row.pop('what'):70}" + "".join(f"{name}: {value:<10.4g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
