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
from tagcore.features.folds import NEVER, first_fold, fold_numbers, part_numbers
from tagcore.features.rows import InMemory
from tagcore.metrics.ranking import mark_hits
from tagcore.models import Blend
from tagcore.models.blend import combiner as combiner_module
from tagcore.models.blend import kernel
from tagcore.models.blend.combiner import fit_combiner
from tagcore.models.blend.guard import CURVE, THE_BLEND, WITH_TREES, choose
from tagcore.models.blend.members import Member
from tagcore.models.blend.pairs import Pairs, TagCounts, held_out_pairs
from tagcore.models.blend.quality import ndcg_of_pairs
from tagcore.models.blend.trees import GROUP
from tagcore.numeric.read_only import freeze
from tagcore.synthetic.corpus import demo_corpus
from tagcore.text import Vectoriser
from tests.problems import nearly_linear, noisy, obvious


def planted_pairs(n_documents: int, seed: int = 0) -> Pairs:
    """features of pairs of two members, and hits that follow from two of them."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n_documents), 5)
    features = rng.normal(size=(rows.size, 13))
    hits = rng.random(rows.size) < expit(1.5 * features[:, 0] - features[:, 5] + np.sin(3 * features[:, 3]) - 1)
    return Pairs(features, hits, rows, np.tile(np.arange(5), n_documents))


def within(pairs: Pairs, combiner) -> np.ndarray:
    """features as numpy brings them into the ranges of nearly all pairs."""
    low, high = np.quantile(pairs.features, (0.001, 0.999), axis=0)
    np.testing.assert_array_equal(combiner.ranges, [low, high])
    return np.clip(pairs.features, low, high)


def test_what_no_document_has_is_taken_for_the_most_that_one_has():
    pairs = planted_pairs(600)
    combiner = fit_combiner(pairs, 2, 15, seed=3)
    far = pairs.features.copy()
    far[:, 0] = 1e6
    at_the_end = pairs.features.copy()
    at_the_end[:, 0] = combiner.ranges[1, 0]
    np.testing.assert_array_equal(combiner(far, 2), combiner(at_the_end, 2))
    assert np.abs(combiner(far, 2)).max() < 30


@pytest.mark.parametrize("n_trees", [15, GROUP + 12])
def test_trees_written_out_are_those_of_scikit_learn(n_trees):
    pairs = planted_pairs(600)
    combiner = fit_combiner(pairs, 2, n_trees, seed=3)
    theirs = HistGradientBoostingClassifier(
        max_iter=n_trees, max_leaf_nodes=15, min_samples_leaf=50, l2_regularization=5.0, max_features=0.8,
        early_stopping=False, random_state=3,
    ).fit(features := within(pairs, combiner), pairs.hits)  # fmt: skip
    linear = kernel.with_products(features, 2) @ combiner.weights[:-1] + combiner.weights[-1]
    trees = 2 * combiner(pairs.features, 2) - linear
    np.testing.assert_allclose(trees, theirs.decision_function(features), atol=1e-6)
    assert len(combiner.trees.leaf_values) == 1 + n_trees
    assert combiner.has_trees
    assert not combiner.without_trees().has_trees
    np.testing.assert_allclose(combiner.without_trees()(pairs.features, 2), linear, rtol=1e-12)
    assert not fit_combiner(planted_pairs(combiner_module.FEWEST_DOCUMENTS - 1), 2, 40, 0).has_trees


def test_the_curve_is_that_of_a_logistic_regression():
    pairs = planted_pairs(300)
    combiner = fit_combiner(pairs, 2, 0, 0)
    z = StandardScaler().fit_transform(kernel.with_products(within(pairs, combiner), 2))
    theirs = LogisticRegression(C=1 / (combiner_module._L2 * len(z)), tol=1e-8, max_iter=2000).fit(z, pairs.hits)
    ours = combiner(pairs.features, 2)
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


def pairs_of(scores, words, pool, counts, lead=expit):
    best, best_scores = kernel.best_ranks(scores)
    likely = lead(best_scores[0, :, : kernel.OTHERS + 1])
    starts = np.concatenate([[0], np.cumsum(words)]).astype(np.int32)
    return kernel.pair_features(scores, best, best_scores, likely, starts, pool, counts.arrays)


def test_features_of_pairs_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    scores = freeze(np.round(rng.normal(size=(2, 30, 40)), 1))  # with ties
    Y = sp.csr_matrix(rng.random((80, 40)) < 0.2, dtype=np.float64)
    words = rng.integers(0, 9, 30)
    indptr, tags, features = pairs_of(scores, words, 7, TagCounts.of(Y))
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
            w = expit(scores[0, i, others])
            chance = met[others, tag] / (documents[others] + 1)
            lift = met[others, tag] * 80 / (documents[others] * documents[tag])
            expected += [(w * chance).max(), (w * chance).sum() / w.sum(), (w * np.log(lift + 0.05)).sum() / w.sum()]
            np.testing.assert_allclose(features[p], expected, rtol=1e-10)


def test_few_tags_have_fewer_ranks_and_no_others():
    counts = TagCounts.of(sp.csr_matrix(np.ones((3, 1))))
    _, tags, features = pairs_of(freeze(np.ones((1, 2, 1))), np.array([1, 0]), 20, counts)
    assert tags.tolist() == [0, 0]
    assert np.isfinite(features).all()
    assert features[:, -3:].tolist() == [[0, 0, 0]] * 2


def test_a_member_puts_no_tag_forward_that_it_cannot_tell_from_others():
    scores = np.zeros((2, 1, 50))
    scores[0, 0, [30, 4]] = 0.7, 0.2  # neighbours with two tags: the other 48 have no vote
    scores[1, 0, 9] = 1.0
    counts = TagCounts.of(sp.csr_matrix(np.ones((3, 50))))
    assert sorted(pairs_of(freeze(scores), np.array([3]), 20, counts)[1]) == [4, 9, 30]


def test_quality_of_pairs_is_ndcg():
    X, Y = noisy()
    model = KNN().fit(X, Y)
    pairs, _ = held_out_pairs([Member(model)], InMemory(X, Y), np.arange(150), 20, TagCounts.of(Y))
    expected = mark_hits(Y, model.top_k(X, 5)[0]).ndcg(5)
    np.testing.assert_allclose(ndcg_of_pairs(pairs.features[:, 0], pairs, Y, 5), expected)


def test_folds_hold_out_every_document_once_or_a_quarter_of_them():
    few, many = fold_numbers(1001, None, 0), fold_numbers(5000, None, 0)
    assert np.bincount(few).tolist() == [201, 200, 200, 200, 200]
    assert set(many) == {NEVER, 0}
    assert (many == 0).sum() == 1250
    assert [(fold_numbers(5000, 2, 0) == fold).sum() for fold in range(2)] == [1000, 1000]
    assert np.array_equal(first_fold(5000, 0), many == 0)
    assert np.array_equal(first_fold(1001, 0), few == 0)
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
    members = [Member(model.fit(X[seen], Y[seen])) for model in (OneVsRestLinear(), KNN())]
    return held_out_pairs(members, InMemory(X, Y), np.flatnonzero(folds == fold), 6, TagCounts.of(Y[seen]))[0]


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
        pairs, all_tags = held_out_pairs(members, rows, held, *more)
        seen.append((held, pairs))
        return pairs, all_tags

    monkeypatch.setattr("tagcore.models.blend.estimator.held_out_pairs", spy)
    for y in (Y, sp.csr_matrix(turned.astype(float))):
        Blend(members=["KNN", "Popular"], n_folds=1).fit(X, y)
    (held, one), (_, other) = seen
    assert held.tolist() == np.flatnonzero(folds == 0).tolist()
    assert one.features.tobytes() == other.features.tobytes()


def learnt_combiners(monkeypatch, X, Y, **params):
    """(documents, features and hits) of every combiner that a blend fits, in order."""
    learnt = []

    def spy(pairs, *more):
        learnt.append((np.unique(pairs.rows).tolist(), pairs.features.tobytes() + pairs.hits.tobytes()))
        return fit_combiner(pairs, *more)

    for module in ("estimator", "guard"):
        monkeypatch.setattr(f"tagcore.models.blend.{module}.fit_combiner", spy)
    Blend(members=["KNN", "OneVsRestLinear"], **params).fit(X, Y)
    return learnt


def test_the_guards_documents_teach_no_combiner_that_they_judge(scored, monkeypatch):
    X, Y, folds = scored
    parts = part_numbers(folds, 0)
    assert np.bincount(parts).tolist() == [12] * 25
    assert all((folds[parts == part] == part // 5).all() for part in range(25))
    assert np.bincount(part_numbers(fold_numbers(4001, None, 0), 0)).tolist() == [401, 400] + [400] * 8
    learnt = learnt_combiners(monkeypatch, X, Y)
    for part, (documents, _) in enumerate(learnt[:25]):
        assert documents == np.flatnonzero((folds == part // 5) & (parts != part)).tolist()


@pytest.mark.parametrize("n_folds", [1, None])
def test_a_tag_of_the_judging_documents_alone_reaches_nothing_that_they_judge(scored, monkeypatch, n_folds):
    """planted on a part of a fold: the combiner that this part judges learns from the same bits as without it."""
    X, Y, _ = scored
    folds = fold_numbers(300, n_folds, 0)
    judging = part_numbers(folds, 0) == 1
    bare = Y.toarray()
    bare[:, 5] = 0
    planted = bare.copy()
    planted[judging, 5] = 1
    without, with_tag = (learnt_combiners(monkeypatch, X, sp.csr_matrix(y), n_folds=n_folds) for y in (bare, planted))
    assert without[1] == with_tag[1]  # the trial that part 1 judges
    assert without[0] != with_tag[0]  # the other one, which learns from it


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
    members = blend.guard_[CURVE + 1 :]
    best = int(np.argmax(members))
    assert blend.guard_[CURVE] < members[best] - 0.01
    assert blend.serving_ == best
    alone = OneVsRestLinear().fit(X, Y)
    assert blend.member_names[best] == "OneVsRestLinear"
    assert np.array_equal(blend.top_k(X, 5)[0], alone.top_k(X, 5)[0])
    proba = blend.predict_proba(X)  # its curve is Platt's, so that the member's scores are probabilities
    assert 0.5 < proba[Y.toarray() > 0].mean() <= 1


def test_the_guard_keeps_the_blend_where_members_know_different_things():
    source, n = demo_corpus(1500), 1200
    (block,) = source.blocks(1500)
    Y = tag_matrix(block.taggings, 1500, len(source.tags))
    X = Vectoriser(sublinear_tf=True).fit_transform(document_texts(block.documents))
    blend = Blend(members=["OneVsRestLinear", "KNN"]).fit(X[:n], Y[:n])
    assert blend.serving_ == THE_BLEND
    assert blend.guard_[CURVE] > blend.guard_[CURVE + 1 :].max()
    assert len(blend.leaf_values_) == 1  # a fold has too few documents to judge trees by
    ours = mark_hits(Y[n:], blend.top_k(X[n:], 5)[0]).ndcg(5).mean()
    for member in (member.model for member in blend._served().members):
        assert ours > mark_hits(Y[n:], member.top_k(X[n:], 5)[0]).ndcg(5).mean()
    proba, truth = blend.predict_proba(X[n:]).ravel(), Y[n:].toarray().ravel() > 0
    for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 1)):
        bin_ = (proba > low) & (proba <= high)
        assert abs(proba[bin_].mean() - truth[bin_].mean()) < 0.08


@pytest.mark.parametrize(
    ("curve", "member", "trees", "serving", "with_trees"),
    [
        ("hits", "noise", "hits", THE_BLEND, False),  # level with the curve: the curve
        ("hits", "hits", "hits", 0, False),  # all level: the first member
        ("noise", "hits", "noise", 0, False),
        ("noise", "noise", "hits", THE_BLEND, True),
        ("all but few", "all but some", "noise", 0, False),  # better by less than a standard error: the member
    ],
)
def test_of_what_is_level_the_simplest_serves(monkeypatch, curve, member, trees, serving, with_trees):
    pairs = planted_pairs(900)
    scores = {"hits": pairs.hits + 0.0, "noise": np.random.default_rng(3).random(pairs.hits.size)}
    scores |= {
        f"all but {how}": np.where(pairs.rows % step, pairs.hits, ~pairs.hits) + 0.0
        for how, step in (("few", 101), ("some", 89))
    }
    pairs.features[:, 0] = pairs.features[:, 3] = scores[member]
    said = {WITH_TREES: scores[trees], CURVE: scores[curve]}

    class Told:
        """A combiner that says what the case tells."""

        has_trees = True

        def __init__(self, number=WITH_TREES):
            self.number = number

        def without_trees(self):
            return Told(CURVE)

        def __call__(self, features, n_members):
            at = {row.tobytes(): i for i, row in enumerate(pairs.features)}
            return np.array([said[self.number][at[row.tobytes()]] for row in features])

    monkeypatch.setattr("tagcore.models.blend.guard.fit_combiner", lambda *given: Told())
    Y = sp.csr_matrix((np.ones(pairs.hits.sum()), (pairs.rows[pairs.hits], pairs.tags[pairs.hits])), shape=(900, 5))
    choice = choose(pairs, fold_numbers(900, None, 0), Y, 2, 10, 0)
    assert (choice.serving, choice.with_trees) == (serving, with_trees)


def test_the_best_few_are_those_of_all_scores():
    X, Y = noisy()
    blend = Blend(members=["KNN", "OneVsRestLinear"], pool=4).fit(X, Y)
    blend.serving_ = THE_BLEND
    scores = np.concatenate([block for _, block in blend.score_blocks(X)])
    for k in (1, 3, 15):  # the last is more than a pool
        tags, odds = blend.top_k(X, k)
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        assert np.array_equal(tags, expected)
        assert np.array_equal(odds, np.take_along_axis(scores, expected, axis=1))


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
