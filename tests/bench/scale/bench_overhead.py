"""Two workers (`local:2`) against two threads of this process on the same stored rows, reading included; the better of
two runs each, of long ones one, after a fit on a few rows by both, so that no start, no module and no compiling is in
the times. A round is what the driver waits for on the cluster: a sum over the shards, or what they collect. EM takes
three of them an iteration, a minibatch of online EM and a sweep of Gibbs one for every conjugate-gradient step; online
EM takes ten minibatches whatever the rows. kNN answers 4,000 queries, its index shared for them. Behind each model
stands the shortest round, in process, from which on two workers take at most 1.3 times as long: the crossover.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import clone

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.features.rows import StoredRows
from tagcore.models import BMLPL, BOMC
from tagcore.scoring.sharded import ShardedScores
from tagcore.shards import Executor, InProcess
from tagcore.tag_model import TagModel
from tasks.cluster.dask_executor import DaskExecutor
from tests.bench.scale.corpora import place, rcv1
from tests.bench.scale.features import weigh
from tests.bench.scale.head import head
from tests.bench.scale.measured import compile_for, two_workers
from tests.bench.scale.processes import alone

SIZES = (10_000, 50_000, 250_000)
BAR = 1.3
QUERIES = 4000
HELD_OUT = 100
_LONG = 15.0  # seconds

Work = Callable[[Executor], Any]


@dataclass(frozen=True)
class Trained:
    """A model and how it is set for so many rows."""

    what: str
    model: TagModel

    def sized(self, rows: int) -> TagModel:
        model = clone(self.model)
        if isinstance(model, BMLPL) and model.inference == "online":
            model.batch_rows = -(-rows // 10)
        return model


MODELS = (
    Trained("BOMC, class shards, merged every 2,000 rows", BOMC.published(parallel="classes", merge_every=2000)),
    Trained("BOMC, class shards, merged ever less", BOMC.published(parallel="classes")),
    Trained("BOMC, independent", BOMC.published("independent")),
    Trained("BMLPL, EM, K = 50", BMLPL(n_topics=50, max_iter=5)),
    Trained("BMLPL, online EM, K = 50", BMLPL(n_topics=50, max_iter=1, inference="online")),
    Trained("BMLPL, Gibbs, K = 50", BMLPL(n_topics=50, inference="gibbs", burn_in=1, n_draws=2, thin=1)),
    Trained("OneVsRestLinear", OneVsRestLinear()),
)


def run(data: Path | None, rows: int = max(SIZES)) -> list[dict[str, Any]]:
    """Measures with up to so many rows; nothing without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data, rows + rows // 9)
    sizes = [rows * size // max(SIZES) for size in SIZES]
    table = []
    for machine in MODELS:
        table += with_crossover(machine.what, alone(training, machine, made.features, sizes))
    table += with_crossover("kNN scoring", alone(tagging, made.features, sizes))
    return table + with_crossover("tf-idf", alone(weighing, {size: rcv1(data, size).corpus for size in sizes}))


def training(machine: Trained, features: Path, sizes: list[int]) -> list[dict[str, Any]]:
    every = StoredRows.open(features, "train")

    def prepare(executor: Executor) -> None:
        compile_for(machine.sized(500), every, executor)

    def work(size: int) -> Work:
        return lambda executor: machine.sized(size).fit_rows(head(every, size), executor=executor)

    return compared(machine.what, {size: work(size) for size in sizes}, prepare)


def tagging(features: Path, sizes: list[int]) -> list[dict[str, Any]]:
    every, queries = StoredRows.open(features, "train"), head(StoredRows.open(features, "test"), QUERIES)

    def work(size: int) -> Work:
        model = KNN().fit_rows(head(every, size))
        return lambda executor: ShardedScores(model, queries, executor).top_k(5)

    return compared("kNN scoring", {size: work(size) for size in sizes}, lambda e: compile_for(KNN(), every, e))


def weighing(corpora: dict[int, Path]) -> list[dict[str, Any]]:
    def work(corpus: Path, executor: Executor) -> None:
        with tempfile.TemporaryDirectory(dir=place()) as folder:
            weigh(corpus, Path(folder) / "features", HELD_OUT, executor)

    works: dict[int, Work] = {size: partial(work, corpus) for size, corpus in corpora.items()}
    return compared("tf-idf", works, works[min(works)])


def compared(what: str, works: dict[int, Work], prepare: Callable[[Executor], Any]) -> list[dict[str, Any]]:
    """A row for every size, measured in this process and on a cluster that is opened once."""
    rows = []
    with tempfile.TemporaryDirectory(dir=place()) as root, two_workers(root) as cluster:
        threads = InProcess(2)
        for executor in (threads, cluster):
            prepare(executor)
        for size, work in works.items():
            here, there = (better(work, executor) for executor in (threads, cluster))
            rounds = there["rounds"]
            rows.append(
                {
                    "what": f"{what}, {size:,} rows",
                    "s, 2 threads": here["s"],
                    "s, local:2": there["s"],
                    "ratio": there["s"] / here["s"],
                    "rounds": rounds,
                    "ms a round, 2 threads": 1e3 * here["s"] / rounds,
                    "ms a round more": 1e3 * (there["s"] - here["s"]) / rounds,
                }
            )
            print(rows[-1], flush=True)
    return rows


def better(work: Work, executor: Executor) -> dict[str, float]:
    """Of two runs, or the one that took long."""
    first = timed(work, executor)
    return first if first["s"] > _LONG else min(first, timed(work, executor), key=lambda found: found["s"])


def timed(work: Work, executor: Executor) -> dict[str, float]:
    """Seconds, and on a cluster how often the driver waited for it."""
    before, start = waited(executor), time.perf_counter()
    work(executor)
    return {"s": time.perf_counter() - start, "rounds": waited(executor) - before}


def waited(executor: Executor) -> int:
    return executor.traffic.rounds if isinstance(executor, DaskExecutor) else 0


def with_crossover(what: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Behind the rows, the shortest round from which on all longer ones keep the bar."""
    crossover = None
    for row in sorted(rows, key=lambda row: -row["ms a round, 2 threads"]):
        if row["ratio"] > BAR:
            break
        crossover = row["ms a round, 2 threads"]
    found = "not reached" if crossover is None else f"{crossover:.0f} ms a round"
    return [*rows, {"what": f"**{what}: crossover**", "ms a round, 2 threads": found}]
