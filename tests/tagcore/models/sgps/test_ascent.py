"""The ascent to the mode: where it ends, how far it says it is, and that shards, threads and kills change nothing."""

import numpy as np
import pytest

from tagcore.models.sgps import ascent
from tagcore.models.sgps.ascent import Ascent, ascend, curvature_step, origin_step, remaining_distance
from tagcore.models.sgps.mode import find_mode, hessian_product, objective_at
from tagcore.models.sgps.softmax import likelihood_and_residuals, log_likelihoods, probabilities, residuals
from tagcore.shards import InProcess
from tagcore.training import Checkpoints, train
from tests.tagcore.models.sgps.problems import features_of, three_classes

A = np.array([20.0, 20.0, 30.0])
X, Y = three_classes(300)
START = np.zeros((25, 3))


def problem(**settings):
    return features_of(X, Y, X[:25], **settings)


def distance(features, U, V):
    """between latents, in standard deviations of the posterior."""
    objective_at(features, A, V)
    return np.sqrt(np.vdot(U - V, hessian_product(features, A, rounded=False)(U - V)) / U.size)


@pytest.mark.parametrize("mode", ["store", "float32", "stream"])
@pytest.mark.parametrize("n_shards", [1, 4])
def test_it_ends_as_near_to_the_mode_as_it_says(mode, n_shards):
    features = problem(mode=mode, n_shards=n_shards)
    wanted = find_mode(features, A, START, tol=1e-8).arrays["U"]
    assert distance(features, START, wanted) > 1.0
    found = ascend(features, A, START, tol=0.01, max_rounds=50)
    assert found.history[-1]["distance"] < 0.01
    assert distance(features, found.arrays["U"], wanted) < 0.02


def test_it_may_begin_anywhere_and_steps_that_lead_down_are_cut_short(monkeypatch):
    looks = []
    monkeypatch.setattr(Ascent, "_look", lambda *args, look=Ascent._look: looks.append(args[-1]) or look(*args))
    features = problem(n_shards=2, mode="stream")  # float64, so that far latents are exact
    wanted = find_mode(features, A, START, tol=1e-8).arrays["U"]
    found = ascend(features, A, 30.0 * np.random.default_rng(0).normal(size=START.shape), tol=0.01, max_rounds=50)
    assert looks
    assert max(looks) <= 0.5
    objectives = [measures["objective"] for measures in found.history]
    assert objectives == sorted(objectives)
    assert distance(features, found.arrays["U"], wanted) < 0.02
    assert objective_at(features, A, found.arrays["U"]) == pytest.approx(objectives[-1], abs=1e-6)


def test_the_distance_is_what_gains_that_fall_alike_leave():
    """what is left to gain is half of the squared distance, all latents together."""
    left = 100.0 * 0.9 ** np.arange(11)
    assert remaining_distance(5.0 - left, 8) == pytest.approx(np.sqrt(2.0 * left[-1] / 8))
    assert remaining_distance(-left[:10], 8) == np.inf
    assert remaining_distance(np.zeros(11), 8) == 0.0
    fast = -100.0 * 0.1 ** np.arange(11)  # nothing says that it will stay so
    assert remaining_distance(fast, 8) == pytest.approx(np.sqrt(2.0 * (fast[10] - fast[5]) / 8))


def test_where_nothing_is_to_be_learnt_it_ends_at_once():
    features = features_of(X, np.zeros(300, int), X[:25])
    found = ascend(features, np.ones(1), np.zeros((25, 1)), tol=0.01, max_rounds=50)
    assert [measures["steps"] for measures in found.history] == [0.0]
    assert found.history[0]["distance"] == 0.0


def test_curvature_is_that_of_all_rows_where_some_stand_for_them():
    rows, y = (np.repeat(values, 4, axis=0) for values in (X, Y))
    features = features_of(rows, y, X[:25], n_shards=2)
    features.shards.update(origin_step, n_classes=3)
    every, some = (features.shards.update(curvature_step, length=0.0, every=every) for every in (1, 4))
    np.testing.assert_allclose(some["gram"], every["gram"], rtol=1e-4)
    np.testing.assert_allclose(some["totals"], every["totals"])
    np.testing.assert_allclose(every["totals"], 1200 * 2 / 9)
    np.testing.assert_allclose(np.trace(every["gram"]), (features.basis.features(rows) ** 2).sum() / 3, rtol=1e-5)


def test_one_pass_gives_likelihood_and_residuals():
    F, y = np.random.default_rng(0).normal(size=(20, 4)) * 50, np.arange(20) % 4
    likelihood, R = likelihood_and_residuals(F, y)
    assert likelihood == pytest.approx(log_likelihoods(F, y).sum())
    np.testing.assert_allclose(R, residuals(probabilities(F), y), atol=1e-15)


def test_threads_change_no_bit():
    one, two = (ascend(problem(n_shards=5, executor=InProcess(n)), A, START, tol=0.01, max_rounds=50) for n in (1, 2))
    assert np.array_equal(one.arrays["U"], two.arrays["U"])


def test_blocks_of_any_size_change_the_last_digits_alone(monkeypatch):
    whole = ascend(problem(), A, START, tol=0.01, max_rounds=2).arrays["U"]
    monkeypatch.setattr(ascent, "_CACHED_CELLS", 25 * 7)
    np.testing.assert_allclose(ascend(problem(), A, START, tol=0.01, max_rounds=2).arrays["U"], whole, atol=1e-2)


def test_it_goes_on_where_it_was_killed(tmp_path):
    features = problem(n_shards=2)
    whole = train(Ascent(features, A, START, 1e-3), features.shards, max_rounds=50)
    assert len(whole.history) > 3
    checkpoints = Checkpoints(tmp_path, "ascent", every_seconds=0.0)
    train(Ascent(features, A, START, 1e-3), features.shards, max_rounds=2, checkpoints=checkpoints)
    again = problem(n_shards=2)
    resumed = train(Ascent(again, A, START, 1e-3), again.shards, max_rounds=50, checkpoints=checkpoints)
    assert resumed.resumed_from == 2
    assert np.array_equal(resumed.arrays["U"], whole.arrays["U"])
