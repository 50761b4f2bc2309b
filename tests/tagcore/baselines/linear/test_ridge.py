"""Ridge regression against scikit-learn's on a dense Y."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge as Peer
from sklearn.preprocessing import normalize

from tagcore.baselines import Ridge
from tests.problems import noisy, official_split, precision, problems

SOLVERS = {"cholesky": {"solver": "cholesky"}, "cg": {"solver": "cg", "tol": 1e-7}}
EITHER = pytest.mark.parametrize("params", SOLVERS.values(), ids=SOLVERS)


def _equal(model, X, Y):
    rows = normalize(X).toarray() if model.normalise else X.toarray()
    peer = Peer(alpha=model.alpha, fit_intercept=model.fit_intercept, solver="svd")
    peer.fit(rows, (Y.toarray() > 0).astype(float))
    np.testing.assert_allclose(model.coef_.T, peer.coef_.reshape(Y.shape[1], -1), atol=1e-5)
    np.testing.assert_allclose(model.intercept_, np.broadcast_to(peer.intercept_, Y.shape[1]), atol=1e-5)


@EITHER
@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equals_scikit_learn(params, alpha, fit_intercept):
    X, Y = noisy(n=300, words=60, tags=300)  # more tags than a shard holds
    _equal(Ridge(alpha=alpha, fit_intercept=fit_intercept, **params).fit(X, Y), X, Y)


@EITHER
def test_more_words_than_documents(params):
    X, Y = noisy(n=60, words=500)
    _equal(Ridge(alpha=0.5, **params).fit(X, Y), X, Y)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@given(problem=problems(), solver=st.sampled_from(list(SOLVERS)), normalise=st.booleans())
def test_odd_matrices_equal_scikit_learn(problem, solver, normalise):
    X, Y = problem
    _equal(Ridge(normalise=normalise, **SOLVERS[solver]).fit(X, Y), X, Y)


def test_scores_are_predictions_of_scikit_learn():
    X, Y = noisy()
    rows = normalize(X).toarray()
    peer = Peer(alpha=2.0, solver="svd").fit(rows, (Y.toarray() > 0).astype(float))
    np.testing.assert_allclose(next(Ridge(alpha=2.0).fit(X, Y).score_blocks(X))[1], peer.predict(rows), atol=1e-5)


def test_many_words_take_conjugate_gradients():
    X = sp.random(80, 7000, 0.01, format="csr", random_state=0)
    Y = noisy(n=80)[1]
    automatic, by_gradients = Ridge().fit(X, Y), Ridge(solver="cg").fit(X, Y)
    assert np.array_equal(automatic.coef_, by_gradients.coef_)
    _equal(Ridge(tol=1e-7).fit(X, Y), X, Y)


def test_too_few_restarts_are_reported():
    with pytest.warns(ConvergenceWarning, match=r"\d+ of 20 tags did not converge within max_iter=1 restarts"):
        Ridge(solver="cg", tol=1e-14, max_iter=1).fit(*noisy())


def test_too_many_weights_are_refused_before_they_are_made():
    X, Y = sp.csr_matrix((2, 50_000)), sp.csr_matrix((2, 100_000))
    with pytest.raises(ValueError, match=r"50000 words × 100000 tags need 5000000000 weights \(18\.6 GiB\), more than"):
        Ridge().fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, "alpha must be positive, got 0"),
        ({"alpha": np.nan}, "got nan"),
        ({"solver": "qr"}, 'solver must be "auto", "cholesky" or "cg", got \'qr\''),
        ({"solver": "cg", "tol": 0.0}, r"tol must be positive, got 0\.0"),
        ({"solver": "cg", "max_iter": 0}, "max_iter must be at least 1, got 0"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        Ridge(**params).fit(*noisy())


@pytest.mark.data
def test_bibtex_with_default_parameters(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    tags, _ = Ridge().fit(X, Y).top_k(X_test, 5)
    assert precision(Y_test, tags, 1) >= 0.6
    assert precision(Y_test, tags, 5) >= 0.27
