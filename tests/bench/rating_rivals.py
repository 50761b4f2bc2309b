"""Rivals of the models of ratings, run by a Python that has them: `python rating_rivals.py NAME TRAIN TEST ROUNDS`.

TRAIN and TEST are parquet tables of user, item, value. Prints JSON: the CPU seconds of one round, and for each number
of rounds the least seconds of training with them and the MAE on TEST. It knows nothing of this repository.
"""

import json
import sys
import time
from typing import Any

import numpy as np
import pyarrow.parquet as pq

FACTORS, REPEATS, MORE_ROUNDS = 10, 3, 40


def implicit_als(train: list, test: list, rounds: list[int]) -> dict[str, Any]:
    """A round of both of its solvers, the faster one; it learns preferences, so it has no MAE."""
    import scipy.sparse as sp
    from implicit.cpu.als import AlternatingLeastSquares

    users, items, values = train
    rated = sp.csr_matrix((values.astype(np.float32), (users, items)))

    def fit(iterations: int, use_cg: bool) -> None:
        options = {"regularization": 1.0, "num_threads": 1, "calculate_training_loss": False, "dtype": np.float32}
        model = AlternatingLeastSquares(FACTORS, iterations=iterations, use_cg=use_cg, **options)
        model.fit(rated, show_progress=False)

    return {"round": min(_round(lambda n, cg=cg: fit(n, cg)) for cg in (True, False)), "curve": []}


def cornac_mf(train: list, test: list, rounds: list[int]) -> dict[str, Any]:
    import cornac

    triples = list(zip(*(column.tolist() for column in train), strict=True))
    data = cornac.data.Dataset.from_uir(triples)

    def fit(epochs: int) -> Any:
        options = {"learning_rate": 0.01, "lambda_reg": 0.02, "use_bias": True, "seed": 1, "num_threads": 1}
        return cornac.models.MF(k=FACTORS, max_iter=epochs, **options).fit(data)

    def predict(model: Any, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        u = np.array([data.uid_map.get(user, -1) for user in users.tolist()])
        i = np.array([data.iid_map.get(item, -1) for item in items.tolist()])
        scores = model.global_mean + model.u_biases[u] * (u >= 0) + model.i_biases[i] * (i >= 0)
        both = (u >= 0) & (i >= 0)
        return scores + both * (model.u_factors[u] * model.i_factors[i]).sum(axis=1)

    return {"round": _round(fit), "curve": [_point(fit, predict, test, n) for n in rounds]}


def surprise_svd(train: list, test: list, rounds: list[int]) -> dict[str, Any]:
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    table = pd.DataFrame(dict(zip(("user", "item", "value"), train, strict=True)))
    data = Dataset.load_from_df(table, Reader(rating_scale=(0.5, 5))).build_full_trainset()

    def fit(epochs: int) -> Any:
        return SVD(n_factors=FACTORS, n_epochs=epochs, random_state=0).fit(data)

    def predict(model: Any, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        pairs = zip(users.tolist(), items.tolist(), strict=True)
        return np.array([model.predict(user, item).est for user, item in pairs])

    return {"round": _round(fit), "curve": [_point(fit, predict, test, n) for n in rounds]}


def _round(fit: Any) -> float:
    """CPU seconds of one more round: many of them, less one, the least of some."""
    fit(1)
    one, many = (min(_seconds(fit, rounds) for _ in range(REPEATS)) for rounds in (1, 1 + MORE_ROUNDS))
    return (many - one) / MORE_ROUNDS


def _seconds(fit: Any, rounds: int) -> float:
    start = time.process_time()
    fit(rounds)
    return time.process_time() - start


def _point(fit: Any, predict: Any, test: list, rounds: int) -> dict[str, float]:
    seconds = min(_seconds(fit, rounds) for _ in range(REPEATS))
    model = fit(rounds)
    users, items, values = test
    return {"rounds": rounds, "s": seconds, "mae": float(np.abs(predict(model, users, items) - values).mean())}


RIVALS = {"implicit": implicit_als, "cornac": cornac_mf, "surprise": surprise_svd}

if __name__ == "__main__":
    name, *paths, rounds = sys.argv[1:]
    tables = [[pq.read_table(path)[column].to_numpy() for column in ("user", "item", "value")] for path in paths]
    print(json.dumps(RIVALS[name](*tables, [int(n) for n in rounds.split(",")])))
