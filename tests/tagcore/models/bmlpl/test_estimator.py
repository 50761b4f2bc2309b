"""The estimator: what it keeps, goes on from, refuses, and how well it does on real data."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.features.rows import InMemory
from tagcore.metrics.auc import roc_auc
from tagcore.models import BMLPL
from tagcore.models.bmlpl.initial import grown_arrays
from tagcore.models.bmlpl.validation import validation_split
from tagcore.shards import InProcess
from tests.problems import official_split, problems
from tests.tagcore.models.bmlpl.problems import planted


def _auc(model, X, Y):
    return roc_auc(Y, lambda: model.score_blocks(X)).row


def _arrays(model):
    return {name: getattr(model, name).copy() for name in BMLPL._arrays}


def _same(one, two):
    return all(np.array_equal(one[name], two[name]) for name in BMLPL._arrays)


def test_it_learns_a_planted_problem():
    X, Y = planted(n=1600)
    model = BMLPL(n_topics=4).fit(X[:1200], Y[:1200])
    assert _auc(model, X[1200:], Y[1200:]) > 0.8
    assert model.topics_.shape == (18, 4)
    assert model.weights_.shape == (26, 4)
    np.testing.assert_allclose(model.topics_.sum(axis=0), 1.0, rtol=1e-5)
    assert (np.diff(model.history_) > 0).all()
    assert model.n_iter_ == len(model.history_) <= 100


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "geo"},
        {"objective": "geo", "learn_r": True},
        {"solver": "exact"},
        {"learn_tau": True},
        {"dtype": "float64"},
        {"normalise": False, "fit_intercept": False},
        {"inference": "online", "max_iter": 30},
        {"inference": "online", "solver": "exact", "max_iter": 30},
        {"inference": "gibbs", "n_draws": 5},
    ],
    ids=str,
)
def test_every_way_learns_and_comes_back_from_disk(options, tmp_path):
    X, Y = planted(n=800)
    model = BMLPL(n_topics=4, **options).fit(X[:600], Y[:600])
    assert _auc(model, X[600:], Y[600:]) > 0.75
    model.save(tmp_path / "model")
    stored = BMLPL.load(tmp_path / "model")
    assert _same(_arrays(stored), _arrays(model))
    assert np.array_equal(stored.predict_proba(X), model.predict_proba(X))
    two = BMLPL(n_topics=4, **options).fit(X[:600], Y[:600], executor=InProcess(2))
    assert _same(_arrays(two), _arrays(model))


def test_warm_start_goes_on_with_the_same_bits_from_disk(tmp_path):
    X, Y = planted()
    model = BMLPL(n_topics=4, max_iter=5, warm_start=True).fit(X, Y)
    model.save(tmp_path / "model")
    stored = BMLPL.load(tmp_path / "model").fit(X, Y)
    first = model.history_[-1]
    model.fit(X, Y)
    assert _same(_arrays(stored), _arrays(model))
    assert stored.history_ == model.history_
    assert model.history_[-1] > first
    assert BMLPL(n_topics=4, max_iter=5).fit(X, Y).history_[-1] == first


def test_warm_start_takes_new_tags_and_words():
    X, Y = planted(n=700)
    model = BMLPL(n_topics=4, warm_start=True, max_iter=40).fit(X[:300, :20], Y[:300, :15])
    model.fit(X[:600], Y[:600])
    assert model.topics_.shape == (18, 4)
    assert model.weights_.shape == (26, 4)
    assert _auc(model, X[600:], Y[600:]) > 0.75
    with pytest.raises(ValueError, match="fitted model has 18 tags and 25 words, the data only 15 and 25"):
        model.fit(X, Y[:, :15])
    with pytest.raises(ValueError, match="fit_intercept is not what it was"):
        model.set_params(fit_intercept=False).fit(X, Y)


def test_new_rows_are_those_of_the_prior():
    fitted = {
        "V": np.array([[0.75, 0.5], [0.25, 0.5]]),
        "W": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "counts": np.array([[6.0, 1.0], [2.0, 1.0]]),
        "curvature": np.array([[5.0, 6.0], [7.0, 8.0]]),
        "r": np.ones(2),
        "tau": np.array([3.0, 0.1]),
    }
    grown = grown_arrays(fitted, np.array([9.0, 9.0, 0.2]), 4, eta=0.5, constant=True, keep_tau=True)
    np.testing.assert_allclose(grown["V"][2:], [[0.05, 0.125]] * 2)  # eta / (eta L + m_k)
    np.testing.assert_allclose(grown["V"].sum(axis=0), 1.0)
    np.testing.assert_allclose(grown["V"][0] / grown["V"][1], [3.0, 1.0])
    assert grown["W"].tolist() == [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]
    assert grown["curvature"].tolist() == [[5.0, 6.0], [0.0, 0.0], [7.0, 8.0]]
    assert grown["counts"].tolist() == [[6.0, 1.0], [2.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert grown["tau"].tolist() == [3.0, 9.0, 0.2]
    unchanged = grown_arrays(fitted, fitted["tau"], 2, eta=0.5, constant=True, keep_tau=False)
    assert all(np.array_equal(unchanged[name], fitted[name]) for name in fitted)


def test_early_stopping_keeps_the_best_iteration():
    X, Y = planted(n=500)
    loose = {"n_topics": 12, "tau": 1e-3, "tol": 0.0, "max_iter": 60}
    model = BMLPL(early_stopping=True, validation_fraction=0.3, patience=4, **loose).fit(X, Y)
    assert model.n_iter_ < 60
    aucs = []
    again = BMLPL(early_stopping=True, validation_fraction=0.3, patience=4, **loose)
    again.fit(X, Y, progress=lambda done, total, measures: aucs.append(measures["auc"]))
    best = int(np.argmax(aucs[: again.n_iter_]))
    assert again.n_iter_ == best + 1 + 4
    shorter = BMLPL(early_stopping=True, validation_fraction=0.3, patience=60, **loose)
    shorter.set_params(max_iter=best + 1).fit(X, Y)
    assert _same(_arrays(shorter), _arrays(again))


def test_early_stopping_does_not_learn_from_the_rows_that_it_holds_out():
    X, Y = planted(n=200)
    model = BMLPL(n_topics=4, max_iter=1, early_stopping=True, validation_fraction=0.3)
    held_out, training = validation_split(200, 0.3, model._seed())
    others = X.toarray(), Y.toarray()
    others[0][held_out], others[1][held_out] = others[0][held_out][::-1], np.roll(others[1][held_out], 1, axis=1)
    fitted = model.fit(X, Y)
    assert fitted.rows_seen_ == training.size == 140
    before = _arrays(fitted)
    assert _same(before, _arrays(model.fit(*others)))
    others[1][training[0]] = 1 - others[1][training[0]]
    assert not _same(before, _arrays(model.fit(*others)))


def test_a_mask_beats_zeros_where_whole_columns_were_not_looked_at():
    X, Y = planted(n=1500)
    looked = np.ones(Y.shape, bool)
    looked[:900, ::2] = False  # early documents were only checked for every other tag
    hidden = sp.csr_matrix(Y.toarray() * looked)
    zeros = BMLPL(n_topics=4).fit(X[:1200], hidden[:1200])
    mask = BMLPL(n_topics=4, missing="mask").fit(X[:1200], hidden[:1200], observed=looked[:1200])
    same = BMLPL(n_topics=4).fit(X[:1200], Y[:1200], observed=sp.csr_matrix(looked[:1200]))
    assert _same(_arrays(same), _arrays(zeros))
    assert _auc(mask, X[1200:], Y[1200:]) > _auc(zeros, X[1200:], Y[1200:]) + 0.02


def test_the_observed_rate_raises_probabilities_to_what_all_tags_would_give():
    X, Y = planted(n=3000, constant=-3.0)
    shown = sp.csr_matrix(Y.toarray() * (np.random.default_rng(0).random(Y.shape) < 0.3))
    model = BMLPL(n_topics=4, observed_rate=0.3).fit(X, shown)
    raised = model.predict_proba(X).sum()
    assert raised == pytest.approx(Y.sum(), rel=0.15)
    assert model.set_params(observed_rate=1.0).predict_proba(X).sum() < 0.5 * raised


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_topics": 19}, "n_topics must be 1 to 18, the number of tags, got 19"),
        ({"n_topics": 0}, "n_topics must be 1 to 18"),
        ({"n_topics": 1.5}, r"share of the tags in \(0, 1\], got 1.5"),
        ({"inference": "vb"}, 'inference must be "em", "online" or "gibbs", got \'vb\''),
        ({"objective": "map"}, 'objective must be "mean" or'),
        ({"solver": "lbfgs"}, 'solver must be "cg" or'),
        ({"missing": "nan"}, 'missing must be "zeros" or'),
        ({"dtype": "float16"}, 'dtype must be "float32" or'),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"cg_steps": 1.5}, "cg_steps must be a whole number"),
        ({"eta": 0.0}, "eta must be positive, got 0.0"),
        ({"r": np.nan}, "r must be positive, got nan"),
        ({"tau": -1.0}, "tau must be positive or None"),
        ({"kappa": 0.5}, "kappa must be above 0.5"),
        ({"observed_rate": 0.0}, "observed_rate must be above 0"),
        ({"burn_in": -1}, "burn_in must be at least 0"),
        ({"n_draws": 0}, "n_draws must be at least 1, got 0"),
        ({"learn_r": True}, 'learn_r needs objective="geo"'),
        ({"missing": "mask"}, "needs the argument observed"),
        ({"missing": "mask", "objective": "geo"}, 'needs objective="mean"'),
        ({"inference": "online", "early_stopping": True}, 'early_stopping=True needs inference="em"'),
        ({"inference": "gibbs", "missing": "mask"}, "missing='mask' needs inference=\"em\", got 'gibbs'"),
        ({"max_weights": 50}, "26 words × 4 topics are more than max_weights=50"),
    ],
    ids=str,
)
def test_bad_parameters_are_named_and_leave_the_fitted_model(options, message):
    X, Y = planted()
    model = BMLPL(n_topics=4, max_iter=3).fit(X, Y)
    kept, proba = vars(model).copy(), model.predict_proba(X)
    model.set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert set(vars(model)) == set(kept)
    assert model.n_labels_ == 18
    model.set_params(**{name: kept[name] for name in options})
    assert np.array_equal(model.predict_proba(X), proba)


def test_a_failed_fit_on_other_data_leaves_the_fitted_model():
    X, Y = planted()
    model = BMLPL(n_topics=4, max_iter=3).fit(X, Y)
    proba = model.predict_proba(X)
    with pytest.raises(ValueError, match="n_topics must be 1 to 3"):
        model.fit(X[:, :5], Y[:, :3])
    assert np.array_equal(model.predict_proba(X), proba)

    def interrupt(done, total, measures):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :5], Y, progress=interrupt)
    assert np.array_equal(model.predict_proba(X), proba)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_state_that_is_not_finite_ends_training():
    X, Y = planted()
    huge = sp.csr_matrix(X * 1e30)
    model = BMLPL(n_topics=4, max_iter=3).fit(X, Y)
    proba = model.predict_proba(X)
    with pytest.raises(FloatingPointError, match=r"round 0: array .* not finite"):
        model.set_params(normalise=False).fit(huge, Y)
    assert np.array_equal(model.set_params(normalise=True).predict_proba(X), proba)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (np.zeros((300, 18)), "observed hides every cell of y"),
        (np.ones((300, 17)), r"observed has shape \(300, 17\), expected that of y, \(300, 18\)"),
        (np.full((300, 18), np.nan), "observed contains NaN"),
    ],
)
def test_bad_masks_are_named(observed, message):
    X, Y = planted()
    with pytest.raises(ValueError, match=message):
        BMLPL(missing="mask").fit(X, Y, observed=observed)


def test_an_exact_solver_of_too_many_words_is_named():
    with pytest.raises(ValueError, match='solver="exact" takes up to 2048 words, got 2100'):
        BMLPL(solver="exact", fit_intercept=False).fit(sp.identity(2100, format="csr"), np.ones((2100, 1)))


def test_a_validation_part_without_tags_is_named():
    X, Y = planted()
    with pytest.raises(ValueError, match="none of the 30 rows held out has a tag and lacks one"):
        BMLPL(early_stopping=True).fit(X, sp.csr_matrix(Y.shape))
    with pytest.raises(ValueError, match="early_stopping needs at least 2 rows, got 1"):
        BMLPL(early_stopping=True).fit(X[:1], Y[:1])


@settings(max_examples=15)
@given(problem=problems(), data=st.data())
def test_odd_matrices_in_every_mode(problem, data):
    X, Y = problem
    inference = data.draw(st.sampled_from(["em", "online", "gibbs"]))
    options = {"inference": inference, "max_iter": 3, "burn_in": 1, "n_draws": 2, "thin": 1}
    if inference == "em":
        options |= data.draw(
            st.sampled_from([{"solver": "exact"}, {"objective": "geo", "learn_r": True}, {"missing": "mask"}])
        )
    observed = np.ones(Y.shape) if options.get("missing") == "mask" else None
    model = BMLPL(normalise=False, **options).fit(X, Y, observed=observed)
    proba = model.predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()
    model.partial_fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("settings", [{}, {"inference": "online"}, {"tau": 2.0, "normalise": False}])
def test_rows_elsewhere_give_the_same_bits(settings):
    X, Y = planted(n=900)
    one = BMLPL(n_topics=4, max_iter=4, **settings).fit(X, Y)
    other = BMLPL(n_topics=4, max_iter=4, **settings).fit_rows(InMemory(X, Y), executor=InProcess(2))
    for name in one._arrays:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_topics_are_a_share_of_the_tags():
    X, Y = planted(n=60)
    assert BMLPL(max_iter=1).fit(X, Y).topics_.shape[1] == 18
    wide = sp.csr_matrix(np.eye(100))
    assert BMLPL(max_iter=1).fit(wide, wide).topics_.shape[1] == 40
    assert BMLPL(max_iter=1).fit(wide[:, :50], wide[:, :50]).topics_.shape[1] == 32
    assert BMLPL(max_iter=1, n_topics=0.1).fit(wide, wide).topics_.shape[1] == 10


@pytest.mark.data
@pytest.mark.slow
def test_bibtex_as_measured(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    model = BMLPL(n_topics=64, max_iter=60, normalise=False, tau=10.0).fit(X, Y)
    assert _auc(model, X_test, Y_test) > 0.918
