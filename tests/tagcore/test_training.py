"""The training loop, driven by logistic regression whose optimum scikit-learn knows."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController

from tagcore.shards import Arrays, InProcess, Shards, row_shards
from tagcore.training import Checkpoints, EarlyStop, Measures, train


class Logistic:
    """L2-penalised logistic regression by accelerated gradient; the penalty is 1/2 |w|²."""

    def __init__(self, n: int, width: int, rate: float, tol: float = 0.0) -> None:
        self.n, self.width, self.rate, self.tol = n, width, rate, tol
        self.killed_at: int | None = None

    def init(self, shards: Shards) -> Arrays:
        shards.update(count_rows)
        return {"w": np.zeros(self.width), "before": np.zeros(self.width)}

    def round(self, shards: Shards, arrays: Arrays, number: int) -> tuple[Arrays, Measures]:
        if number == self.killed_at:
            raise KeyboardInterrupt
        ahead = arrays["w"] + number / (number + 3) * (arrays["w"] - arrays["before"])
        sums = shards.update(gradient, w=ahead)
        w = ahead - self.rate * (sums["gradient"] + ahead)
        loss = float(shards.sum(losses, w=w)["loss"] + 0.5 * w @ w)
        return {"w": w, "before": arrays["w"]}, {"loss": loss, "rows": float(sums["visits"])}

    def done(self, history: list[Measures]) -> bool:
        return len(history) > 1 and abs(history[-2]["loss"] - history[-1]["loss"]) < self.tol


def count_rows(shard, state):
    return {"visits": np.array(0.0)}, {}


def gradient(shard, state, w):
    X, y = shard.data
    p = 1 / (1 + np.exp(-(X @ w)))
    visits = state["visits"] + 1
    return {"visits": visits}, {"gradient": X.T @ (p - y), "visits": visits * len(y)}


def losses(shard, state, w):
    X, y = shard.data
    z = X @ w
    return {"loss": np.sum(np.logaddexp(0, z) - y * z)}


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 6))
    y = (X @ rng.normal(size=6) + rng.normal(size=200) > 0).astype(float)
    return X, y


def shards_of(problem, threads=1, count=5):
    X, y = problem
    parts = row_shards(len(y), count)
    return Shards(parts, lambda rows: (X[rows], y[rows]), InProcess(threads), [p.start for p in parts])


def learner(problem, **settings):
    X, _ = problem
    return Logistic(len(X), X.shape[1], rate=1 / (1 + 0.25 * np.linalg.norm(X, 2) ** 2), **settings)


def test_reaches_the_optimum_that_scikit_learn_finds(problem):
    trained = train(learner(problem), shards_of(problem), max_rounds=600)
    expected = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(*problem).coef_[0]
    np.testing.assert_allclose(trained.arrays["w"], expected, atol=1e-6)
    assert trained.history[-1]["rows"] == 600 * 200


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_do_not_change_a_bit(problem, threads):
    one = train(learner(problem), shards_of(problem), max_rounds=20)
    more = train(learner(problem), shards_of(problem, threads), max_rounds=20)
    assert one.arrays["w"].tobytes() == more.arrays["w"].tobytes()
    assert one.history == more.history


def test_the_limit_of_blas_is_set_once_for_all_rounds(problem, monkeypatch):
    """what a learner computes between steps has it, too, and short steps are not slowed by it."""
    limits = []
    limit = ThreadpoolController.limit
    monkeypatch.setattr(ThreadpoolController, "limit", lambda *args, **kw: limits.append(kw) or limit(*args, **kw))
    train(learner(problem), shards_of(problem), max_rounds=3)
    assert limits == [{"limits": 1, "user_api": "blas"}]


def test_the_learner_says_when_it_is_done(problem):
    trained = train(learner(problem, tol=1e-4), shards_of(problem), max_rounds=600)
    assert 2 < len(trained.history) < 600


@pytest.mark.parametrize("killed_at", [1, 7, 19])
def test_a_killed_run_ends_with_the_same_bits(problem, tmp_path: Path, killed_at):
    whole = train(learner(problem), shards_of(problem), max_rounds=20)
    checkpoints = Checkpoints(tmp_path / "c", "this problem", every_seconds=0)
    killed = learner(problem)
    killed.killed_at = killed_at
    with pytest.raises(KeyboardInterrupt):
        train(killed, shards_of(problem), max_rounds=20, checkpoints=checkpoints)
    resumed = train(learner(problem), shards_of(problem), max_rounds=20, checkpoints=checkpoints)
    assert resumed.resumed_from == killed_at
    assert resumed.arrays["w"].tobytes() == whole.arrays["w"].tobytes()
    assert resumed.history == whole.history
    assert [p.name for p in (tmp_path / "c").glob("round-*")] == ["round-000020"]


def test_a_run_killed_while_it_writes_a_checkpoint_goes_on_from_the_one_before(problem, tmp_path: Path, monkeypatch):
    whole = train(learner(problem), shards_of(problem), max_rounds=8)
    checkpoints = Checkpoints(tmp_path / "c", "this problem", every_seconds=0)
    save = Shards.save

    def killed(shards, storage):
        if "round-000004" in str(storage):
            raise KeyboardInterrupt
        save(shards, storage)

    monkeypatch.setattr(Shards, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        train(learner(problem), shards_of(problem), max_rounds=8, checkpoints=checkpoints)
    monkeypatch.undo()
    resumed = train(learner(problem), shards_of(problem), max_rounds=8, checkpoints=checkpoints)
    assert resumed.resumed_from == 3
    assert resumed.arrays["w"].tobytes() == whole.arrays["w"].tobytes()
    assert resumed.history == whole.history


def test_a_checkpoint_of_another_training_is_refused(problem, tmp_path):
    train(learner(problem), shards_of(problem), max_rounds=2, checkpoints=Checkpoints(tmp_path, "one", 0))
    with pytest.raises(ValueError, match="another training"):
        train(learner(problem), shards_of(problem), max_rounds=2, checkpoints=Checkpoints(tmp_path, "two", 0))


class Scripted:
    """A learner whose measure follows a script."""

    def __init__(self, script: list[float]) -> None:
        self.script = script

    def init(self, shards):
        return {"w": np.array([-1.0])}

    def round(self, shards, arrays, number):
        return {"w": np.array([float(number)])}, {"auc": self.script[number]}

    def done(self, history):
        return False


def test_early_stop_keeps_the_best_round(problem):
    script = [0.1, 0.5, 0.7, 0.6, 0.65, 0.69, 0.9]
    trained = train(Scripted(script), shards_of(problem), max_rounds=7, early_stop=EarlyStop("auc", patience=3))
    assert (len(trained.history), trained.best_round, trained.arrays["w"][0]) == (6, 2, 2.0)


def test_early_stop_survives_a_resume(problem, tmp_path):
    script = [0.7, 0.6, 0.65, 0.69, 0.9]
    stop, kept = EarlyStop("auc", patience=3), Checkpoints(tmp_path, "k", 0)
    train(Scripted(script), shards_of(problem), max_rounds=2, early_stop=stop, checkpoints=kept)
    trained = train(Scripted(script), shards_of(problem), max_rounds=5, early_stop=stop, checkpoints=kept)
    assert (len(trained.history), trained.best_round, trained.arrays["w"][0]) == (4, 0, 0.0)


def test_a_value_that_is_not_finite_stops_training(problem):
    broken = Scripted([0.0])
    broken.round = lambda shards, arrays, number: ({"w": np.array([np.nan])}, {})
    with pytest.raises(FloatingPointError, match="round 0: array 'w'"):
        train(broken, shards_of(problem), max_rounds=1)


def test_progress_is_reported_every_round(problem):
    seen = []
    train(learner(problem), shards_of(problem), max_rounds=3, progress=lambda *a: seen.append(a[:2]))
    assert seen == [(1, 3), (2, 3), (3, 3)]
