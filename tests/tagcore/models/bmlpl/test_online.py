"""Online EM of BMLPL: one full minibatch is an iteration of batch EM, several come near it, and streams go on."""

import itertools

import numpy as np
import pytest

from tagcore.metrics.auc import roc_auc
from tagcore.models import BMLPL
from tagcore.models.bmlpl.em import EMSettings
from tagcore.models.bmlpl.online import OnlineEM
from tagcore.shards import InProcess
from tests.tagcore.models.bmlpl.problems import first_arrays, planted, run, shards_of


def _online(start, X, Y, rounds, parts=1, executor=None, **options):
    shards = shards_of(X, Y, parts, dtype=start["W"].dtype, executor=executor)
    learner = OnlineEM(options.pop("settings", EMSettings()), start, X.shape[0], **options)
    arrays = learner.init(shards)
    for number in range(rounds):
        arrays, _ = learner.round(shards, arrays, number)
    return arrays


@pytest.mark.parametrize("parts", [1, 3])
def test_one_full_minibatch_is_an_exact_iteration_of_batch_em(parts):
    X, Y = planted()
    start = first_arrays(X, Y)
    batch, _ = run(shards_of(X, Y), start, 1, cg_steps=0)
    online = _online(start, X, Y, 1, parts, settings=EMSettings(cg_steps=0), inner=1)
    for name in ("V", "W", "counts", "curvature"):
        np.testing.assert_allclose(online[name], batch[name], rtol=1e-8, atol=1e-10)


def test_the_diagonal_form_begins_with_an_iteration_of_five_conjugate_gradient_steps():
    X, Y = planted()
    start = first_arrays(X, Y)
    batch, _ = run(shards_of(X, Y), start, 1, cg_steps=5)
    online = _online(start, X, Y, 1, inner=1)
    for name in ("V", "W"):
        np.testing.assert_allclose(online[name], batch[name], rtol=1e-8, atol=1e-10)


def test_averages_are_those_of_the_recursion():
    X, Y = planted()
    start = first_arrays(X, Y)
    one, two = (_online(start, X, Y, rounds, batches=4, kappa=0.7, t0=3.0) for rounds in (1, 2))
    shards = shards_of(X, Y)
    again = OnlineEM(EMSettings(), {**start, "V": one["V"], "W": one["W"]}, X.shape[0], batches=4)
    second, _ = again.round(shards, again.init(shards), 1)  # minibatch 1 from no past, with another weight
    gamma, other = (1 + 3.0) ** -0.7, (1 + again.t0) ** -again.kappa
    np.testing.assert_allclose(two["counts"], (1 - gamma) * one["counts"] + gamma * second["counts"] / other, rtol=1e-9)


def test_a_minibatch_stands_for_all_rows_known():
    """its sums are scaled by N/|B|: with three times the rows known they count three times."""
    X, Y = planted()
    shards, start = shards_of(X, Y), first_arrays(X, Y)
    known, thrice = (OnlineEM(EMSettings(), start, n) for n in (X.shape[0], 3 * X.shape[0]))
    one, three = (learner.round(shards, learner.init(shards), 0)[0] for learner in (known, thrice))
    for name in ("counts", "curvature"):
        np.testing.assert_allclose(three[name], 3 * one[name], rtol=1e-12)
    np.testing.assert_allclose(one["counts"].sum(axis=1)[Y.sum(axis=0).A1 == 0], 0)
    assert one["counts"].sum() >= Y.nnz  # a positive has at least one latent count


def test_a_pass_takes_every_row_once():
    X, Y = planted(n=50)
    shards = shards_of(X, Y, 3)
    start = first_arrays(X, Y)
    learner = OnlineEM(EMSettings(), start, 50, batches=4)
    arrays, seen = learner.init(shards), []
    for number in range(4):
        arrays, _ = learner.round(shards, arrays, number)
        for state in shards.executor.get(shards.state):
            starts, data = state["batch_indptr"], state["batch_data"]
            seen += [data[a:b].tobytes() for a, b in itertools.pairwise(starts)]
    assert sorted(seen) == sorted(X[i].data.tobytes() for i in range(50))


@pytest.mark.parametrize(("cg_steps", "gap"), [(0, 0.02), (2, 0.04)], ids=["whole", "diagonal"])
def test_minibatches_come_near_batch_em(cg_steps, gap):
    X, Y = planted(n=2400)
    X, X_test, Y, Y_test = X[:1200], X[1200:], Y[:1200], Y[1200:]
    start = first_arrays(X, Y)
    start["W"] = np.zeros_like(start["W"])
    batch, _ = run(shards_of(X, Y), start, 100)
    online = _online(start, X, Y, 6 * 20, batches=6, settings=EMSettings(cg_steps=cg_steps))
    aucs = []
    for arrays in (batch, online, start):
        scores = np.log1p(np.exp(X_test @ arrays["W"])[:, None, :] * arrays["V"]) @ arrays["r"]
        aucs.append(roc_auc(Y_test, lambda s=scores: [(slice(0, 1200), s)]).row)
    assert aucs[1] > aucs[0] - gap
    assert aucs[1] > aucs[2] + 0.2


def test_threads_change_no_bit():
    X, Y = planted()
    start = first_arrays(X, Y, dtype=np.float32)
    one, two = (_online(start, X, Y, 6, 4, InProcess(t), batches=3) for t in (1, 2))
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_a_stream_of_batches_learns_and_its_stored_model_goes_on_with_the_same_bits(tmp_path):
    X, Y = planted(n=900)
    model = BMLPL(n_topics=4, random_state=3)
    for first in range(0, 600, 100):
        model.partial_fit(X[first : first + 100], Y[first : first + 100])
    assert model.rows_seen_ == 600
    assert model.updates_ == len(model.history_) == 6
    assert roc_auc(Y[600:], lambda: model.score_blocks(X[600:])).row > 0.75
    model.save(tmp_path / "model")
    stored = BMLPL.load(tmp_path / "model")
    for one in (model, stored):
        one.partial_fit(X[600:700], Y[600:700])
    assert all(np.array_equal(getattr(model, name), getattr(stored, name)) for name in BMLPL._arrays)
    assert model.history_ == stored.history_


def test_a_fitted_model_learns_on_from_a_stream():
    X, Y = planted(n=900)
    fitted = BMLPL(n_topics=4).fit(X[:600], Y[:600])
    before = roc_auc(Y[700:], lambda: fitted.score_blocks(X[700:])).row
    assert fitted.updates_ == 3 * fitted.n_iter_
    fitted.partial_fit(X[600:700], Y[600:700])
    assert roc_auc(Y[700:], lambda: fitted.score_blocks(X[700:])).row > before - 0.01


def test_a_batch_of_other_width_is_named_and_changes_nothing():
    X, Y = planted()
    model = BMLPL(n_topics=4).partial_fit(X, Y)
    kept = {name: getattr(model, name).copy() for name in BMLPL._arrays}
    with pytest.raises(ValueError, match="y has 17 tags, the model 18"):
        model.partial_fit(X, Y[:, :-1])
    with pytest.raises(ValueError, match="24 features, but BMLPL is expecting 25"):
        model.partial_fit(X[:, :-1], Y)
    assert all(np.array_equal(getattr(model, name), kept[name]) for name in kept)
    with pytest.raises(ValueError, match="y contains NaN"):
        BMLPL().partial_fit(X, Y * np.nan)


def test_fit_online_takes_minibatches():
    X, Y = planted(n=600)
    model = BMLPL(n_topics=4, inference="online", batch_rows=100, max_iter=4).fit(X, Y)
    assert model.n_iter_ == model.updates_ == 24
    again = BMLPL(n_topics=4, inference="online", batch_rows=100, max_iter=4).fit(X, Y, executor=InProcess(2))
    assert np.array_equal(model.weights_, again.weights_)
