"""Curves of lone members: first tags as a line says, others as often likely as they are there, and honest without."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.baselines import KNN, OneVsRestLinear, Popular
from tagcore.features.rows import InMemory
from tagcore.models import Blend
from tagcore.models.blend import pairs as pairs_module
from tagcore.models.blend.curves import WIDTH, fit_curves, fit_line, log_odds
from tagcore.models.blend.members import Member
from tagcore.models.blend.pairs import TagCounts, held_out_pairs
from tagcore.numeric.logistic import expit
from tests.problems import noisy


def shares_only(n: int = 400, n_tags: int = 100):
    """rows of noise, and tags that a share of all documents has, from .02 to .62: the five most common are alike."""
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((n, n_tags)) < np.linspace(0.02, 0.62, n_tags)).astype(float))
    return sp.csr_matrix(rng.random((n, 20))), Y


def zipf(n: int = 1500, n_tags: int = 800):
    """three of many tags for every document, some far more common than others, and words that tell them."""
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, n_tags + 1) ** 0.8
    Y = np.zeros((n, n_tags))
    for row in Y:
        row[rng.choice(n_tags, 3, replace=False, p=shares / shares.sum())] = 1
    words = rng.random((n_tags, 300)) * (rng.random((n_tags, 300)) < 0.02)
    return sp.csr_matrix(rng.poisson(2 * Y @ words + 0.05).astype(float)), sp.csr_matrix(Y)


def calibration_error(p: np.ndarray, hits: np.ndarray) -> float:
    parts = np.array_split(np.argsort(p, kind="stable"), 10)
    return sum(abs(p[part].mean() - hits[part].mean()) * part.size for part in parts) / p.size


def test_a_member_that_serves_alone_is_right_of_rare_tags_and_of_frequent_ones():
    X, Y = shares_only()
    blend = Blend(["Popular", "KNN"], n_trees=0).fit(X, Y)
    assert blend.member_names[blend.serving_] == "Popular"
    p, rates = blend.predict_proba(X)[0], np.asarray(Y.mean(axis=0)).ravel()
    for tags in (slice(0, 20), slice(40, 60), slice(80, 100)):
        assert p[tags].mean() == pytest.approx(rates[tags].mean(), abs=0.06)
    assert p.sum() == pytest.approx(rates.sum(), rel=0.02)  # as many tags as documents have
    assert blend.predict(X[:1]).nnz == pytest.approx((rates > 0.5).sum(), rel=0.2)  # not all 100


@pytest.mark.parametrize("model", [KNN(), KNN(n_neighbors=3), OneVsRestLinear(), Popular()], ids=str)
def test_first_tags_are_as_well_calibrated_as_by_a_line_of_their_own(model):
    X, Y = zipf()
    held, unseen = np.arange(750, 1125), slice(1125, 1500)
    model.fit(X[:750], Y[:750])
    pairs, all_tags = held_out_pairs([Member(model)], InMemory(X, Y), held, 20, TagCounts.of(Y[:750]))
    (curve,) = fit_curves(pairs, all_tags, 1)
    tags, scores = model.top_k(X[unseen], 5)
    hits = np.take_along_axis(Y[unseen].toarray(), tags, axis=1).ravel() > 0
    first = pairs.features[:, 2] < np.log1p(4.5)
    slope, intercept = fit_line(pairs.features[first, 0], pairs.hits[first])
    line, ours = expit(slope * scores + intercept).ravel(), expit(log_odds(curve, model, scores)).ravel()
    assert calibration_error(ours, hits) < calibration_error(line, hits) + 0.01
    every = expit(log_odds(curve, model, np.concatenate([block for _, block in model.score_blocks(X[unseen])])))
    assert every.sum(axis=1).mean() == pytest.approx(3, rel=0.1)  # by the line alone 8 to 30 for some


def test_odds_rise_with_the_score_on_both_sides_of_the_bend():
    curve = np.array([0.5, -1.0, 2.0, 3.0])
    odds = log_odds(curve, Popular(), np.array([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(odds, [-3.0, 0.0, 1.0])


def test_scores_that_are_all_alike_have_the_odds_of_their_hits():
    hits = np.arange(100) < 30
    for score in (0.0, 0.3, 1e7):
        slope, intercept = fit_line(np.full(100, score), hits)
        assert expit(slope * score + intercept) == pytest.approx(0.3, abs=0.01)
        assert 0 < slope <= 1e-3
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((300, 1)) < 0.3).astype(float))
    p = Blend(["Popular", "KNN"], n_folds=1).fit(rng.random((300, 20)), Y).predict_proba(rng.random((5, 20)))
    np.testing.assert_allclose(p, Y.mean(), atol=0.1)


def test_without_documents_to_learn_from_the_lead_has_its_own_probabilities():
    blend = Blend(["Popular", "KNN"]).fit(np.eye(10), np.eye(10))
    assert blend.predict(np.eye(10)).nnz == 0
    np.testing.assert_allclose(blend.predict_proba(np.eye(10)), 0.1, rtol=1e-5)
    X, Y = noisy(n=19)
    for name, alone in (("KNN", KNN()), ("OneVsRestLinear", OneVsRestLinear())):
        blend, alone = Blend([name, "Popular"]).fit(X, Y), alone.fit(X, Y)
        assert not blend.curves_.any()
        np.testing.assert_allclose(blend.predict_proba(X), alone.predict_proba(X), atol=2e-6)
        assert np.array_equal(blend.top_k(X, 7)[0], alone.top_k(X, 7)[0])
        assert blend.voices(X[:1], 3)[0].probability == pytest.approx(alone.predict_proba(X[:1])[0, 3], abs=2e-6)
    nothing = Blend(["Popular", "KNN"]).fit(np.ones((40, 2)), np.zeros((40, 3)))
    assert nothing.predict_proba(np.ones((1, 2))).max() < 1e-5


def test_a_member_that_puts_nothing_forward_has_no_curve():
    X, Y = noisy()
    model = OneVsRestLinear().fit(X, Y)
    pairs, all_tags = held_out_pairs([Member(model)], InMemory(X, Y), np.arange(50), 20, TagCounts.of(Y))
    pairs.features[:, 2] = np.log1p(30)
    assert fit_curves(pairs, all_tags, 1).tolist() == [[0.0] * WIDTH]


def test_drawn_cells_stand_for_all(monkeypatch):
    X, Y = noisy(n=150)
    model = OneVsRestLinear().fit(X, Y)
    given = [Member(model)], InMemory(X, Y), np.arange(150), 20, TagCounts.of(Y)
    every, scores = held_out_pairs(*given)[1], model.predict_proba(X)
    assert (every.weights == 1).all()
    np.testing.assert_allclose(expit(every.drawn[0]), scores.ravel())
    np.testing.assert_allclose(np.sort(expit(every.true[0])), np.sort(scores[Y.toarray() > 0]))
    monkeypatch.setattr(pairs_module, "_DRAWN", 0)
    monkeypatch.setattr(pairs_module, "_FEWEST_DRAWN", 5)
    some = held_out_pairs(*given)[1]
    assert some.drawn.shape == (1, 150 * 5)
    assert some.weights.sum() == pytest.approx(Y.shape[0] * Y.shape[1])
    assert np.sum(some.weights * expit(some.drawn[0])) == pytest.approx(scores.sum(), rel=0.1)
