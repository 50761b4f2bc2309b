"""One-vs-rest machines against liblinear, which solves the same problem."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.baselines import OneVsRestLinear
from tagcore.baselines.linear import one_vs_rest
from tagcore.baselines.linear.working_set import WorkingSetSettings, shared_rows, solve_by_working_sets
from tests.problems import nearly_linear, noisy, official_split, precision, weights_of

EXACT = {"tol": 1e-5, "prune": 0.0, "max_iter": 100_000}


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equals_liblinear(loss, class_weight, fit_intercept):
    X, Y = nearly_linear()
    same = {"C": 0.7, "loss": loss, "class_weight": class_weight, "fit_intercept": fit_intercept}
    model = OneVsRestLinear(**same, **EXACT).fit(X, Y)
    weights = weights_of(model)
    for tag in (0, 2, 4):
        peer = LinearSVC(**same, dual=True, tol=1e-6, max_iter=100_000, random_state=0)
        peer.fit(normalize(X), Y[:, [tag]].toarray().ravel())
        np.testing.assert_allclose(weights[:, tag], peer.coef_[0], atol=2e-4)
        np.testing.assert_allclose(model.intercept_[tag], peer.intercept_, atol=2e-4)
        np.testing.assert_allclose(
            np.concatenate([s for _, s in model.score_blocks(X)])[:, tag],
            peer.decision_function(normalize(X)),
            atol=1e-3,
        )


def test_the_default_tolerance_is_close_to_liblinear():
    X, Y = nearly_linear()
    scores = next(OneVsRestLinear().fit(X, Y).score_blocks(X))[1]
    peer = LinearSVC(C=0.5, dual=True, tol=1e-6, max_iter=100_000).fit(normalize(X), Y[:, [1]].toarray().ravel())
    assert np.abs(scores[:, 1] - peer.decision_function(normalize(X))).max() < 0.1


def test_rows_are_taken_as_they_are_on_request():
    X, Y = nearly_linear(400)
    model = OneVsRestLinear(normalise=False, C=0.1, **EXACT).fit(X, Y)
    peer = LinearSVC(C=0.1, dual=True, tol=1e-6, max_iter=100_000).fit(X, Y[:, [0]].toarray().ravel())
    np.testing.assert_allclose(weights_of(model)[:, 0], peer.coef_[0], atol=2e-4)


def test_a_machine_does_not_depend_on_its_neighbours():
    X, Y = noisy(n=600, tags=40)
    alone = sp.csr_matrix(Y.multiply(np.arange(40) == 23))
    together, single = OneVsRestLinear().fit(X, Y), OneVsRestLinear().fit(X, alone)
    assert np.array_equal(weights_of(together)[:, 23], weights_of(single)[:, 23])
    assert together.intercept_[23] == single.intercept_[23]


def test_machines_that_begin_roughly_end_as_closely_as_asked():
    X, Y = nearly_linear()
    X, tol = normalize(X), 1e-3
    settings = WorkingSetSettings(tol=tol, max_iter=1000, prune=0.0, cost=0.5, squared=True, balanced=False, seed=3)
    carriers = np.split(Y.tocsc().indices, Y.tocsc().indptr[1:-1])
    with_constant = sp.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    for tag, weights, _, gap in solve_by_working_sets(settings, np.arange(5), carriers, shared_rows(X, True, 3)):
        signs = np.where(Y[:, [tag]].toarray().ravel() > 0, 1.0, -1.0)
        alphas = np.maximum(1.0 - signs * (with_constant @ weights), 0.0)  # the best ones, as 2 C is 1
        assert gap <= tol
        assert (np.abs(weights - with_constant.T @ (signs * alphas)) <= tol * with_constant.sum(axis=0).A1).all()


def test_a_twin_is_the_same_model_solved_less_closely():
    model = OneVsRestLinear(C=3.0, random_state=5)
    assert model.twin().get_params() == model.get_params() | {"tol": 0.1}
    assert OneVsRestLinear(tol=0.5).twin().tol == 0.5
    assert model.tol == 0.01


def test_the_seed_sets_the_path_but_not_the_end():
    X, Y = nearly_linear()
    first, again = (weights_of(OneVsRestLinear(random_state=1).fit(X, Y)) for _ in range(2))
    other, ends = OneVsRestLinear(random_state=2), []
    assert np.array_equal(first, again)
    assert not np.array_equal(first, weights_of(other.fit(X, Y)))
    for seed in (1, 2):
        ends.append(weights_of(OneVsRestLinear(random_state=seed, **EXACT).fit(X, Y)))
    np.testing.assert_allclose(*ends, atol=1e-4)


def test_every_tag_visits_documents_in_an_order_of_its_own():
    X, Y = nearly_linear()
    first, second = weights_of(OneVsRestLinear().fit(X, Y[:, [1, 1]])).T
    assert not np.array_equal(first, second)
    np.testing.assert_allclose(first, second, atol=0.1)


def test_pruning_drops_small_weights_and_nothing_else():
    X, Y = nearly_linear()
    whole, pruned = OneVsRestLinear(prune=0).fit(X, Y), OneVsRestLinear(prune=0.2).fit(X, Y)
    wanted = np.where(np.abs(weights_of(whole)) >= np.float32(0.2), weights_of(whole), 0)
    assert np.array_equal(weights_of(pruned), wanted)
    assert 0 < pruned.coef_data_.size < whole.coef_data_.size
    assert np.array_equal(pruned.intercept_, whole.intercept_)
    assert (pruned.coef_data_.dtype, pruned.coef_indices_.dtype) == (np.float32, np.int32)


def test_tags_that_nobody_or_everybody_has_score_a_constant():
    X, Y = noisy()
    Y = sp.hstack([Y, np.ones((X.shape[0], 1))], format="csr")
    proba = OneVsRestLinear().fit(X, Y).predict_proba(X)
    assert np.unique(proba[:, 19]).tolist() == pytest.approx([4.54e-5], rel=1e-3)
    assert np.unique(proba[:, 20]).tolist() == pytest.approx([1 - 4.54e-5])


def test_counts_are_read_as_presence():
    X, Y = noisy()
    assert np.array_equal(weights_of(OneVsRestLinear().fit(X, Y)), weights_of(OneVsRestLinear().fit(X, Y > 0)))


def test_too_few_passes_are_reported():
    with pytest.warns(ConvergenceWarning, match=r"\d+ of 5 tags did not converge within max_iter=1 passes"):
        assert OneVsRestLinear(max_iter=1, tol=1e-9).fit(*nearly_linear(300)).n_iter_ >= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneVsRestLinear().fit(*nearly_linear(300))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be positive, got 0"),
        ({"C": np.inf}, "got inf"),
        ({"loss": "log"}, 'loss must be "squared_hinge" or "hinge", got \'log\''),
        ({"class_weight": {0: 1}}, 'class_weight must be None or "balanced"'),
        ({"tol": 0.0}, r"tol must be positive, got 0\.0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"prune": -1}, "prune must be at least 0, got -1"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        OneVsRestLinear(**params).fit(*noisy())


@pytest.mark.data
def test_bibtex_with_default_parameters(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    tags, _ = OneVsRestLinear().fit(X, Y).top_k(X_test, 5)
    assert precision(Y_test, tags, 1) >= 0.61
    assert precision(Y_test, tags, 3) >= 0.38
    assert precision(Y_test, tags, 5) >= 0.28


def test_rare_tags_are_not_learnt_and_come_last(monkeypatch):
    X, Y = noisy(n=600, tags=40)
    documents = np.bincount(Y.indices, minlength=40)
    fewest = int(np.median(documents))
    everything, frequent = OneVsRestLinear().fit(X, Y), OneVsRestLinear(min_docs=fewest).fit(X, Y)
    rare = documents < fewest
    assert 0 < rare.sum() < 40
    assert np.array_equal(weights_of(frequent)[:, ~rare], weights_of(everything)[:, ~rare])
    assert not weights_of(frequent)[:, rare].any()
    order = frequent.top_k(X, 40)[0]
    assert rare[order[:, -rare.sum() :]].all()

    monkeypatch.setattr(one_vs_rest, "MANY_TAGS", 39)
    monkeypatch.setattr(one_vs_rest, "FEWEST_OF_MANY", fewest)
    assert np.array_equal(weights_of(OneVsRestLinear().fit(X, Y)), weights_of(frequent))
    assert np.array_equal(weights_of(OneVsRestLinear(min_docs=1).fit(X, Y)), weights_of(everything))


def test_a_tag_that_all_documents_have_comes_first_however_few_they_are():
    model = OneVsRestLinear(min_docs=5).fit([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[0, 1], [1, 1], [0, 1]])
    assert model.top_k([[1.0, 0.0]], 2)[0].tolist() == [[1, 0]]
