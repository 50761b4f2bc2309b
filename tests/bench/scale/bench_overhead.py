"""Two workers (`local:2`) against two threads of this process on the same stored rows, reading included; the better of
two runs each, after a fit on a few rows by both, so that no start, no module and no compiling is in the times. A round
is what progress tells of. To let rounds grow, online EM takes ten minibatches whatever the rows. Behind each model
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

from tagcore.base import TagModel
from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.models import BMLPL, BOMC
from tagcore.prediction import Spread
from tagcore.rows import Stored
from tagcore.shards import Executor, InProcess
from tests.bench.scale.corpora import place, rcv1, rows_wanted
from tests.bench.scale.features import weigh
from tests.bench.scale.head import head
from tests.bench.scale.measured import compile_for, trained, two_workers
from tests.bench.scale.processes import alone

SIZES = (10_000, 50_000, 250_000)
BAR = 1.3
QUERIES = 1000
HELD_OUT = 100
_RUNS = 2

Timed = Callable[[Executor], dict[str, float]]  # seconds, and rounds where there are any


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
    Trained("BOMC, class shards, merged every 2,000 rows", BOMC(parallel="classes", merge_every=2000)),
    Trained("BOMC, class shards, merged ever less", BOMC(parallel="classes")),
    Trained("BOMC, independent", BOMC("independent")),
    Trained("BMLPL, EM, K = 50", BMLPL(n_topics=50, max_iter=5)),
    Trained("BMLPL, online EM, K = 50", BMLPL(n_topics=50, max_iter=1, inference="online")),
    Trained("BMLPL, Gibbs, K = 50", BMLPL(n_topics=50, inference="gibbs", burn_in=1, n_draws=2, thin=1)),
    Trained("OneVsRestLinear", OneVsRestLinear()),
)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Nothing without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data, max(SIZES) + max(SIZES) // 9)
    rows = []
    for machine in MODELS:
        rows += with_crossover(machine.what, alone(training, machine, made.features))
    rows += with_crossover("kNN scoring", alone(tagging, made.features))
    return rows + with_crossover("tf-idf", alone(weighing, {size: rcv1(data, size).corpus for size in sizes()}))


def sizes() -> list[int]:
    """Smaller by one factor where SCALE_ROWS says so."""
    return [size * rows_wanted(max(SIZES)) // max(SIZES) for size in SIZES]


def training(machine: Trained, features: Path) -> list[dict[str, Any]]:
    every = Stored.open(features, "train")

    def prepare(executor: Executor) -> None:
        compile_for(machine.sized(500), every, executor)

    def timed(size: int) -> Timed:
        return lambda executor: trained(machine.sized(size), head(every, size), executor)

    return compared(machine.what, {size: timed(size) for size in sizes()}, prepare)


def tagging(features: Path) -> list[dict[str, Any]]:
    every, queries = Stored.open(features, "train"), head(Stored.open(features, "test"), QUERIES)

    def timed(size: int) -> Timed:
        model = KNN().fit_rows(head(every, size))
        return lambda executor: _seconds(lambda: Spread(model, queries, executor).top_k(5))

    return compared("kNN scoring", {size: timed(size) for size in sizes()}, lambda e: compile_for(KNN(), every, e))


def weighing(corpora: dict[int, Path]) -> list[dict[str, Any]]:
    def timed(corpus: Path, executor: Executor) -> dict[str, float]:
        with tempfile.TemporaryDirectory(dir=place()) as folder:
            return _seconds(lambda: weigh(corpus, Path(folder) / "features", HELD_OUT, executor))

    works: dict[int, Timed] = {size: partial(timed, corpus) for size, corpus in corpora.items()}
    return compared("tf-idf", works, works[min(works)])


def compared(what: str, works: dict[int, Timed], prepare: Callable[[Executor], Any]) -> list[dict[str, Any]]:
    """A row for every size, measured in this process and on a cluster that is opened once."""
    rows = []
    with tempfile.TemporaryDirectory(dir=place()) as root, two_workers(root) as cluster:
        threads = InProcess(2)
        for executor in (threads, cluster):
            prepare(executor)
        for size, work in works.items():
            here, there = (min((work(e) for _ in range(_RUNS)), key=lambda t: t["s"]) for e in (threads, cluster))
            rounds = here.get("rounds") or 1
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


def with_crossover(what: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Behind the rows, the shortest round from which on all longer ones keep the bar."""
    crossover = None
    for row in sorted(rows, key=lambda row: -row["ms a round, 2 threads"]):
        if row["ratio"] > BAR:
            break
        crossover = row["ms a round, 2 threads"]
    found = "not reached" if crossover is None else f"{crossover:.0f} ms a round"
    return [*rows, {"what": f"**{what}: crossover**", "ms a round, 2 threads": found}]


def _seconds(work: Callable[[], Any]) -> dict[str, float]:
    start = time.perf_counter()
    work()
    return {"s": time.perf_counter() - start}
