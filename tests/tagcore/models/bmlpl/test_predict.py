"""Prediction of BMLPL: equation 19 against Monte Carlo and against logarithms, the screen against the whole ranking."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.models import BMLPL
from tagcore.models.bmlpl.kernels.predict import survival, survival_of
from tagcore.models.bmlpl.scores import Draws, scores, screened_top_k
from tagcore.numeric.read_only import freeze
from tests.tagcore.models.bmlpl.problems import planted


def _draws(n_draws=1, topics=13, labels=40, words=7, seed=0, constant=True, spread=1.0):
    rng = np.random.default_rng(seed)
    V = rng.dirichlet(np.full(labels, 0.2), (n_draws, topics))
    W = rng.normal(0, spread, (n_draws, words + constant, topics))
    return Draws(V, W, rng.gamma(2.0, 0.5, (n_draws, topics)))


def _rows(n=12, words=7, seed=1):
    return sp.csr_matrix(np.random.default_rng(seed).poisson(0.7, (n, words)).astype(float))


def _by_logarithms(X, V, W, r):
    psi = X.toarray() @ W[: X.shape[1]] + (W[-1] if len(W) > X.shape[1] else 0)
    return np.log1p(np.exp(np.minimum(psi, 60))[:, :, None] * V).transpose(0, 2, 1) @ r


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("topics", [1, 7, 8, 9, 64, 130])
@pytest.mark.parametrize("equal", [True, False])
def test_products_are_the_logarithms(topics, equal, constant):
    draws = _draws(topics=topics, constant=constant)
    if equal:
        draws = draws._replace(shapes=np.full((1, topics), 0.7))
    X = _rows()
    wanted = _by_logarithms(X, *(d[0] for d in draws))
    np.testing.assert_allclose(scores(X, draws, 1.0), wanted, rtol=1e-12, atol=1e-12)


@given(
    psi=st.lists(st.floats(-800, 800), min_size=1, max_size=40),
    shapes=st.lists(st.sampled_from([0.001, 1.0, 1000.0]), min_size=40, max_size=40),
    seed=st.integers(0, 100),
)
def test_no_product_overflows(psi, shapes, seed):
    E = np.exp(np.minimum(np.array([psi]), 60.0))
    r = np.array(shapes[: len(psi)])
    V = np.random.default_rng(seed).dirichlet(np.full(5, 0.1), len(psi))
    V[:, 0] = 1.0  # the largest there can be
    out = np.empty((1, 5))
    survival(E, *freeze((V, r)), out)
    np.testing.assert_allclose(out, r @ np.log1p(E.T * V)[None], rtol=1e-9, atol=1e-9 * r.sum())


def test_equation_19_is_the_mean_over_weights():
    rng = np.random.default_rng(0)
    draws = _draws(topics=5, labels=6, spread=0.6)
    X = _rows(n=3)
    psi = X.toarray() @ draws.weights[0, :-1] + draws.weights[0, -1]
    u = rng.gamma(draws.shapes[0], np.exp(psi), (400_000, *psi.shape))
    sampled = np.stack([-np.expm1(-u[:, i] @ draws.topics[0]).mean(axis=0) for i in range(3)])
    np.testing.assert_allclose(-np.expm1(-scores(X, draws, 1.0)), sampled, atol=4e-3)


def test_several_draws_are_averaged_as_probabilities():
    draws, X = _draws(n_draws=4), _rows()
    each = [-np.expm1(-_by_logarithms(X, *(d[i] for d in draws))) for i in range(4)]
    np.testing.assert_allclose(-np.expm1(-scores(X, draws, 1.0)), np.mean(each, axis=0), rtol=1e-10)


def test_a_rate_of_missing_tags_scales_the_odds_of_topics():
    draws, X = _draws(), _rows()
    V, W, r = (d[0] for d in draws)
    W = W.copy()
    W[-1] -= np.log(0.25)
    np.testing.assert_allclose(scores(X, draws, 0.25), _by_logarithms(X, V, W, r), rtol=1e-12)


def test_chosen_labels_have_the_bits_of_all():
    draws, X = _draws(topics=21), _rows()
    E = np.exp(X.toarray() @ draws.weights[0, :-1])
    every, some = np.empty((12, 40)), np.empty((12, 9))
    drawn = freeze((draws.topics[0], draws.shapes[0]))
    survival(E, *drawn, every)
    chosen = np.random.default_rng(0).integers(40, size=some.shape)
    survival_of(E, *drawn, freeze(chosen), some)
    assert np.array_equal(some, np.take_along_axis(every, chosen, axis=1))


@pytest.mark.parametrize("n_draws", [1, 3])
@pytest.mark.parametrize("screen", [5, 12, 39])
def test_a_sure_screen_is_the_whole_ranking(n_draws, screen):
    draws, X = _draws(n_draws, topics=8), _rows(n=60)
    draws.weights[:, -1] -= 1.5
    every = scores(X, draws, 1.0)
    wanted = np.argsort(-every, axis=1, kind="stable")[:, :5]
    labels, best, sure = screened_top_k(X, draws, 1.0, 5, screen)
    assert sure.all() if screen == 39 else not sure.all()
    assert sure.any() or screen == 5
    assert np.array_equal(labels[sure], wanted[sure])
    assert np.array_equal(best[sure], np.take_along_axis(every, wanted, axis=1)[sure])


@pytest.mark.parametrize("screen", [1, 3, 10])
def test_top_k_is_exact_however_narrow_the_screen(screen):
    X, Y = planted()
    model = BMLPL(n_topics=4, max_iter=10, screen=screen).fit(X, Y)
    ((_, dense),) = model.score_blocks(X)
    for k in (1, 4, 18):
        wanted = np.argsort(-dense, axis=1, kind="stable")[:, :k]
        tags, best = model.top_k(X, k)
        assert np.array_equal(tags, wanted)
        assert np.array_equal(best, np.take_along_axis(dense, wanted, axis=1))
