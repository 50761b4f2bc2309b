"""What a round costs on a Dask cluster beside its work: 8 shards, 2 worker processes (`local:2`), against 2 threads of
one process. The steps do next to nothing, so all of it is overhead. `moved` is written and read by the driver,
`between` is what workers gave each other or the driver.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tagcore.shards import Arrays, Executor, InProcess, Shard, Shards
from tasks.cluster.backends import Cluster, LocalWorkers
from tasks.cluster.costs import worker_costs

SHARDS, ROUNDS = 8, 60


def run(data: Path | None) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as root, Cluster(LocalWorkers(2, "2GiB"), root).open() as cluster:
        for numbers in (10, 100_000, 1_000_000):
            w = np.ones(numbers)
            for method in ("sum", "update"):
                row: dict[str, Any] = {"what": f"{method}, {w.nbytes / 1e6:.3g} MB shared and summed"}
                row["ms a round, 2 threads"], *_ = _measured(InProcess(2), method, w)
                row["ms a round, local:2"], moved, between = _measured(cluster, method, w)
                rows.append(row | {"MB moved": moved, "MB between": between})
    return rows


def _measured(executor: Executor, method: str, w: np.ndarray) -> tuple[float, float, float]:
    shards = Shards(range(SHARDS), int, executor)
    step = {"sum": given, "update": given_and_kept}[method]
    rounds = max(10, ROUNDS // (1 + w.nbytes // 1_000_000))
    _repeat(3, getattr(shards, method), step, w)
    before = _bytes(executor)
    start = time.perf_counter()
    _repeat(rounds, getattr(shards, method), step, w)
    seconds = time.perf_counter() - start
    moved, between = ((after - b) / rounds / 1e6 for after, b in zip(_bytes(executor), before, strict=True))
    return 1e3 * seconds / rounds, moved, between


def _repeat(rounds: int, method: Callable[..., Arrays], step: Callable, w: np.ndarray) -> None:
    for _ in range(rounds):
        method(step, w=w)


def _bytes(executor: Any) -> tuple[int, int]:
    if isinstance(executor, InProcess):
        return 0, 0
    between = sum(cost.sent_bytes for cost in worker_costs(executor).values())
    return executor.traffic.sent + executor.traffic.received, between


def given(shard: Shard, state: Arrays, w: np.ndarray) -> Arrays:
    return {"w": w}


def given_and_kept(shard: Shard, state: Arrays, w: np.ndarray) -> tuple[Arrays, Arrays]:
    return {"n": np.zeros(1)}, {"w": w}


if __name__ == "__main__":
    for row in run(None):
        print("  ".join(f"{k}: {v:.3g}" if isinstance(v, float) else str(v) for k, v in row.items()), flush=True)
