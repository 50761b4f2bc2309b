"""EM of BMLPL: against a cell-by-cell oracle, monotone, exact under partition, masks and conjugate gradients."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.models.bmlpl.em import EM, EMSettings, expect_rows, masked_topics
from tagcore.models.bmlpl.hyper import new_tau
from tagcore.models.bmlpl.rows import ShardRows, logistic
from tagcore.shards import InProcess, Shards
from tagcore.training import Checkpoints, train
from tests.tagcore.models.bmlpl.problems import (
    first_arrays,
    geo_objective,
    mean_objective,
    naive_iteration,
    planted,
    run,
    shards_of,
)


def _rises(objectives, tol=1e-7):
    return (np.diff(objectives) >= -tol * np.abs(objectives[:-1])).all()


def test_an_iteration_is_that_of_the_oracle():
    X, Y = planted()
    start = first_arrays(X, Y)
    V, W, m, J = start["V"], start["W"], None, []
    for _ in range(3):
        V, W, m, objective = naive_iteration(X, Y, V, W, start["r"], start["tau"], 0.01, m)
        J.append(objective)
    arrays, objectives = run(shards_of(X, Y), start, 3, cg_steps=0)
    np.testing.assert_allclose(arrays["V"], V, rtol=1e-8)
    np.testing.assert_allclose(arrays["W"], W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(objectives, J, rtol=1e-11)


def test_the_objective_of_geo_is_as_written():
    X, Y = planted()
    a = first_arrays(X, Y)
    psi = X @ a["W"]
    _, objectives = run(shards_of(X, Y), a, 1, geo=True)
    wanted = geo_objective(Y.toarray() > 0, a["r"] * np.exp(psi), a["V"], psi, a["W"], a["r"], a["tau"], 0.01)
    assert objectives[0] == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("geo", [False, True], ids=["mean", "geo"])
@pytest.mark.parametrize("cg_steps", [0, 1, 2, 5])
def test_the_objective_never_falls(geo, cg_steps):
    X, Y = planted()
    _, objectives = run(shards_of(X, Y, 3), first_arrays(X, Y), 40, geo=geo, cg_steps=cg_steps)
    assert _rises(objectives)
    assert objectives[-1] > objectives[0] + 50


def test_learning_shapes_raises_the_objective():
    X, Y = planted()
    start = first_arrays(X, Y)
    arrays, learnt = run(shards_of(X, Y), start, 40, geo=True, learn_r=True)
    _, fixed = run(shards_of(X, Y), start, 40, geo=True)
    assert not np.allclose(arrays["r"], start["r"])
    assert learnt[-1] > fixed[-1]


def test_learning_precisions_tells_idle_words_apart():
    X, Y = planted(n=600)
    idle = sp.csr_matrix(np.random.default_rng(3).poisson(0.3, (600, 10)).astype(float))
    X = sp.hstack([idle, X], format="csr")
    arrays, _ = run(shards_of(X, Y), first_arrays(X, Y), 60, learn_tau=True)
    assert np.median(arrays["tau"][:10]) > 2 * np.median(arrays["tau"][10:])


def test_precisions_count_what_is_not_known_of_the_weights():
    """tau = (K + 2a) / (sum of w² and its variance + 2b), a = b = 0.01: weights of 0 alone do not make it large."""
    W, curvature, tau = np.array([[0.5, -1.0], [0.0, 0.0]]), np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([1.0, 2.0])
    squares = [0.25 + 1 / 4 + 1.0 + 1 / 2, 1 / 2 + 1 / 2]
    np.testing.assert_allclose(new_tau(W, curvature, tau), [2.02 / (square + 0.02) for square in squares], rtol=1e-12)


def test_conjugate_gradients_end_at_the_exact_solution():
    X, Y = planted()
    start = first_arrays(X, Y)
    exact, _ = run(shards_of(X, Y), start, 3, cg_steps=0)
    steps, _ = run(shards_of(X, Y), start, 3, cg_steps=60)
    np.testing.assert_allclose(steps["W"], exact["W"], rtol=1e-7, atol=1e-10)


def test_partitions_give_what_the_whole_gives():
    X, Y = planted()
    start = first_arrays(X, Y)
    whole, _ = run(shards_of(X, Y, 1), start, 10)
    for parts in (2, 7, 40):
        arrays, _ = run(shards_of(X, Y, parts), start, 10)
        for name in ("V", "W", "counts", "curvature"):
            np.testing.assert_allclose(arrays[name], whole[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cg_steps", [1, 2, 5])
def test_an_iteration_is_as_many_rounds_as_steps_and_one(cg_steps, monkeypatch):
    rounds, run_step = [], Shards._map
    monkeypatch.setattr(Shards, "_map", lambda self, step, shared: rounds.append(step) or run_step(self, step, shared))
    X, Y = planted()
    run(shards_of(X, Y, 3), first_arrays(X, Y), 4, cg_steps=cg_steps)
    assert len(rounds) == 4 * (cg_steps + 1)


def test_threads_change_no_bit():
    X, Y = planted()
    start = first_arrays(X, Y, dtype=np.float32)
    for cg_steps in (0, 2):
        one, two = (
            run(shards_of(X, Y, 5, dtype=np.float32, executor=InProcess(t)), start, 6, cg_steps=cg_steps)[0]
            for t in (1, 2)
        )
        assert all(np.array_equal(one[name], two[name]) for name in one)


def test_float32_agrees_with_float64():
    X, Y = planted()
    double, _ = run(shards_of(X, Y, 2), first_arrays(X, Y), 8)
    single, _ = run(shards_of(X, Y, 2, dtype=np.float32), first_arrays(X, Y, dtype=np.float32), 8)
    assert single["W"].dtype == single["V"].dtype == single["curvature"].dtype == np.float32
    np.testing.assert_allclose(single["W"], double["W"], atol=2e-4)
    np.testing.assert_allclose(single["V"], double["V"], atol=2e-5)


def test_permuted_rows_change_nothing_and_permuted_labels_permute_topics():
    X, Y = planted()
    start = first_arrays(X, Y)
    arrays, _ = run(shards_of(X, Y, 3), start, 8)
    rng = np.random.default_rng(0)
    rows, labels = rng.permutation(X.shape[0]), rng.permutation(Y.shape[1])
    other_rows, _ = run(shards_of(X[rows], Y[rows], 3), start, 8)
    np.testing.assert_allclose(other_rows["W"], arrays["W"], atol=1e-9)
    np.testing.assert_allclose(other_rows["V"], arrays["V"], atol=1e-9)
    other_labels, _ = run(shards_of(X, Y[:, labels], 3), {**start, "V": start["V"][labels]}, 8)
    np.testing.assert_allclose(other_labels["W"], arrays["W"], atol=1e-9)
    np.testing.assert_allclose(other_labels["V"], arrays["V"][labels], atol=1e-9)


def test_a_label_never_positive_gets_its_prior_share():
    X, Y = planted()
    Y = sp.hstack([Y, sp.csr_matrix((Y.shape[0], 1))], format="csr")
    arrays, _ = run(shards_of(X, Y, 2), first_arrays(X, Y), 5)
    wanted = 0.01 / (0.01 * Y.shape[1] + arrays["counts"].sum(axis=0))
    np.testing.assert_allclose(arrays["V"][-1], wanted, rtol=1e-12)
    np.testing.assert_allclose(arrays["V"].sum(axis=0), 1.0)


def test_counts_of_rates_near_zero_are_one_in_all():
    X, Y = planted(n=40)
    start = first_arrays(X, Y)
    start["W"] = np.zeros_like(start["W"])
    start["W"][-1] = -20.0  # the constant: every rate is about exp(-20)
    state, sums = expect_rows(ShardRows.from_matrices((X, Y, None)), None, start["V"], start["W"], start["r"], False)
    np.testing.assert_allclose(state["m"].sum(axis=1), np.diff(Y.indptr), rtol=1e-6)
    np.testing.assert_allclose(sums["counts"].sum(axis=1), np.bincount(Y.indices, minlength=Y.shape[1]), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logistic_parts_have_all_their_digits(dtype):
    psi = np.array([0.0, 1e-30, 1e-6, 1e-4, -1e-4, 9.9e-5, 0.01, 0.13, 0.14, -0.2, 3.0, -30.0, 80.0, -700.0, 700.0])
    psi = psi.astype(dtype)[None]
    p, half, _ = logistic(psi)
    exact = psi.astype(np.longdouble)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        wanted_half = np.where(exact == 0, 0.25, np.tanh(exact / 2) / (2 * exact)).astype(float)
        wanted_p = (1 / (1 + np.exp(-exact))).astype(float)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(half, wanted_half, rtol=200 * eps)
    np.testing.assert_allclose(p, wanted_p, rtol=4 * eps, atol=np.finfo(dtype).tiny)


def test_a_full_mask_is_no_mask():
    X, Y = planted()
    start, full = first_arrays(X, Y), sp.csr_matrix(np.ones(Y.shape))
    plain, objectives = run(shards_of(X, Y, 3), start, 10)
    masked, same = run(shards_of(X, Y, 3, full), start, 10, masked=True)
    for name in ("V", "W"):
        np.testing.assert_allclose(masked[name], plain[name], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(same, objectives, rtol=1e-11)


def test_under_a_mask_the_objective_is_of_its_cells_and_never_falls():
    X, Y = planted()
    mask = np.random.default_rng(5).random(Y.shape) < 0.6
    mask[:10] = False
    hidden = sp.csr_matrix(Y.toarray() * mask)
    a = first_arrays(X, Y)
    _, objectives = run(shards_of(X, hidden, 3, sp.csr_matrix(mask * 1.0)), a, 40, masked=True)
    psi, s = X @ a["W"], np.maximum(mask @ a["V"], 1e-12)
    U = (a["r"] * np.exp(psi) + a["r"]) / (np.exp(-psi) + s)
    wanted = mean_objective(Y.toarray() > 0, U, a["V"], psi, a["W"], a["r"], a["tau"], 0.01, mask)
    assert objectives[0] == pytest.approx(wanted, rel=1e-11)
    assert _rises(objectives)
    assert objectives[-1] > objectives[0] + 50


def test_masked_topics_solve_their_equation():
    rng = np.random.default_rng(0)
    a, exposure = rng.gamma(0.3, 10.0, (30, 5)) + 0.01, rng.gamma(1.0, 50.0, (30, 5))
    V = masked_topics(a, exposure)
    np.testing.assert_allclose(V.sum(axis=0), 1.0, rtol=1e-13)
    nu = a / V - exposure  # one number a topic
    np.testing.assert_allclose(nu, np.tile(nu[0], (30, 1)), rtol=1e-7, atol=1e-7)


def test_a_run_resumed_from_a_checkpoint_ends_with_the_same_bits(tmp_path):
    X, Y = planted()
    start = first_arrays(X, Y, dtype=np.float32)
    learner = EM(EMSettings(tol=0.0), start)
    whole = train(learner, shards_of(X, Y, 3, dtype=np.float32), max_rounds=9)
    kept = Checkpoints(tmp_path, "bmlpl", every_seconds=0.0)
    train(learner, shards_of(X, Y, 3, dtype=np.float32), max_rounds=4, checkpoints=kept)
    resumed = train(learner, shards_of(X, Y, 3, dtype=np.float32), max_rounds=9, checkpoints=kept)
    assert resumed.resumed_from == 4
    assert resumed.history == whole.history
    assert all(np.array_equal(resumed.arrays[name], whole.arrays[name]) for name in whole.arrays)


def test_it_ends_when_the_objective_stands_still():
    learner = EM(EMSettings(tol=1e-3), {})
    history = [{"objective": -100.0 / (1 + t)} for t in range(5)]
    assert not learner.done(history)
    assert learner.done(history + [{"objective": -20.0}] * 6)
