"""TagiCoFi and PMF in CPU seconds of one thread, D = 10, beside implicit's ALS, cornac's MF and surprise's SVD, each
in a Python of its own (TAGFLOW_IMPLICIT_PYTHON, TAGFLOW_CORNAC_PYTHON, TAGFLOW_SURPRISE_PYTHON; rows of those that are
not set are left out). Ratings are planted, about as many and as large as the paper's: 755 users, 9,464 items. A round
of descent passes the ratings once, as an epoch of SGD does; a round of ALS solves for all users and items. What a round
is worth differs, so the time to a test MAE that all of them reach stands beside it, of whole trainings with ever more
rounds, the least of three. Growth is of planted ratings at 40 a user, a tag to five users; `recommend` is one user's
CPU time among 100,000 items.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from tagcore.models import PMF, TagiCoFi
from tagcore.rating_model import RatingModel
from tagcore.ratings import Ratings, UserTaggings
from tagcore.synthetic.ratings import PlantedRatings
from tests.bench.timing import cpu

SIZES = (100_000, 1_000_000, 10_000_000)
SPARSE = {"n_neighbors": 20, "max_df": 100}
RATINGS_PER_USER, USERS_PER_TAG = 40, 5
ROUNDS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
RIVALS = {"implicit": "implicit, ALS", "cornac": "cornac, MF", "surprise": "surprise, SVD"}
REPEATS, MORE_ROUNDS = 3, 40
ITEMS, ASKED = 100_000, 2000
OURS: dict[str, dict[str, Any]] = {
    "TagiCoFi, ALS": {"solver": "als"},
    "TagiCoFi, descent": {"solver": "gd"},
    "PMF, ALS": {"beta": 0.0, "solver": "als"},
    "PMF, descent": {"beta": 0.0, "solver": "gd"},
}
Row = dict[str, Any]


def run(data: Path | None, ratings: int = max(SIZES)) -> list[Row]:
    """Measures on up to so many ratings."""
    return [*against_rivals(), *(grown(size) for size in SIZES if size <= ratings), recommended()]


def against_rivals() -> list[Row]:
    """A row for each model: a round, and the time to the MAE that all reach."""
    made = PlantedRatings(755, 9464, ratings_per_user=330, n_tags=2271, taggings_per_user=50, taggers=1.0, seed=1)
    whole, taggings = made.ratings(), made.taggings()
    out = np.random.default_rng(0).random(len(whole)) < 1 / 3
    learnt, test = whole.take(np.flatnonzero(~out)), whole.take(np.flatnonzero(out))
    found = {what: measured(params, learnt, taggings, test) for what, params in OURS.items()}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("train.parquet", "test.parquet")]
        for path, side in zip(paths, (learnt, test), strict=True):
            pq.write_table(side.table.select(["user", "item", "value"]), path)
        for name, what in RIVALS.items():
            if python := os.environ.get(f"TAGFLOW_{name.upper()}_PYTHON"):
                found[what] = rival(python, name, paths)
    target = max(min(point["mae"] for point in f["curve"]) for f in found.values() if f["curve"])
    return [
        {
            "what": f"{len(learnt):,} ratings: {what}",
            "ms a round": 1e3 * f["round"],
            "best MAE": min((point["mae"] for point in f["curve"]), default=None),
            f"s to MAE {target:.4f}": min((p["s"] for p in f["curve"] if p["mae"] <= target), default=None),
        }
        for what, f in found.items()
    ]


def measured(params: dict[str, Any], learnt: Ratings, taggings: UserTaggings, test: Ratings) -> dict[str, Any]:
    users, items, values = (test.table[column].to_numpy() for column in ("user", "item", "value"))
    curve = []
    fit(params, learnt, taggings, 1)  # compiles
    for rounds in ROUNDS:
        seconds = min(cpu(lambda rounds=rounds: fit(params, learnt, taggings, rounds)) for _ in range(REPEATS))
        model = fit(params, learnt, taggings, rounds)
        error = float(np.abs(model.predict(users, items) - values).mean())
        curve.append({"rounds": rounds, "s": seconds, "mae": error})
    return {"round": round_seconds(params, learnt, taggings), "curve": curve}


def fit(params: dict[str, Any], learnt: Ratings, taggings: UserTaggings | None, rounds: int) -> RatingModel:
    return TagiCoFi(max_iter=rounds, tol=0.0, random_state=0, **params).fit(learnt, taggings)


def round_seconds(params: dict[str, Any], learnt: Ratings, taggings: UserTaggings | None) -> float:
    """Of one more round: many of them, less one, the least of some."""
    one, many = (
        min(cpu(lambda rounds=rounds: fit(params, learnt, taggings, rounds)) for _ in range(REPEATS))
        for rounds in (1, 1 + MORE_ROUNDS)
    )
    return (many - one) / MORE_ROUNDS


def rival(python: str, name: str, paths: list[Path]) -> dict[str, Any]:
    program = Path(__file__).with_name("rating_rivals.py")
    command = [python, str(program), name, *map(str, paths), ",".join(map(str, ROUNDS))]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def grown(size: int) -> Row:
    """A round of exact alternation and one of descent, and all that comes before, of so many ratings."""
    users = size // RATINGS_PER_USER
    facts = {"n_tags": max(12, users // USERS_PER_TAG), "ratings_per_user": RATINGS_PER_USER, "taggings_per_user": 10}
    made = PlantedRatings(users, max(200, users // 10), **facts, seed=2)
    ratings, taggings = made.ratings(), made.taggings()
    als, before = rounds_of({"solver": "als"} | SPARSE, ratings, taggings)
    descent, _ = rounds_of({"solver": "gd"} | SPARSE, ratings, taggings)
    row = {
        "what": f"{len(ratings):,} ratings of {users:,} users: TagiCoFi",
        "ms a round": 1e3 * als,
        "ns a rating and round": 1e9 * als / len(ratings),
        "ns a rating and round of descent": 1e9 * descent / len(ratings),
        "µs a rating, graph and first round": 1e6 * before / len(ratings),
    }
    print(row, flush=True)
    return row


def rounds_of(params: dict[str, Any], ratings: Ratings, taggings: UserTaggings) -> tuple[float, float]:
    """(least seconds of a round, seconds until the first has ended)."""
    times = [time.process_time()]
    model = TagiCoFi(max_iter=4, tol=0.0, random_state=0, **params)
    model.fit(ratings, taggings, progress=lambda *_: times.append(time.process_time()))
    return float(np.diff(times)[1:].min()), times[1] - times[0]


def recommended() -> Row:
    """The median and the 99th percentile of single questions."""
    made = PlantedRatings(20_000, ITEMS, seed=3)
    model = PMF(max_iter=1, random_state=0).fit(made.ratings())
    model.recommend(0, 10)
    seconds = []
    for user in range(ASKED):
        seconds.append(cpu(lambda user=user: model.recommend(user, 10)))
    p50, p99 = 1e3 * np.percentile(seconds, [50, 99])
    return {"what": f"recommend 10 of {ITEMS:,} items to one user", "p50 ms": float(p50), "p99 ms": float(p99)}
