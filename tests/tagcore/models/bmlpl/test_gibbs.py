"""The Gibbs sampler of BMLPL: its agreement with EM, and that neither shards nor restarts matter."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import dirichlet
from sklearn.metrics import roc_auc_score

from tagcore.models.bmlpl.em import EM, EMSettings
from tagcore.models.bmlpl.gibbs import GibbsLearner, GibbsSettings, count_step, draw_topic_distributions
from tagcore.models.bmlpl.kernels.em import expect_counts
from tagcore.models.bmlpl.kernels.gibbs import draw_counts
from tagcore.models.bmlpl.scores import Draws, scores
from tagcore.numeric.read_only import freeze
from tagcore.shards import InProcess
from tagcore.training import Checkpoints, train
from tests.problems import problems
from tests.tagcore.models.bmlpl.problems import first_arrays, planted, shards_of


@pytest.fixture(scope="module")
def problem():
    return planted()


SHORT = GibbsSettings(burn_in=2, thin=1, keep=3, learn_r=True, learn_tau=True, exact_words=0, cg_tol=1e-9)


def chain(X, Y, setting=SHORT, parts=3, threads=1, seed=5, dtype=np.float64):
    learner = GibbsLearner(setting, first_arrays(X, Y, dtype=dtype), seed)
    shards = shards_of(X, Y, parts, dtype=dtype, executor=InProcess(threads))
    return train(learner, shards, max_rounds=setting.rounds)


@pytest.mark.parametrize("parts", [2, 7])
def test_partitions_change_nothing_but_rounding(problem, parts):
    one, more = chain(*problem, parts=1), chain(*problem, parts=parts)
    for name, values in one.arrays.items():
        np.testing.assert_allclose(more.arrays[name], values, rtol=1e-6 if "draws" in name else 1e-9, atol=1e-12)


def test_threads_do_not_change_a_bit(problem):
    one, more = chain(*problem), chain(*problem, threads=2)
    assert all(one.arrays[k].tobytes() == more.arrays[k].tobytes() for k in one.arrays)
    assert one.history == more.history


def test_seeds_matter(problem):
    assert not np.allclose(chain(*problem, seed=5).arrays["W"], chain(*problem, seed=6).arrays["W"])


class Killed(GibbsLearner):
    def round(self, shards, arrays, number):
        if number == 3:
            raise KeyboardInterrupt
        return super().round(shards, arrays, number)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_killed_chain_goes_on_with_the_same_bits(problem, tmp_path, dtype):
    checkpoints = Checkpoints(tmp_path / "c", "chain", every_seconds=0)

    def run(learner, checkpoints):
        start = first_arrays(*problem, dtype=dtype)
        shards = shards_of(*problem, 3, dtype=dtype)
        return train(learner(replace(SHORT, cg_tol=0.03), start, 5), shards, max_rounds=9, checkpoints=checkpoints)

    whole = run(GibbsLearner, None)
    with pytest.raises(KeyboardInterrupt):
        run(Killed, checkpoints)
    resumed = run(GibbsLearner, checkpoints)
    assert resumed.resumed_from == 3
    assert resumed.arrays["W"].dtype == dtype
    assert all(whole.arrays[k].tobytes() == resumed.arrays[k].tobytes() for k in whole.arrays)
    assert whole.history == resumed.history


@pytest.mark.parametrize(("burn_in", "thin", "keep"), [(0, 1, 1), (2, 3, 2), (3, 2, 0)])
def test_draws_are_kept_on_schedule(problem, burn_in, thin, keep):
    setting = GibbsSettings(burn_in=burn_in, thin=thin, keep=keep)
    learner, shards = GibbsLearner(setting, first_arrays(*problem), 1), shards_of(*problem)
    arrays, seen = learner.init(shards), []
    for number in range(setting.rounds):
        arrays, _ = learner.round(shards, arrays, number)
        seen.append(arrays["W"].astype(np.float32))
    expected = seen[burn_in + thin - 1 :: thin][:keep]
    np.testing.assert_array_equal(arrays["draws_W"], np.array(expected).reshape(keep, *arrays["W"].shape))
    assert len(arrays["draws_V"]) == len(arrays["draws_r"]) == keep
    assert learner.done([{}] * setting.rounds)


def test_conjugate_gradients_reach_the_exact_draw(problem):
    exact, tight = replace(SHORT, exact_words=100), SHORT
    np.testing.assert_allclose(chain(*problem, exact).arrays["W"], chain(*problem, tight).arrays["W"], atol=1e-6)


def test_the_tolerance_bounds_the_error_in_standard_deviations(problem):
    """S is the inverse of the posterior covariance, so error' S error is that in standard deviations, squared."""
    X, Y = problem
    solutions = []
    for tol in (1e-10, 0.05):
        learner, shards = GibbsLearner(replace(SHORT, cg_tol=tol), first_arrays(X, Y), 5), shards_of(X, Y)
        V, W, r, tau = (learner.init(shards)[name] for name in ("V", "W", "r", "tau"))
        shards.update(count_step, V=V, r=r, learn_r=False, key=np.uint64(1), table_key=np.uint64(2))
        solutions.append(learner._draw_weights(shards, W, r, tau, 0))
    (exact, steps), (rough, fewer) = solutions
    omega = shards.executor.get(shards.state)[0]["omega"]
    for k in range(4):
        S = (X.T @ (omega[:, [k]] * X.toarray())) + np.diag(tau)
        error = rough[:, k] - exact[:, k]
        assert 0.001 < np.sqrt(error @ S @ error / len(error)) < 0.1
    assert fewer < steps / 2


def test_expected_counts_are_those_of_em(problem):
    _, Y = problem
    rng = np.random.default_rng(0)
    U, V = rng.gamma(2.0, size=(Y.shape[0], 3)), rng.dirichlet(np.ones(Y.shape[1]), 3).T.copy()
    expected_m, expected, sweeps = np.zeros_like(U), np.zeros_like(V), 200
    given = freeze((Y.indices, Y.indptr, U, V))
    log_odds = expect_counts(*given, expected_m, expected)
    m, counts = np.zeros_like(U), np.zeros_like(V)
    for sweep in range(sweeps):
        before = m.sum(1)
        assert draw_counts(*given, np.uint64(sweep), 0, m, counts) == pytest.approx(log_odds)
        assert (m.sum(1) - before >= np.diff(Y.indptr)).all()
        assert ((m.sum(1) > before) == (np.diff(Y.indptr) > 0)).all()
    np.testing.assert_array_equal(m.sum(0), counts.sum(0))
    error = (counts / sweeps - expected) / np.sqrt(expected / sweeps + 1e-12)
    assert np.abs(error).max() < 5  # a count varies less than a Poisson of its mean plus one


def test_topics_have_the_dirichlet_mean_even_where_gammas_vanish():
    counts = np.array([[0.0, 3.0], [2.0, 0.0], [0.0, 0.0]])
    law = [dirichlet(0.01 + column) for column in counts.T]
    drawn = np.array([draw_topic_distributions(0.01 + counts, np.uint64(i), np.dtype(np.float64)) for i in range(4000)])
    assert (drawn > 0).all()
    np.testing.assert_allclose(drawn.sum(1), 1.0, rtol=1e-12)
    for k in range(2):
        error = (drawn[:, :, k].mean(0) - law[k].mean()) / np.sqrt(law[k].var() / 4000)
        assert np.abs(error).max() < 4


@settings(max_examples=15)
@given(problems())
def test_odd_input_gives_finite_draws(problem):
    X, Y = problem
    trained = chain(X, Y, replace(SHORT, keep=2), dtype=np.float32)
    assert all(np.isfinite(v).all() for v in trained.arrays.values())
    np.testing.assert_allclose(trained.arrays["V"].sum(0), 1.0, rtol=1e-5)
    assert (trained.arrays["V"] > 0).all()


def auc(Y, scores):
    rows = [i for i in range(len(Y)) if 0 < Y[i].sum() < Y.shape[1]]
    return np.mean([roc_auc_score(Y[i], scores[i]) for i in rows])


def test_agrees_with_em():
    X, Y = planted(1000)
    X_test, Y_test = X[700:], Y[700:].toarray() > 0
    start, shards = first_arrays(X, Y), shards_of(X[:700], Y[:700])
    em = train(EM(EMSettings(cg_steps=5), start), shards, max_rounds=60).arrays
    by_em = scores(X_test, Draws(em["V"].T.copy()[None], em["W"][None], em["r"][None]), 1.0)
    setting = GibbsSettings(burn_in=60, thin=4, keep=15, exact_words=0)
    arrays = train(GibbsLearner(setting, start, 1), shards, max_rounds=setting.rounds).arrays
    draws = Draws(arrays["draws_V"].transpose(0, 2, 1).copy(), arrays["draws_W"], arrays["draws_r"])
    by_gibbs = scores(X_test, draws, 1.0)
    assert np.corrcoef(-np.expm1(-by_em).ravel(), -np.expm1(-by_gibbs).ravel())[0, 1] > 0.8
    assert abs(auc(Y_test, by_gibbs) - auc(Y_test, by_em)) < 0.03
    assert auc(Y_test, by_gibbs) > 0.75
