"""Passive-aggressive machines against scikit-learn's SGD form, one object per tag, fed the same rows in order."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from tagcore.baselines import PassiveAggressive
from tests.problems import noisy, official_split, precision, problems

RATES = {"hinge": "pa1", "squared_hinge": "pa2"}


def _peer(X, y, orders, loss, **params):
    """scikit-learn's machine of one tag after those passes."""
    given = {"loss": "hinge", "penalty": None, "learning_rate": RATES[loss], "shuffle": False}
    peer = SGDClassifier(**given, eta0=params.pop("C"), **params)
    for order in orders:
        peer.partial_fit(X[order], y[order], classes=[0, 1])
    return peer


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.05, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equals_scikit_learn(loss, C, fit_intercept):
    X, Y = noisy(n=400, tags=150)  # more tags than a shard holds
    model = PassiveAggressive(C=C, loss=loss, max_iter=3, fit_intercept=fit_intercept, random_state=4).fit(X, Y)
    rng = check_random_state(4)
    orders = [rng.permutation(X.shape[0]) for _ in range(3)]
    for tag in (0, 70, 148):
        y = (Y[:, [tag]].toarray().ravel() > 0).astype(int)
        peer = _peer(normalize(X), y, orders, loss, C=C, fit_intercept=fit_intercept)
        np.testing.assert_allclose(model.coef_[:, tag], peer.coef_[0], atol=2e-5)
        np.testing.assert_allclose(model.intercept_[tag], peer.intercept_[0], atol=2e-5)
        scores = next(model.score_blocks(X))[1][:, tag]
        np.testing.assert_allclose(scores, peer.decision_function(normalize(X)), atol=1e-4)


@given(problem=problems(), loss=st.sampled_from(["hinge", "squared_hinge"]), normalise=st.booleans())
def test_odd_rows_equal_scikit_learn(problem, loss, normalise):
    X, Y = problem
    model = PassiveAggressive(C=0.5, loss=loss, max_iter=1, shuffle=False, normalise=normalise).fit(X, Y)
    rows = normalize(X) if normalise else X
    for tag in range(Y.shape[1]):
        y = (Y[:, [tag]].toarray().ravel() > 0).astype(int)
        peer = _peer(rows, y, [slice(None)], loss, C=0.5)
        np.testing.assert_allclose(model.coef_[:, tag], peer.coef_[0], atol=1e-4)
        np.testing.assert_allclose(model.intercept_[tag], peer.intercept_[0], atol=1e-4)


@given(cuts=st.lists(st.integers(1, 149), max_size=5))
def test_a_stream_in_parts_is_one_pass(cuts):
    X, Y = noisy()
    whole = PassiveAggressive(max_iter=1, shuffle=False).fit(X, Y)
    stream = PassiveAggressive()
    for rows in np.split(np.arange(150), sorted(set(cuts))):
        stream.partial_fit(X[rows], Y[rows])
    assert np.array_equal(stream.coef_, whole.coef_)
    assert np.array_equal(stream.intercept_, whole.intercept_)


def test_a_stored_model_learns_on(tmp_path):
    X, Y = noisy()
    whole = PassiveAggressive().partial_fit(X, Y)
    PassiveAggressive().partial_fit(X[:90], Y[:90]).save(tmp_path / "model")
    resumed = PassiveAggressive.load(tmp_path / "model").partial_fit(X[90:], Y[90:])
    assert np.array_equal(resumed.coef_, whole.coef_)


def test_learning_on_after_fit_leaves_other_rows_alone():
    X, Y = noisy()
    model = PassiveAggressive(loss="hinge").fit(X, Y)
    before = model.coef_.copy()
    word = np.zeros((1, X.shape[1]))
    word[0, 3] = 1.0
    model.partial_fit(word, Y[1])
    changed = np.flatnonzero((model.coef_ != before).any(axis=1))
    assert changed.tolist() == [3]


def test_other_tags_or_words_are_refused_in_a_stream():
    X, Y = noisy()
    model = PassiveAggressive().partial_fit(X, Y)
    with pytest.raises(ValueError, match="y has 19 tags, the model 20"):
        model.partial_fit(X, Y[:, :-1])
    with pytest.raises(ValueError, match=r"X has 39 features, but .* is expecting 40"):
        model.partial_fit(X[:, :-1], Y)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_too_many_weights_are_refused_before_they_are_made(method):
    X, Y = sp.csr_matrix((2, 50_000)), sp.csr_matrix((2, 100_000))
    with pytest.raises(ValueError, match=r"50000 words × 100000 tags need 5000000000 weights \(18\.6 GiB\), more than"):
        getattr(PassiveAggressive(), method)(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be positive, got 0"),
        ({"C": np.inf}, "got inf"),
        ({"loss": "log"}, 'loss must be "squared_hinge" or "hinge", got \'log\''),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
    ],
)
def test_bad_parameters_are_named(params, message):
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(PassiveAggressive(**params), method)(*noisy())


@pytest.mark.data
def test_bibtex_with_default_parameters(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    tags, _ = PassiveAggressive().fit(X, Y).top_k(X_test, 5)
    assert precision(Y_test, tags, 1) >= 0.59
    assert precision(Y_test, tags, 5) >= 0.27
