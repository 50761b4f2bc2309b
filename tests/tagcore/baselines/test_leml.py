"""LEML against the convex problem that it factors, dense derivatives, and finite differences."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from tagcore.baselines import LEML
from tagcore.baselines.leml import steps
from tagcore.baselines.low_rank.shards import shards_with_cells
from tagcore.metrics.auc import roc_auc
from tagcore.numeric.losses import LOSSES
from tagcore.shards import InProcess
from tagcore.training import FitContext
from tests.problems import TOPICS, noisy, obvious, official_split, problems

EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES)


def _mask(shape, share=0.5, seed=0):
    return sp.csr_matrix((np.random.default_rng(seed).random(shape) < share).astype(float))


def _weights(model):
    return model.word_factors_.astype(float) @ model.tag_factors_.T.astype(float)


def _objectives(model, X, Y, **options):
    objectives = []
    model.fit(X, Y, progress=lambda done, total, measures: objectives.append(measures["objective"]), **options)
    return objectives


def _value(loss, z, y):
    """the losses as the paper writes them."""
    sign = np.where(y > 0, 1.0, -1.0)
    return {
        "squared": (y - z) ** 2 / 2,
        "logistic": np.logaddexp(0.0, -sign * z),
        "squared_hinge": np.maximum(0.0, 1.0 - sign * z) ** 2,
    }[loss]


def _nuclear_risk(loss, X, Y, observed, weights, alpha):
    """The least cost of weights as two factors: ½(‖W‖² + ‖H‖²) is at least the sum of singular values."""
    return (_value(loss, X @ weights, Y) * observed).sum() + alpha * np.linalg.svd(weights, compute_uv=False).sum()


def _least_nuclear_risk(loss, X, Y, observed, alpha, rounds=2000):
    """by proximal gradients: the problem is convex in the product of the factors."""
    bend = {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0}[loss]
    size = 1.0 / (bend * np.linalg.norm(X, 2) ** 2)
    weights = np.zeros((X.shape[1], Y.shape[1]))
    sign = np.where(Y > 0, 1.0, -1.0)
    for _ in range(rounds):
        z = X @ weights
        slope = {
            "squared": z - Y,
            "logistic": -sign * expit(-sign * z),
            "squared_hinge": -2 * sign * np.maximum(0.0, 1.0 - sign * z),
        }[loss]
        u, s, v = np.linalg.svd(weights - size * (X.T @ (slope * observed)), full_matrices=False)
        weights = (u * np.maximum(s - size * alpha, 0.0)) @ v
    return _nuclear_risk(loss, X, Y, observed, weights, alpha)


@EVERY_LOSS
@pytest.mark.parametrize("masked", [False, True])
def test_full_rank_solves_the_convex_problem(loss, masked):
    X, Y = noisy(n=60, words=12, tags=6)
    truth = (Y.toarray() > 0).astype(float)
    mask = _mask(Y.shape, 0.7) if masked else sp.csr_matrix(np.ones(Y.shape))
    model = LEML(1.0, loss, alpha=0.8, max_iter=150, cg_iter=40, tol=0.0, normalise=False, fit_intercept=False)
    model.fit(X, Y, observed=mask if masked else None)
    risk = _nuclear_risk(loss, X.toarray(), truth, mask.toarray(), _weights(model), 0.8)
    wanted = _least_nuclear_risk(loss, X.toarray(), truth, mask.toarray(), 0.8)
    assert risk == pytest.approx(wanted, rel=2e-4)


def test_orthogonal_words_shrink_the_singular_values():
    rng = np.random.default_rng(3)
    X, _ = np.linalg.qr(rng.normal(size=(80, 10)))
    Y = (rng.random((80, 7)) < 0.4).astype(float)
    u, s, v = np.linalg.svd(X.T @ Y, full_matrices=False)
    model = LEML(4, alpha=0.3, max_iter=500, cg_iter=20, tol=0.0, normalise=False, fit_intercept=False)
    wanted = (u[:, :4] * np.maximum(s[:4] - 0.3, 0.0)) @ v[:4]
    np.testing.assert_allclose(_weights(model.fit(X, Y)), wanted, atol=5e-3)


def test_full_rank_without_penalty_is_least_squares():
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(50, 6)), (rng.random((50, 6)) < 0.5).astype(float)
    wanted = np.linalg.lstsq(X, Y, rcond=None)[0]
    model = LEML(6, alpha=1e-5, max_iter=100, cg_iter=50, tol=0.0, normalise=False, fit_intercept=False)
    np.testing.assert_allclose(_weights(model.fit(X, Y)), wanted, atol=1e-3)


@pytest.mark.parametrize("rank", [1, 3])
def test_low_rank_is_a_fixed_point_of_alternating_least_squares(rank):
    """one more exact alternation, by dense normal equations, hardly moves the answer."""
    X, Y = noisy(n=80, words=10, tags=8)
    x, y, alpha = X.toarray(), (Y.toarray() > 0).astype(float), 0.5
    model = LEML(rank, alpha=alpha, max_iter=500, cg_iter=30, tol=0.0, normalise=False, fit_intercept=False).fit(X, Y)
    W = model.word_factors_.astype(float)
    A = x @ W
    H = np.linalg.solve(A.T @ A + alpha * np.eye(rank), A.T @ y).T
    normal = np.kron(x.T @ x, H.T @ H) + alpha * np.eye(W.size)
    W = np.linalg.solve(normal, (x.T @ y @ H).ravel()).reshape(W.shape)
    np.testing.assert_allclose(_weights(model), W @ H.T, atol=1e-3)


@EVERY_LOSS
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("cg_iter", [1, 3, 20])
def test_the_objective_never_rises_and_is_the_objective(loss, masked, cg_iter):
    X, Y = noisy(n=1500)  # more than one shard
    model = LEML(5, loss, alpha=0.3, max_iter=12, cg_iter=cg_iter, tol=0.0, normalise=False)
    mask = _mask(Y.shape) if masked else None
    objectives = np.array(_objectives(model, X, Y, observed=mask))
    assert objectives.size > 1
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()
    z = X.toarray() @ _weights(model) + model.intercept_
    cells = np.ones(Y.shape) if mask is None else mask.toarray()
    loss_there = (_value(loss, z, (Y.toarray() > 0).astype(float)) * cells).sum()
    sizes = sum((factor.astype(float) ** 2).sum() for factor in (model.word_factors_, model.tag_factors_))
    wanted = loss_there + 0.15 * sizes + 0.005 * (model.intercept_.astype(float) ** 2).sum()
    assert objectives[-1] == pytest.approx(wanted, rel=1e-4)


@EVERY_LOSS
@pytest.mark.parametrize("masked", [False, True])
def test_slopes_and_products_against_finite_differences(loss, masked):
    rng = np.random.default_rng(1)
    X, Y = noisy(n=30, words=8, tags=5)
    context = FitContext(observed=_mask(Y.shape) if masked else None)
    shards = shards_with_cells(X.astype(np.float32), (Y > 0).astype(np.float32), context)
    words, tags = rng.normal(size=(8, 3)), rng.normal(size=(5, 4))
    cells = np.ones(Y.shape) if context.observed is None else context.observed.toarray()

    def risk(w, h):
        z = np.column_stack([X.toarray() @ w, np.ones(30)]) @ h.T
        return (_value(loss, z, (Y.toarray() > 0).astype(float)) * cells).sum()

    def slope(function, at, size=1e-5):
        out = np.empty_like(at)
        for i in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[i] = size
            out[i] = (function(at + step) - function(at - step)) / (2 * size)
        return out

    by_words, by_tags = (lambda w: risk(w, tags)), (lambda h: risk(words, h))
    factors = {"words": words.astype(np.float32), "tags": tags.astype(np.float32)}
    for by, at, slopes, product in (
        (by_words, words, steps.word_slopes, steps.word_product),
        (by_tags, tags, steps.tag_slopes, steps.tag_product),
    ):
        sums = shards.sum(partial(slopes, loss=loss, constant=1.0), **factors)
        np.testing.assert_allclose(sums["gradient"], slope(by, at), rtol=1e-3, atol=1e-3)
        direction = rng.normal(size=at.shape)
        image = shards.sum(partial(product, loss=loss, constant=1.0), direction=direction.astype(np.float32), **factors)
        ahead, behind = (slope(by, at + side * 1e-4 * direction) for side in (1, -1))
        np.testing.assert_allclose(image["product"], (ahead - behind) / 2e-4, rtol=2e-2, atol=2e-2)
        for i in list(np.ndindex(at.shape))[::5]:
            unit = np.zeros(at.shape, np.float32)
            unit[i] = 1.0
            bent = shards.sum(partial(product, loss=loss, constant=1.0), direction=unit, **factors)["product"][i]
            assert sums["diagonal"][i] == pytest.approx(bent, rel=1e-4, abs=1e-4)


@EVERY_LOSS
def test_every_cell_observed_is_the_plain_problem(loss):
    X, Y = noisy()
    model = LEML(1.0, loss, alpha=1.0, max_iter=60, cg_iter=20, tol=0.0)
    plain = next(model.fit(X, Y).score_blocks(X))[1]
    masked = next(model.fit(X, Y, observed=np.ones(Y.shape)).score_blocks(X))[1]
    np.testing.assert_allclose(masked, plain, atol=5e-3)


@EVERY_LOSS
def test_what_was_not_observed_has_no_part(loss):
    X, Y = noisy()
    mask = _mask(Y.shape)
    hidden = Y.multiply(mask).tocsr()
    with_unobserved, without_unobserved = (LEML(5, loss).fit(X, y, observed=mask) for y in (Y, hidden))
    assert np.array_equal(with_unobserved.predict_proba(X), without_unobserved.predict_proba(X))
    assert not np.array_equal(with_unobserved.predict_proba(X), LEML(5, loss).fit(X, hidden).predict_proba(X))


def test_learns_more_from_the_mask_than_from_zeros():
    """a tag seen in three documents of ten is not a rare tag."""
    X, Y = obvious(n=600)
    mask = _mask(Y.shape, 0.3)
    rows = np.arange(600)
    for loss in LOSSES:
        proba = LEML(loss=loss, alpha=0.1).fit(X, Y, observed=mask).predict_proba(X)
        assert proba[rows, rows % TOPICS].min() > 0.5
        blind = LEML(loss=loss, alpha=0.1).fit(X, Y.multiply(mask)).predict_proba(X)
        assert blind[rows, rows % TOPICS].mean() < 0.5


@EVERY_LOSS
@settings(max_examples=20)
@given(
    problem=problems(),
    masked=st.booleans(),
    rank=st.sampled_from([1, 2, 0.5, 1.0, 100]),
    alpha=st.sampled_from([1e-8, 0.01, 1e4]),
)
def test_odd_matrices_give_finite_scores(loss, problem, masked, rank, alpha):
    X, Y = problem
    mask = np.eye(*Y.shape) if masked else None
    model = LEML(rank, loss, alpha=alpha, normalise=False).fit(X, Y, observed=mask)
    assert np.isfinite(next(model.score_blocks(X))[1]).all()
    assert model.word_factors_.dtype == model.tag_factors_.dtype == model.intercept_.dtype == np.float32


@EVERY_LOSS
def test_threads_change_no_bit_of_many_shards(loss):
    X, Y = noisy(n=3000)
    one, two = (LEML(6, loss, max_iter=3).fit(X, Y, executor=InProcess(threads)) for threads in (1, 2))
    for name in LEML._arrays:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@EVERY_LOSS
def test_tags_and_absent_tags_have_the_right_probabilities(loss):
    X, Y = obvious()
    model = LEML(loss=loss, alpha=0.1).fit(X, Y)
    assert np.array_equal(model.predict(X).toarray(), Y.toarray() > 0)
    assert model.fit(X, sp.csr_matrix(Y.shape)).predict(X).nnz == 0


def test_rank_is_a_number_or_a_share_and_never_more_than_the_data_has():
    X, Y = noisy()
    ranks = [3, 0.4, 1.0, 1, 0.01, 500]
    dimensions = [LEML(rank, max_iter=1).fit(X, Y).word_factors_.shape[1] for rank in ranks]
    assert dimensions == [3, 8, 20, 1, 1, 20]
    assert LEML(500, max_iter=1).fit(X[:7], Y[:7]).tag_factors_.shape == (20, 7)


def test_other_seeds_give_other_factors_of_the_same_fit():
    X, Y = noisy()
    one, two = (LEML(1.0, max_iter=100, tol=0.0, random_state=seed).fit(X, Y) for seed in (0, 1))
    assert not np.allclose(one.word_factors_, two.word_factors_)
    np.testing.assert_allclose(_weights(one), _weights(two), atol=5e-3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rank": 0}, "rank must be a whole number from 1 to 2147483647 or a share of the tags up to 1.0, got 0"),
        ({"rank": 1.5}, r"got 1\.5"),
        ({"rank": True}, "got True"),
        ({"rank": np.nan}, "got nan"),
        ({"loss": "hinge"}, 'loss must be "squared", "logistic" or "squared_hinge", got \'hinge\''),
        ({"alpha": 0}, "alpha must be positive, got 0"),
        ({"alpha": np.inf}, "got inf"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"cg_iter": 0}, "cg_iter must be at least 1, got 0"),
        ({"tol": -1.0}, r"tol must be at least 0, got -1\.0"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        LEML(**params).fit(*noisy())


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (np.ones((150, 19)), r"observed has shape \(150, 19\), expected that of y, \(150, 20\)"),
        (np.ones((149, 20)), r"observed has shape \(149, 20\), expected that of y, \(150, 20\)"),
        (np.zeros((150, 20)), "observed hides every cell of y"),
    ],
)
def test_bad_masks_are_named_and_leave_the_model_as_it_was(observed, message):
    X, Y = noisy()
    model = LEML(3).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, observed=observed)
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.data
def test_bibtex_beats_the_figure_of_the_paper(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    model = LEML(0.4).fit(X, Y)
    assert roc_auc(Y_test, lambda: model.score_blocks(X_test)).row >= 0.91
