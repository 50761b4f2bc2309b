"""TagiCoFi on a million planted users, 20 million ratings of 100,000 items and the tags of seven users in ten, on
`local:2` with 6 GiB for each worker: the graph of those who tag alike (20 neighbours each, by tags that at most 100
users have), then rounds of exact alternation. The driver holds the ratings; shards of users and of items lie with the
workers. The errors are of 100,000 ratings that were held out, beside those of damped biases.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tagcore.baselines import DampedBiases
from tagcore.models import TagiCoFi
from tagcore.ratings import Ratings, UserTaggings
from tagcore.synthetic.ratings import PlantedRatings
from tests.bench.scale.corpora import place
from tests.bench.scale.measured import figures, two_workers
from tests.bench.scale.processes import alone

RATINGS, RATINGS_PER_USER, USERS_PER_ITEM, HELD_OUT = 20_000_000, 20, 10, 100_000
ROUNDS = 5


def run(data: Path | None, rows: int = RATINGS) -> list[dict[str, Any]]:
    return [alone(trained, rows)]


def trained(wanted: int) -> dict[str, Any]:
    """Times are without the start of the cluster and the making of the ratings."""
    learnt, taggings, test = planted(wanted)
    few = planted(20_000)
    model = TagiCoFi(n_neighbors=20, max_df=100, max_iter=ROUNDS, tol=0.0, random_state=0)
    model.fit(*few[:2])  # compiles
    times: list[float] = []
    with tempfile.TemporaryDirectory(dir=place()) as root, two_workers(root) as executor:
        start = time.perf_counter()
        model.fit(learnt, taggings, executor=executor, progress=lambda *_: times.append(time.perf_counter() - start))
        seconds = time.perf_counter() - start
        cost = figures(executor)
    biases = DampedBiases().fit(learnt)
    row = {
        "what": f"{len(learnt):,} ratings of {model.n_users_:,} users, {len(taggings):,} taggings",
        "s": seconds,
        "s to the first round's end": times[0],
        "s a round": (times[-1] - times[0]) / (len(times) - 1),
        "MAE": _error(model, test),
        "MAE of biases": _error(biases, test),
        **cost,
    }
    print(row, flush=True)
    return row


def planted(wanted: int) -> tuple[Ratings, UserTaggings, Ratings]:
    """(ratings to learn from, taggings, held-out ratings) of so many ratings."""
    users = wanted // RATINGS_PER_USER
    facts = {"n_tags": max(12, users // 10), "ratings_per_user": RATINGS_PER_USER, "taggings_per_user": 10}
    made = PlantedRatings(users, max(200, users // USERS_PER_ITEM), **facts, kinship=0.8, seed=2)
    whole = made.ratings()
    out = np.zeros(len(whole), bool)
    out[np.random.default_rng(0).permutation(len(whole))[: min(HELD_OUT, len(whole) // 10)]] = True
    return whole.take(np.flatnonzero(~out)), made.taggings(), whole.take(np.flatnonzero(out))


def _error(model: Any, test: Ratings) -> float:
    users, items, values = (test.table[column].to_numpy() for column in ("user", "item", "value"))
    return float(np.abs(model.predict(users, items) - values).mean())
