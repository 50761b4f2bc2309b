"""One-vs-rest logistic regression against scikit-learn, which solves the same problem tag by tag."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from tagcore.baselines import OneVsRestLogistic
from tagcore.baselines.linear.newton import LANES
from tests.problems import nearly_linear, noisy, official_split, precision, problems, weights_of

EXACT = {"tol": 1e-7, "prune": 0.0}


def _truth(Y, tag):
    return Y[:, [tag]].toarray().ravel() > 0


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize(("fit_intercept", "solver"), [(True, "lbfgs"), (False, "lbfgs"), (False, "liblinear")])
def test_equals_scikit_learn(C, fit_intercept, solver):
    X, Y = nearly_linear()
    model = OneVsRestLogistic(C=C, fit_intercept=fit_intercept, **EXACT).fit(X, Y)
    scores = next(model.score_blocks(X))[1]
    for tag in (0, 2, 4):
        peer = LogisticRegression(C=C, fit_intercept=fit_intercept, solver=solver, tol=1e-9, max_iter=10_000)
        peer.fit(normalize(X), _truth(Y, tag))
        np.testing.assert_allclose(weights_of(model)[:, tag], peer.coef_[0], atol=1e-4)
        np.testing.assert_allclose(model.intercept_[tag], peer.intercept_, atol=1e-4)
        np.testing.assert_allclose(scores[:, tag], peer.decision_function(normalize(X)), atol=1e-4)


def test_the_default_tolerance_is_close():
    X, Y = nearly_linear()
    loose, exact = OneVsRestLogistic(prune=0).fit(X, Y), OneVsRestLogistic(**EXACT).fit(X, Y)
    assert np.abs(loose.predict_proba(X) - exact.predict_proba(X)).max() < 0.02


def test_rows_are_taken_as_they_are_on_request():
    X, Y = nearly_linear(400)
    model = OneVsRestLogistic(normalise=False, C=0.1, **EXACT).fit(X, Y)
    peer = LogisticRegression(C=0.1, tol=1e-9, max_iter=10_000).fit(X, _truth(Y, 0))
    np.testing.assert_allclose(weights_of(model)[:, 0], peer.coef_[0], atol=1e-4)


def test_probabilities_add_up_to_the_documents_of_a_tag():
    X, Y = nearly_linear()
    proba = OneVsRestLogistic(**EXACT).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=0), Y.sum(axis=0).A1, rtol=1e-4)


def test_a_machine_does_not_depend_on_its_neighbours():
    X, Y = noisy(n=600, tags=3 * LANES)  # so that solved tags make room for others
    alone = sp.csr_matrix(Y.multiply(np.arange(3 * LANES) == 23))
    together, single = OneVsRestLogistic().fit(X, Y), OneVsRestLogistic().fit(X, alone)
    assert np.array_equal(weights_of(together)[:, 23], weights_of(single)[:, 23])
    assert together.intercept_[23] == single.intercept_[23]


def test_separable_documents_converge_at_any_cost():
    X, Y = sp.csr_matrix(np.eye(6)), sp.csr_matrix(np.eye(6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OneVsRestLogistic(C=1e6, **EXACT).fit(X, Y)
    peer = LogisticRegression(C=1e6, tol=1e-10, max_iter=100_000).fit(X, np.arange(6) == 0)
    np.testing.assert_allclose(next(model.score_blocks(X))[1][:, 0], peer.decision_function(X), rtol=1e-3)


def test_words_that_say_nothing_leave_the_share_of_the_tag():
    X, Y = np.ones((10, 3)), np.zeros((10, 1))
    Y[:3] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(OneVsRestLogistic().fit(X, Y).predict_proba(X), 0.3)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@given(problem=problems(), normalise=st.booleans(), tol=st.sampled_from([1e-2, 1e-7]))
def test_odd_matrices_converge(problem, normalise, tol):
    X, Y = problem
    proba = OneVsRestLogistic(normalise=normalise, tol=tol, prune=0).fit(X, Y).predict_proba(X)
    if tol < 1e-3:
        np.testing.assert_allclose(proba.sum(axis=0), (Y > 0).sum(axis=0).A1, atol=1e-3)


def test_pruning_drops_small_weights_and_nothing_else():
    X, Y = nearly_linear()
    whole, pruned = OneVsRestLogistic(prune=0).fit(X, Y), OneVsRestLogistic(prune=0.5).fit(X, Y)
    wanted = np.where(np.abs(weights_of(whole)) >= np.float32(0.5), weights_of(whole), 0)
    assert np.array_equal(weights_of(pruned), wanted)
    assert 0 < pruned.coef_data_.size < whole.coef_data_.size


def test_too_few_steps_are_reported():
    with pytest.warns(ConvergenceWarning, match=r"\d+ of 5 tags did not converge within max_iter=1 passes"):
        assert OneVsRestLogistic(max_iter=1, tol=1e-9).fit(*nearly_linear(300)).n_iter_ == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be positive, got 0"),
        ({"C": np.inf}, "got inf"),
        ({"tol": 0.0}, r"tol must be positive, got 0\.0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"prune": -1}, "prune must be at least 0, got -1"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        OneVsRestLogistic(**params).fit(*noisy())


@pytest.mark.data
def test_bibtex_with_default_parameters(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    tags, _ = OneVsRestLogistic().fit(X, Y).top_k(X_test, 5)
    assert precision(Y_test, tags, 1) >= 0.61
    assert precision(Y_test, tags, 5) >= 0.27
