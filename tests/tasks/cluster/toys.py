"""A toy learner for clusters, importable by workers, with a state beside every shard; and a driver to be killed.

As a program (address, root, result): trains with a checkpoint after every round, tells each round, writes the result.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from tagcore.shards import Arrays, Executor, Shards, row_shards
from tagcore.training import Checkpoints, Measures, Trained, train
from tasks.cluster.backends import Cluster, Scheduler
from tasks.cluster.storage import storage_at

CLUSTERS, WIDTH, ROUNDS = 800, 12, 12


class KMeans:
    """Lloyd's algorithm. The cluster of a row is the state of its shard; centres are large enough to go by file."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def init(self, shards: Shards) -> Arrays:
        shards.update(nowhere)
        return {"centres": np.asfortranarray(np.random.default_rng(0).normal(size=(CLUSTERS, WIDTH)))}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        found = shards.update(assign, centres=arrays["centres"], seconds=self.seconds)
        centres = found["sums"] / np.maximum(found["sizes"], 1)[:, None]
        return {"centres": np.asfortranarray(centres)}, {"moved": float(found["moved"]), "loss": float(found["loss"])}

    def done(self, history: list[Measures]) -> bool:
        return False


def nowhere(shard, state):
    return {"cluster": np.full(len(shard.data), -1)}, {"rows": np.array(len(shard.data))}


def assign(shard, state, centres, seconds):
    time.sleep(seconds)
    rows = shard.data
    distances = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(axis=1)
    cluster = distances.argmin(axis=1)
    sums, sizes = np.zeros_like(centres), np.zeros(len(centres))
    np.add.at(sums, cluster, rows)
    np.add.at(sizes, cluster, 1.0)
    moved = np.array(np.count_nonzero(cluster != state["cluster"]))
    loss = distances[np.arange(len(rows)), cluster].sum()
    return {"cluster": cluster}, {"sums": sums, "sizes": sizes, "moved": moved, "loss": loss}


def rows_of(part: tuple[int, int]) -> np.ndarray:
    """Rows that any worker can make again."""
    first, last = part
    return np.random.default_rng(7).normal(size=(last, WIDTH))[first:]


def shards_on(executor: Executor, rows: int = 3000, count: int = 7) -> Shards:
    cuts = row_shards(rows, count)
    return Shards([(c.start, c.stop) for c in cuts], rows_of, executor, [c.start for c in cuts])


def learn(executor: Executor, *, seconds: float = 0.0, **options) -> Trained:
    return train(KMeans(seconds), shards_on(executor), max_rounds=ROUNDS, **options)


def eat(shard, state):
    """More memory than a small worker has."""
    return {"sum": np.ones(1 << 27).sum()}


if __name__ == "__main__":
    address, root, result = sys.argv[1:]
    checkpoints = Checkpoints(storage_at(root).inside("checkpoints"), "toy", every_seconds=0)
    with Cluster(Scheduler(address), root).open() as executor:
        trained = learn(
            executor, seconds=0.05, checkpoints=checkpoints, progress=lambda done, *_: print(done, flush=True)
        )
    known = {"centres": trained.arrays["centres"].tobytes().hex(), "history": trained.history}
    Path(result).write_text(json.dumps(known | {"resumed_from": trained.resumed_from}))
