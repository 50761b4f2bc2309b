"""One training on two workers of 6 GiB, and the tags of held-out rows after it: what both took, how good it is."""

import tempfile
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from tagcore.features.rows import Rows, StoredRows
from tagcore.metrics.label_quality import label_counts_at
from tagcore.metrics.ranking import mark_hits
from tagcore.scoring.sharded import ShardedScores
from tagcore.shards import Executor
from tagcore.tag_model import TagModel
from tasks.cluster.backends import Cluster, LocalWorkers
from tasks.cluster.costs import worker_costs
from tasks.cluster.dask_executor import DaskExecutor
from tests.bench.scale.head import head
from tests.bench.scale.processes import alone, peak_mib

WORKERS, MEMORY = 2, "6GiB"
_COMPILED_ON = 500  # rows


@dataclass(frozen=True)
class Job:
    """What to train on the first `rows` of a features data set, and how many held-out rows to tag."""

    what: str
    model: TagModel
    features: Path
    rows: int
    queries: int


class Rounds:
    """Counts what progress tells of."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self, done: int, total: int, known: dict[str, float]) -> None:
        self.done += 1


def measured(job: Job) -> dict[str, Any]:
    """The row of a table, printed too: of a fresh cluster driven by a fresh process, so that peaks are the job's."""
    row = {"what": job.what, **alone(train_and_tag, job)}
    print(row, flush=True)
    return row


def two_workers(root: Path | str, workers: int = WORKERS) -> AbstractContextManager[Executor]:
    return Cluster(LocalWorkers(workers, MEMORY), root).open()


def train_and_tag(job: Job) -> dict[str, Any]:
    """Times are without the start of the cluster."""
    rows = head(StoredRows.open(job.features, "train"), job.rows)
    compile_for(job.model, rows)
    with tempfile.TemporaryDirectory(dir=job.features.parent) as root, two_workers(root) as executor:
        row: dict[str, Any] = trained(job.model, rows, executor)
        row |= tagged(job.model, head(StoredRows.open(job.features, "test"), job.queries), executor)
        return row | figures(executor)


def compile_for(model: TagModel, rows: Rows, executor: Executor | None = None) -> None:
    """Kernels are compiled, and modules loaded, by whoever runs the steps, before anything is timed."""
    few = head(rows, _COMPILED_ON)
    ShardedScores(clone(model).fit_rows(few, executor=executor), head(rows, 16), executor).top_k(1)


def trained(model: TagModel, rows: Rows, executor: Executor) -> dict[str, Any]:
    rounds, start = Rounds(), time.perf_counter()
    model.fit_rows(rows, executor=executor, progress=rounds)
    seconds = time.perf_counter() - start
    each = {"rounds": rounds.done, "s a round": seconds / rounds.done} if rounds.done else {}
    return {"rows": rows.n_rows, "s": seconds, **each}


def tagged(model: TagModel, rows: Rows, executor: Executor) -> dict[str, Any]:
    """How long the rows took, and how good the first tags are."""
    start = time.perf_counter()
    tags, _ = ShardedScores(model, rows, executor).top_k(5)
    seconds = time.perf_counter() - start
    return {"ms to tag a row": 1e3 * seconds / rows.n_rows, **quality(rows, tags)}


def quality(rows: Rows, tags: np.ndarray) -> dict[str, float]:
    """Of the first tags of every row."""
    _, truth = rows.load(slice(0, rows.n_rows))
    hits, counts = mark_hits(truth, tags), label_counts_at(truth, tags, tags.shape[1])
    return {
        "P@1": float(hits.precision(1).mean()),
        "P@5": float(hits.precision(tags.shape[1]).mean()),
        "micro-F1@5": counts.micro().f1,
        "macro-F1@5": counts.macro().f1,
    }


def figures(executor: Executor) -> dict[str, Any]:
    """What the cluster and its driver have taken so far."""
    assert isinstance(executor, DaskExecutor)
    costs = worker_costs(executor).values()
    return {
        "peak MiB, workers": " + ".join(f"{cost.peak_bytes / 2**20:,.0f}" for cost in costs),
        "peak MiB, driver": peak_mib(),
        "MB moved": (executor.traffic.sent + executor.traffic.received) / 1e6,
        "MB between": sum(cost.sent_bytes for cost in costs) / 1e6,
    }
