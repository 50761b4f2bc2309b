"""The blend: pairs and combiner against plain oracles, no leak from held-out tags, a guard that hands over."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.corpus import tag_matrix
from tagcore.features.corpus_reader import document_texts
from tagcore.features.rows import InMemory
from tagcore.metrics.ranking import mark_hits
from tagcore.models import Blend
from tagcore.models.blend import combiner as combiner_module
from tagcore.models.blend import kernel
from tagcore.models.blend.combiner import fit_combiner
from tagcore.models.blend.estimator import THE_BLEND
from tagcore.models.blend.folds import NEVER, fold_numbers, guard_rows
from tagcore.models.blend.pairs import Pairs, TagCounts, held_out_pairs
from tagcore.models.blend.quality import ndcg_of_pairs
from tagcore.shards import freeze
from tagcore.synthetic.corpus import demo_corpus
from tagcore.text import Vectoriser
from tests.problems import nearly_linear, noisy, obvious

LEAD = freeze(np.array([2.0, 0.3]))


def planted_pairs(n_documents: int, seed: int = 0) -> Pairs:
    """features of pairs of two members, and hits that follow from two of them."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n_documents), 5)
    features = rng.normal(size=(rows.size, 13))
    hits = rng.random(rows.size) < expit(1.5 * features[:, 0] - features[:, 5] + np.sin(3 * features[:, 3]) - 1)
    return Pairs(features, hits, rows, np.tile(np.arange(5), n_documents))


def test_trees_written_out_are_those_of_scikit_learn():
    pairs = planted_pairs(600)
    combiner = fit_combiner(pairs, 2, 40, seed=3)
    theirs = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, min_samples_leaf=50, l2_regularization=5.0, max_features=0.8,
        early_stopping=False, random_state=3,
    ).fit(pairs.features, pairs.hits)  # fmt: skip
    linear = kernel.with_products(pairs.features, 2) @ combiner.weights[:-1] + combiner.weights[-1]
    trees = 2 * combiner(pairs.features, 2) - linear
    np.testing.assert_allclose(trees, theirs.decision_function(pairs.features), atol=1e-6)
    assert combiner.tree_starts.size == 41
    assert fit_combiner(planted_pairs(combiner_module.FEWEST_DOCUMENTS - 1), 2, 40, 0).tree_starts.size == 1


def test_the_curve_is_that_of_a_logistic_regression():
    pairs = planted_pairs(300)
    z = StandardScaler().fit_transform(kernel.with_products(pairs.features, 2))
    theirs = LogisticRegression(C=1 / (combiner_module._L2 * len(z)), tol=1e-8, max_iter=2000).fit(z, pairs.hits)
    ours = fit_combiner(pairs, 2, 0, 0)(pairs.features, 2)
    np.testing.assert_allclose(ours, theirs.decision_function(z), atol=0.01)


@pytest.mark.parametrize("hit", [True, False])
def test_where_all_pairs_are_alike_the_odds_are_the_same_for_all(hit):
    pairs = planted_pairs(500)
    odds = fit_combiner(Pairs(pairs.features, np.full(2500, hit), pairs.rows, pairs.tags), 2, 10, 0)(pairs.features, 2)
    assert np.ptp(odds) < 1e-12
    assert (odds[0] > 0) == hit


def test_products_are_the_products():
    features = planted_pairs(3).features
    s, rank, frequency = features[:, [0, 3]], features[:, [2, 5]], features[:, 6:7] - 3
    products = np.stack([s * frequency, rank * frequency, s * rank, s**2 * np.sign(s)], axis=2).reshape(len(s), -1)
    np.testing.assert_allclose(kernel.with_products(features, 2), np.hstack([features, products]))


def test_features_of_pairs_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    scores = freeze(np.round(rng.normal(size=(2, 30, 40)), 1))  # with ties
    Y = sp.csr_matrix(rng.random((80, 40)) < 0.2, dtype=np.float64)
    words = freeze(rng.integers(0, 9, 30))
    counts = TagCounts.of(Y)
    indptr, tags, features = kernel.pair_features(scores, words, 7, LEAD, *counts.arrays)
    met = (Y.T @ Y).toarray()
    documents = met.diagonal().copy()
    met[met < 2] = 0
    for i in range(30):
        order = np.argsort(-scores[:, i], axis=1, kind="stable")
        assert sorted(tags[indptr[i] : indptr[i + 1]]) == sorted({*order[0, :7], *order[1, :7]})
        for p in range(indptr[i], indptr[i + 1]):
            tag, expected = tags[p], []
            for m in range(2):
                rank = int(np.flatnonzero(order[m] == tag)[0])
                expected += [scores[m, i, tag], scores[m, i, tag] - scores[m, i].max(), np.log1p(rank)]
            expected += [np.log1p(documents[tag]), np.log1p(words[i]), *scores[:, i].max(axis=1)]
            others = [other for other in order[0] if other != tag][:6]
            w = expit(LEAD[0] * scores[0, i, others] + LEAD[1])
            chance = met[others, tag] / (documents[others] + 1)
            lift = met[others, tag] * 80 / (documents[others] * documents[tag])
            expected += [(w * chance).max(), (w * chance).sum() / w.sum(), (w * np.log(lift + 0.05)).sum() / w.sum()]
            np.testing.assert_allclose(features[p], expected, rtol=1e-10)


def test_few_tags_have_fewer_ranks_and_no_others():
    scores = freeze(np.ones((1, 2, 1)))
    counts = TagCounts.of(sp.csr_matrix(np.ones((3, 1))))
    _, tags, features = kernel.pair_features(scores, freeze(np.array([1, 0])), 20, LEAD, *counts.arrays)
    assert tags.tolist() == [0, 0]
    assert np.isfinite(features).all()
    assert features[:, -3:].tolist() == [[0, 0, 0]] * 2


def test_quality_of_pairs_is_ndcg():
    X, Y = noisy()
    model = KNN().fit(X, Y)
    pairs = held_out_pairs([model], InMemory(X, Y), np.arange(150), 20, LEAD, TagCounts.of(Y))
    expected = mark_hits(Y, model.top_k(X, 5)[0]).ndcg(5)
    np.testing.assert_allclose(ndcg_of_pairs(pairs.features[:, 0], pairs, Y, 5), expected)


def test_folds_hold_out_every_document_once_or_a_fifth_of_them():
    few, many = fold_numbers(1001, None, 0), fold_numbers(5000, None, 0)
    assert np.bincount(few).tolist() == [201, 200, 200, 200, 200]
    assert set(many) == {NEVER, 0}
    assert (many == 0).sum() == 1000
    assert set(fold_numbers(19, None, 0)) == {NEVER}
    assert not np.array_equal(few, fold_numbers(1001, None, 1))


@pytest.fixture(scope="module")
def scored():
    """(rows, folds, pairs by fold) of members fitted as a blend fits them."""
    X, Y = nearly_linear(n=300, tags=6)
    folds = fold_numbers(300, None, 0)
    return X, Y, folds


def fold_pairs(X, Y, folds, fold) -> Pairs:
    seen = np.flatnonzero(folds != fold)
    members = [model.fit(X[seen], Y[seen]) for model in (OneVsRestLinear(), KNN())]
    return held_out_pairs(members, InMemory(X, Y), np.flatnonzero(folds == fold), 6, LEAD, TagCounts.of(Y[seen]))


def test_tags_of_held_out_documents_reach_no_feature(scored):
    """a tag on held-out documents alone, and all of their tags turned over: not a bit of any feature moves."""
    X, Y, folds = scored
    held = folds == 2
    planted, turned = Y.toarray(), Y.toarray()
    planted[held, 5] = 1  # on every held-out document,
    planted[~held, 5] = 0  # and on no other
    turned[held] = 1 - (turned[held] > 0)
    bare = planted.copy()
    bare[held, 5] = 0
    for one, other in ((planted, bare), (Y.toarray(), turned)):
        a, b = (fold_pairs(X, sp.csr_matrix(y.astype(float)), folds, 2) for y in (one, other))
        assert a.features.tobytes() == b.features.tobytes()
        assert a.tags.tolist() == b.tags.tolist()
        assert not np.array_equal(a.hits, b.hits)
    # the blend itself counts no held-out document, either: of its own folds the planted tag is unknown to members
    pairs = fold_pairs(X, sp.csr_matrix(planted.astype(float)), folds, 2)
    assert (pairs.features[pairs.tags == 5, 6] == 0).all()  # log(1 + documents of the tag)


def test_a_blend_fits_the_folds_that_it_says(scored, monkeypatch):
    """whatever the tags of a fold are, the pairs that the blend makes of it have the same features."""
    X, Y, folds = scored
    turned = Y.toarray()
    turned[folds == 0] = 1 - (turned[folds == 0] > 0)
    seen = []

    def spy(members, rows, held, *more):
        pairs = held_out_pairs(members, rows, held, *more)
        seen.append((held, pairs))
        return pairs

    monkeypatch.setattr("tagcore.models.blend.estimator.held_out_pairs", spy)
    for y in (Y, sp.csr_matrix(turned.astype(float))):
        Blend(members=["KNN", "Popular"], n_folds=1).fit(X, y)
    (held, one), (_, other) = seen
    assert held.tolist() == np.flatnonzero(folds == 0).tolist()
    assert one.features[:, :6].tobytes() == other.features[:, :6].tobytes()  # the lead's slope is learnt on the fold
    assert one.features[:, 6].tobytes() == other.features[:, 6].tobytes()


def test_the_guards_documents_teach_no_combiner_that_they_judge(scored, monkeypatch):
    X, Y, _ = scored
    learnt = []

    def spy(pairs, *more):
        learnt.append(np.unique(pairs.rows))
        return fit_combiner(pairs, *more)

    monkeypatch.setattr("tagcore.models.blend.estimator.fit_combiner", spy)
    Blend(members=["KNN", "OneVsRestLinear"]).fit(X, Y)
    guard = np.flatnonzero(guard_rows(np.arange(300), 300, 0))
    assert guard.size == 60
    assert not np.intersect1d(learnt[0], guard).size
    assert np.union1d(learnt[0], guard).size == 300


def overfitted(seed: int = 1):
    """a word tells each of five tags faintly; nothing else tells anything, and few documents teach the combiner so."""
    rng = np.random.default_rng(seed)
    n = 60
    topics = rng.integers(0, 5, n)
    X = np.hstack([rng.poisson(1.0, (n, 30)), 1.5 * np.eye(5)[topics]])
    return sp.csr_matrix(X), sp.csr_matrix(np.eye(5)[topics])


CROWD = ["Popular", {"model": "KNN", "n_neighbors": 1}, {"model": "KNN", "power": 0}, "OneVsRestLinear"]


def test_the_guard_hands_over_where_stacking_hurts():
    X, Y = overfitted()
    blend = Blend(members=CROWD).fit(X, Y)
    best = int(np.argmax(blend.guard_[1:]))
    assert blend.guard_[0] < blend.guard_[1 + best] - 0.01
    assert blend.serving_ == best
    alone = OneVsRestLinear().fit(X, Y)
    assert blend.member_names[best] == "OneVsRestLinear"
    assert np.array_equal(blend.top_k(X, 5)[0], alone.top_k(X, 5)[0])
    proba = blend.predict_proba(X)  # its slope is Platt's, so that the member's scores are probabilities
    assert 0.5 < proba[Y.toarray() > 0].mean() <= 1


def test_the_guard_keeps_the_blend_where_members_know_different_things():
    source = demo_corpus(900)
    (block,) = source.blocks(900)
    Y = tag_matrix(block.taggings, 900, len(source.tags))
    X = Vectoriser(sublinear_tf=True).fit_transform(document_texts(block.documents))
    blend = Blend(members=["OneVsRestLinear", "KNN"]).fit(X[:700], Y[:700])
    assert blend.serving_ == THE_BLEND
    assert blend.guard_[0] > blend.guard_[1:].max() + 0.01
    assert blend.tree_starts_.size == 101
    ours = mark_hits(Y[700:], blend.top_k(X[700:], 5)[0]).ndcg(5).mean()
    for member in (OneVsRestLinear(), KNN()):
        assert ours > mark_hits(Y[700:], member.fit(X[:700], Y[:700]).top_k(X[700:], 5)[0]).ndcg(5).mean()
    proba, truth = blend.predict_proba(X[700:]).ravel(), Y[700:].toarray().ravel() > 0
    for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 1)):
        bin_ = (proba > low) & (proba <= high)
        assert abs(proba[bin_].mean() - truth[bin_].mean()) < 0.08


def test_tags_outside_the_pool_come_last_in_the_order_of_the_lead():
    X, Y = noisy()
    blend = Blend(members=["KNN", "Popular"], pool=2).fit(X, Y)
    blend.serving_ = THE_BLEND
    scores = np.concatenate([block for _, block in blend.score_blocks(X)])
    outside = scores < kernel.LEAST
    assert (outside.sum(axis=1) >= Y.shape[1] - 4).all()
    lead = KNN().fit(X, Y).predict_proba(X)
    for row in range(5):
        tags = np.flatnonzero(outside[row])
        assert np.array_equal(
            np.argsort(-scores[row, tags], kind="stable"), np.argsort(-lead[row, tags], kind="stable")
        )


def test_members_tell_what_they_said():
    X, Y = obvious()
    blend = Blend(members=["OneVsRestLinear", "KNN", "KNN"]).fit(X, Y)
    voices = blend.voices(X[:1], 0)
    assert [voice.member for voice in voices] == ["OneVsRestLinear", "KNN 1", "KNN 2"]
    assert [voice.place for voice in voices] == [1, 1, 1]
    assert voices[1].score == 1.0
    assert all(0.5 < voice.probability < 1 for voice in voices)
    explanation = blend.explain(X[:1], 0)
    assert explanation is not None
    alone = OneVsRestLinear().fit(X, Y).explain(X[:1], 0)
    assert np.array_equal(explanation.push, alone.push)
    assert Blend(members=["KNN"]).fit(X, Y).explain(X[:1], 0) is None


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ("KNN", r"members must be None or a list of 1 to 16 models, got 'KNN'"),
        ([], r"members must be None or a list of 1 to 16 models"),
        (["Knn"], r"a member is 'Knn', expected one of .*KNN"),
        (["Blend"], r"a member is 'Blend', expected one of"),
        (["ItemMean"], r"a member is 'ItemMean', expected one of"),
        ([7], r"a member is 7, expected a class name or"),
        ([{"model": "KNN", "k": 3}], r"KNN has no parameter 'k'; it has n_neighbors, power, weighting"),
        ([{"model": "KNN", "n_neighbors": 0}], r"n_neighbors must be at least 1"),
    ],
)
def test_members_that_cannot_be(members, expected):
    with pytest.raises(ValueError, match=expected):
        Blend(members=members).fit(*noisy())


def test_too_few_documents_are_left_to_the_lead():
    X, Y = noisy(n=19)
    blend = Blend(members=["KNN", "Popular"]).fit(X, Y)
    assert blend.serving_ == 0
    assert np.array_equal(blend.top_k(X, 3)[0], KNN().fit(X, Y).top_k(X, 3)[0])
    assert clone(blend).get_params() == blend.get_params()
