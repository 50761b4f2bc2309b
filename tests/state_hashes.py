"""`python -m tests.state_hashes [--data DIR] [--against FILE] [--ratings]`: a hash of the stored arrays of every model,
fitted on fixed planted rows and on bibtex, models of ratings on planted ratings.

A change of places, names or seams leaves every hash as it was; a change of arithmetic shows here before it shows in a
table. Hashes hold for one CPU type and one set of library versions, so none is committed: write them before a change
(`> before.txt`) and compare after it (`--against before.txt`).
"""

import argparse
import hashlib
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tagcore.baselines as baselines
import tagcore.models as models
from tagcore.base import Estimator
from tagcore.synthetic.ratings import PlantedRatings
from tagcore.tag_model import TagModel
from tests.problems import official_split

QUICK = {"max_iter": 5}
PUBLISHED = {"variant": "coupled", "noise": 0.01}  # of BOMC
CASES: list[tuple[str, dict[str, Any]]] = [
    ("Popular", {}),
    ("KNN", {}),
    ("VectorSimilarity", {}),
    ("Blend", {"members": ["OneVsRestLinear", "KNN"], "n_folds": 1, "n_trees": 20}),
    ("SimFusion", {}),
    ("OneVsRestLinear", {}),
    ("OneVsRestLogistic", {}),
    ("PassiveAggressive", {}),
    ("Ridge", {"solver": "cholesky"}),
    ("Ridge", {"solver": "cg"}),
    ("LaSVM", {}),
    ("LEML", QUICK),
    ("LEML", QUICK | {"loss": "logistic", "rank": 10}),
    ("LEML", QUICK | {"loss": "squared_hinge", "rank": 10}),
    ("CPLST", {"rank": 20}),
    ("WSABIE", QUICK),
    ("BCS", {"rank": 20}),
    ("BOMC", {}),
    ("BOMC", PUBLISHED),
    ("BOMC", PUBLISHED | {"parallel": "classes", "merge_every": 200, "warm_up": 100, "n_shards": 3}),
    ("BOMC", PUBLISHED | {"skew": "running", "drift": 0.001, "shuffle": False}),
    ("BOMC", PUBLISHED | {"flip": [0.001, 0.0]}),
    ("BMLPL", QUICK | {"n_topics": 16}),
    ("BMLPL", QUICK | {"n_topics": 16, "objective": "geo", "learn_r": True, "learn_tau": True}),
    ("BMLPL", QUICK | {"n_topics": 8, "solver": "exact"}),
    ("BMLPL", QUICK | {"n_topics": 16, "early_stopping": True}),
    ("BMLPL", QUICK | {"n_topics": 16, "inference": "online"}),
    ("BMLPL", {"n_topics": 8, "inference": "gibbs", "burn_in": 2, "n_draws": 2, "thin": 1}),
    ("PMM", {}),
    ("PMM", {"n_classes": 8, "n_components": 20, "choose": "ncut", "scoring": "mix", "mu": 0.1}),
    ("PMM", {"n_classes": 8, "scoring": "hard", "rank_scale": "none", "length": "raw", "graph": "raw", "temper": 1.0}),
]
PARTLY_OBSERVED = [
    ("LEML", QUICK | {"rank": 10}),
    ("BCS", {"rank": 10, "max_iter": 2}),
    ("BMLPL", QUICK | {"n_topics": 8, "missing": "mask"}),
]
DESCENT = {"solver": "gd", "max_iter": 20, "random_state": 1}
ALL_LINKS = {"similarity": "pearson", "scope": "common", "n_neighbors": None}
RATING_CASES: list[tuple[str, dict[str, Any]]] = [
    ("ItemMean", {}),
    ("UserMean", {}),
    ("DampedBiases", {}),
    ("ItemKNN", {}),
    ("PopularItems", {}),
    ("PMF", {"random_state": 1}),
    ("PMF", DESCENT),
    ("TagiCoFi", {"random_state": 1}),
    ("TagiCoFi", {"gamma": 3.0, "similarity": "euclidean", "laplacian": "meandeg", "n_factors": 4, "random_state": 1}),
    ("TagiCoFi", {"feedback": "counts", "alpha": 0.1, "n_shards": 3, "random_state": 1}),
    ("TagiCoFi", {"profiles": "rated", "random_state": 1}),
    ("TagiCoFi", DESCENT),
    ("TagiCoFi", DESCENT | ALL_LINKS | {"step": 0.001, "biases": "none", "gamma": 1.0}),
    ("TagiCoFi", DESCENT | {"schedule": "jacobi", "n_shards": 3, "n_factors": 7}),
    ("ShuffledTagiCoFi", {"random_state": 1}),
]

XY = tuple[sp.csr_matrix, sp.csr_matrix]


def planted() -> XY:
    """Rows of 20 topics, each with words and tags of its own and some noise; drawn by numpy alone."""
    rng = np.random.default_rng(7)
    topics = rng.dirichlet(np.full(20, 0.1), 600)
    words = rng.dirichlet(np.full(500, 0.05), 20)
    tags = rng.dirichlet(np.full(60, 0.05), 20)
    X, Y = rng.poisson(60 * topics @ words), rng.poisson(3 * topics @ tags) > 0
    return sp.csr_matrix(X, dtype=np.float64), sp.csr_matrix(Y, dtype=np.float64)


def state_hash(model: Estimator) -> str:
    """Of names, types, shapes and bytes of the fitted arrays."""
    digest = hashlib.sha256()
    for name, values in sorted(model.parts()["arrays"].items()):
        digest.update(f"{name} {values.dtype} {values.shape}".encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def fitted(name: str, params: dict[str, Any], X: sp.csr_matrix, Y: sp.csr_matrix, **more: Any) -> TagModel:
    model = getattr(models, name, None) or getattr(baselines, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few iterations do not converge
        return model(**params).fit(X, Y, **more)


def lines(data: dict[str, XY]) -> list[str]:
    """name, parameters, data set and hash, tab-separated."""
    found = []
    for where, (X, Y) in data.items():
        seen = sp.csr_matrix(np.random.default_rng(3).random(Y.shape) < 0.5, dtype=np.float64)
        cases = [(*case, {}) for case in CASES] + [(*case, {"observed": seen}) for case in PARTLY_OBSERVED]
        for name, params, more in cases:
            hashed = state_hash(fitted(name, params, X, Y, **more))
            observed = " observed" if more else ""
            found.append(f"{name}\t{params}{observed}\t{where}\t{hashed}")
            print(found[-1], flush=True)
    return found


def rating_lines() -> list[str]:
    """The same of models of ratings."""
    made = PlantedRatings(600, 300, n_tags=120, seed=11)
    ratings, taggings = made.ratings(), made.taggings()
    found = []
    for name, params in RATING_CASES:
        model = getattr(models, name, None) or getattr(baselines, name)
        found.append(f"{name}\t{params}\tplanted ratings\t{state_hash(model(**params).fit(ratings, taggings))}")
        print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.state_hashes", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--against", type=Path, help="hashes written earlier; exit code 1 where one differs")
    parser.add_argument("--ratings", action="store_true", help="only models of ratings, in half a minute")
    args = parser.parse_args()
    found = rating_lines()
    if not args.ratings:
        data = {"planted": planted()}
        if (args.data / "bibtex").is_dir():
            X, Y, _, _ = official_split(args.data / "bibtex")
            data["bibtex"] = X[:2000], Y[:2000]
        found += lines(data)
    if args.against:
        before = set(args.against.read_text().splitlines())
        different = [line for line in found if line not in before]
        print(f"{len(found) - len(different)} of {len(found)} as before", *different, sep="\n", file=sys.stderr)
        sys.exit(bool(different))


if __name__ == "__main__":
    main()
