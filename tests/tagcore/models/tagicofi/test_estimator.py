"""TagiCoFi as an estimator: what tags are worth on planted ratings, cold users, fallbacks, fold-in."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from tagcore.baselines import DampedBiases, ItemMean
from tagcore.graph.profiles import TagProfiles, user_tag_counts
from tagcore.graph.similarity import raw_links, tag_graph
from tagcore.models import PMF, ShuffledTagiCoFi, TagiCoFi
from tagcore.models.tagicofi import recommending
from tagcore.models.tagicofi.starts import first_factors
from tagcore.ratings import Ratings, UserTaggings
from tagcore.shards import InProcess
from tagcore.synthetic.ratings import PlantedRatings
from tagcore.training import Checkpoints
from tests.tagcore.models.tagicofi.problems import M, N, planted

ALL_LINKS = {"n_neighbors": None, "cg_tol": 1e-10, "cg_steps": 200, "random_state": 0}


@pytest.fixture(scope="module")
def ratings():
    return planted().ratings()


@pytest.fixture(scope="module")
def taggings():
    return planted().taggings()


@pytest.fixture(scope="module")
def model(ratings, taggings):
    return TagiCoFi(n_factors=3, n_neighbors=None, random_state=0).fit(ratings, taggings)


def held_out(kinship, cold=60, size=(450, 250), seed=17):
    """(ratings to learn from, taggings, held-out triples, which of them are of cold users): all ratings of the first
    users are held out, and half of those of others. No default of the model was chosen on these sizes and seeds."""
    facts = {"n_tags": 120, "ratings_per_user": 30, "taggings_per_user": 30, "taggers": 1.0, "kinship": kinship}
    made = PlantedRatings(*size, **facts, seed=seed)
    whole = made.ratings()
    users, items, values = (whole.table[c].to_numpy() for c in ("user", "item", "value"))
    out = (np.random.default_rng(0).random(len(whole)) < 0.5) | (users < cold)
    triples = users[out], items[out], values[out]
    return whole.take(np.flatnonzero(~out)), made.taggings(), triples, users[out] < cold


def errors(model, data):
    """(MAE of warm users, of cold ones) on held-out ratings."""
    learnt, taggings, (users, items, values), cold = data
    error = np.abs(model.fit(learnt, taggings).predict(users, items) - values)
    return error[~cold].mean(), error[cold].mean()


@pytest.mark.parametrize(("size", "seed"), [((450, 250), 17), ((350, 400), 29)])
def test_where_tags_carry_signal_they_help_on_top_of_biases(size, seed):
    data = held_out(0.6, size=size, seed=seed)
    found = {type(m).__name__: errors(m, data)[0] for m in (DampedBiases(), *(c(random_state=0) for c in OURS))}
    assert found["TagiCoFi"] < 0.97 * min(found["PMF"], found["DampedBiases"], found["ShuffledTagiCoFi"]), found


OURS = (TagiCoFi, PMF, ShuffledTagiCoFi)


def test_cold_users_are_served_by_their_tags():
    data = held_out(0.9)
    ours, means = errors(TagiCoFi(random_state=0), data)[1], errors(ItemMean(), data)[1]
    assert ours < 0.95 * means
    shuffled = errors(ShuffledTagiCoFi(random_state=0), data)[1]
    assert abs(shuffled - means) < 0.02


def test_someone_unknown_is_served_by_tags_alone():
    """users whom the model never saw, by predict_for_tags, are served as well as by a fit that knew their tags."""
    learnt, taggings, (users, items, values), cold = held_out(0.9)
    known = taggings.table.filter(np.asarray(taggings.table["user"]) >= 60)
    model = TagiCoFi(random_state=0).fit(learnt, UserTaggings(known, taggings.tag_names))
    counts = user_tag_counts(taggings, 450)
    predicted = np.empty(cold.sum())
    for user in range(60):
        mine = users[cold] == user
        row = counts[user]
        tags = np.repeat(row.indices, row.data.astype(int))
        predicted[mine] = model.predict_for_tags(tags, items[cold][mine])
    error = np.abs(predicted - values[cold]).mean()
    assert error < 0.95 * errors(ItemMean(), (learnt, taggings, (users, items, values), cold))[1]
    best, scores = model.recommend_for_tags(counts[0].indices, 7)
    np.testing.assert_array_equal(scores, model.predict_for_tags(counts[0].indices, best))
    everything = model.predict_for_tags(counts[0].indices, range(250))
    np.testing.assert_array_equal(best, np.argsort(-everything, kind="stable")[:7])
    assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("laplacian", ["sym", "plain", "meandeg"])
@pytest.mark.parametrize("biases", ["none", "both"])
def test_a_user_who_is_folded_in_again_is_where_the_fit_put_him(ratings, taggings, laplacian, biases, monkeypatch):
    """given all others and the items, a user's factors are the minimum of his own block."""
    model = TagiCoFi(n_factors=3, laplacian=laplacian, biases=biases, max_iter=60, tol=0.0, **ALL_LINKS)
    model.fit(ratings, taggings)
    graph = tag_graph(TagProfiles.of(user_tag_counts(taggings, N)), model._likeness)
    rated, V, U = ratings.matrix, model.item_factors_, model.user_factors_
    for user in np.flatnonzero(graph.degrees > 0)[:5]:
        row, links = rated[user], graph.links[user]
        target = row.data - model.mean_ - model.item_biases_[row.indices] - model.user_biases_[user]
        A = V[row.indices].T @ V[row.indices] + (2.0 + 20.0 * graph.degrees[user]) * np.eye(3)
        expected = np.linalg.solve(A, V[row.indices].T @ target + 20.0 * (links @ U).ravel())
        profile = user_tag_counts(taggings, N)[user]
        himself = np.array([user])  # or he would be his own neighbour
        monkeypatch.setattr(recommending, "raw_links", lambda a, _, *rest, own=himself: raw_links(a, own, *rest))
        found = model.fold_in(np.repeat(profile.indices, profile.data.astype(int)), row.indices, row.data)
        np.testing.assert_allclose(found.factors, expected, atol=1e-10)
        assert found.bias == pytest.approx(model.user_biases_[user])


def test_who_neither_rated_nor_tagged_gets_the_mean_of_the_item_and_what_nobody_rated_that_of_the_user():
    rated = [("a", "x", 4), ("a", "y", 1), ("b", "x", 2), ("c", "y", 5)]
    known = Ratings.from_values(*map(list, zip(*rated, strict=True)))
    named = Ratings(known.table, [*known.user_names, "nobody", "tagger"], [*known.item_names, "nothing"])
    taggings = UserTaggings.from_values(named, ["a", "b", "tagger"], ["x", "x", "x"], ["t", "t", "t"])
    for biases in ("none", "global"):
        model = TagiCoFi(n_factors=2, biases=biases, random_state=0).fit(named, taggings)
        assert model.predict([3, 3, -1, 3], [0, 1, 0, 2]).tolist() == pytest.approx([3.0, 3.0, 3.0, 3.0])
        assert model.predict([0, 1, 2], [2, 2, -1]).tolist() == pytest.approx([2.5, 2.0, 5.0])
        assert np.isfinite(model.predict([4], [2])).all()
    model = TagiCoFi(n_factors=2, damping=0, similarity="pearson", scope="common", random_state=0).fit(named, taggings)
    np.testing.assert_allclose(model.predict([3], [0]), [3.0])
    strength = 20.0 / (2.0 + 20.0 * 2 / np.sqrt(4))  # of either neighbour: links of 1/2, divided by degrees of 1
    expected = strength * (model.user_factors_[0] + model.user_factors_[1]) / 2
    np.testing.assert_allclose(model.user_factors_[4], expected, atol=2e-2)


@pytest.mark.parametrize("solver", ["als", "gd"])
def test_a_cold_user_is_where_the_neighbours_put_him(ratings, taggings, solver):
    learnt = ratings.take(np.flatnonzero(ratings.table["user"].to_numpy() >= 8))
    steps = {"max_iter": 30} if solver == "gd" else {"max_iter": 200, "tol": 0.0}
    model = TagiCoFi(n_factors=3, solver=solver, **ALL_LINKS | steps).fit(learnt, taggings)
    graph = tag_graph(TagProfiles.of(user_tag_counts(taggings, N)), model._likeness)
    cold = np.flatnonzero(graph.degrees[:8] > 0)
    place = 20.0 * graph.links[cold] @ model.user_factors_ / (2.0 + 20.0 * graph.degrees[cold])[:, None]
    np.testing.assert_allclose(model.user_factors_[cold], place, atol=1e-6)
    assert not model.user_factors_[np.flatnonzero(graph.degrees[:8] == 0)].any()


def test_without_tags_it_is_pmf_to_the_bit(ratings, taggings):
    pmf = PMF(n_factors=3, random_state=4).fit(ratings, taggings)
    for other in (TagiCoFi(n_factors=3, random_state=4).fit(ratings), TagiCoFi(n_factors=3, beta=0.0, random_state=4)):
        other = other if hasattr(other, "mean_") else other.fit(ratings, taggings)
        assert np.array_equal(other.user_factors_, pmf.user_factors_)
        assert np.array_equal(other.predict(range(M), range(M)), pmf.predict(range(M), range(M)))
    published = PMF.published(max_iter=5, random_state=4).fit(ratings)
    assert np.array_equal(
        TagiCoFi.published(max_iter=5, random_state=4).fit(ratings).item_factors_, published.item_factors_
    )


def test_items_that_are_tagged_alike_help_each_other(ratings, taggings):
    """so that an item that nobody rated has a place; without γ it has none, and nothing else changes."""
    item = int(np.bincount(taggings.table["item"]).argmax())
    learnt = ratings.take(np.flatnonzero(ratings.table["item"].to_numpy() != item))
    model = TagiCoFi(n_factors=3, gamma=5.0, random_state=0).fit(learnt, taggings)
    assert np.abs(model.item_factors_[item]).max() > 1e-3
    assert len(set(model.predict(range(N), [item] * N).round(9))) > N // 2
    without = TagiCoFi(n_factors=3, gamma=0.0, random_state=0).fit(learnt, taggings)
    assert not without.item_factors_[item].any()
    expected = without.mean_ + without.user_biases_
    rated = np.diff(without.rated_starts_) > 0
    np.testing.assert_allclose(without.predict(range(N), [item] * N)[rated], expected[rated])


def test_the_published_model_is_the_papers(ratings, taggings):
    model = TagiCoFi.published(random_state=3, max_iter=40)
    assert (model.n_factors, model.alpha, model.beta, model.step, model.biases) == (10, 1.0, 50.0, 0.001, "none")
    rng = np.random.default_rng(np.random.SeedSequence(3))
    begin = first_factors(model, ratings.matrix)
    assert np.array_equal(begin["users"], rng.random((N, 10)))
    assert np.array_equal(begin["items"], rng.random((M, 10)))
    told = []
    model.fit(ratings, taggings, progress=told_to(told))
    assert len(told) == 40
    assert (np.diff([known["objective"] for *_, known in told]) < 0).all()


def test_a_warm_start_goes_on(ratings, taggings):
    once = TagiCoFi(n_factors=3, max_iter=6, tol=0.0, random_state=0).fit(ratings, taggings)
    twice = TagiCoFi(n_factors=3, max_iter=3, tol=0.0, random_state=0, warm_start=True)
    twice.fit(ratings, taggings).fit(ratings, taggings)
    assert np.array_equal(twice.user_factors_, once.user_factors_)


def told_to(told):
    return lambda *known: told.append(known)


def test_a_training_that_was_killed_goes_on_with_the_same_bits(ratings, taggings, tmp_path):
    for solver in ("als", "gd"):
        settings = TagiCoFi(n_factors=3, solver=solver, max_iter=6, tol=0.0, n_shards=3, gamma=1.0, random_state=0)
        whole = clone(settings).fit(ratings, taggings)

        def kill(done, total, known):
            if done == 4:
                raise KeyboardInterrupt

        checkpoints = Checkpoints(tmp_path / solver, "x", every_seconds=0)
        with pytest.raises(KeyboardInterrupt):
            clone(settings).fit(ratings, taggings, progress=kill, checkpoints=checkpoints)
        told = []
        again = clone(settings)
        again.fit(ratings, taggings, executor=InProcess(2), checkpoints=checkpoints, progress=told_to(told))
        assert len(told) == 3
        for name in again._arrays:
            assert np.array_equal(getattr(again, name), getattr(whole, name)), (solver, name)


def test_predictions_keep_to_the_scale_of_the_ratings_and_ranks_do_not(ratings, taggings):
    free = TagiCoFi(n_factors=3, random_state=0).fit(replace(ratings, scale=None), taggings)
    kept = TagiCoFi(n_factors=3, random_state=0).fit(replace(ratings, scale=(0.5, 5.0)), taggings)
    everyone = np.repeat(np.arange(N), M), np.tile(np.arange(M), N)
    raw = free.predict(*everyone)
    assert raw.max() > 5.0
    np.testing.assert_array_equal(kept.predict(*everyone), np.clip(raw, 0.5, 5.0))
    np.testing.assert_array_equal(kept.top_k(range(N), 5)[0], free.top_k(range(N), 5)[0])


def test_users_may_have_the_tags_of_what_they_rated(ratings, taggings):
    """a user who never tags is linked by the tags that others gave to what he rated."""
    silent = int(np.flatnonzero(np.diff(user_tag_counts(taggings, N).indptr) == 0)[0])
    own = TagiCoFi(n_factors=3, random_state=0).fit(ratings, taggings)
    rated = TagiCoFi(n_factors=3, profiles="rated", random_state=0).fit(ratings, taggings)
    assert own.degrees_[silent] == 0 < rated.degrees_[silent]


def test_counts_rank_what_was_used_above_what_was_not(ratings, taggings):
    model = TagiCoFi(n_factors=8, feedback="counts", alpha=0.1, beta=0.5, random_state=0).fit(ratings, taggings)
    used = ratings.matrix.toarray() > 0
    scores = model._score_items(np.arange(N))
    assert scores[used].mean() > 0.7
    assert scores[~used].mean() < 0.4
    np.testing.assert_allclose(model.predict([-1], [4]), used[:, 4].mean())
    with pytest.raises(ValueError, match='feedback="counts" needs solver="als"'):
        TagiCoFi(feedback="counts", solver="gd").fit(ratings)


@pytest.mark.parametrize("negative", [TagiCoFi.published(n_factors=30), TagiCoFi(n_factors=21, biases="none")])
def test_ratings_below_zero_are_learnt(negative):
    ratings = Ratings.from_values(["a", "a", "b", "b", "c"], ["x", "y", "x", "z", "y"], [-5.0, -3.0, 4.0, -6.0, -2.0])
    users, items = (ratings.table[side].to_numpy() for side in ("user", "item"))
    error = negative.fit(ratings).predict(users, items) - ratings.table["value"].to_numpy()
    assert np.abs(error).mean() < 2.0  # as they would be with every factor 0: 4


def test_of_an_item_that_is_told_twice_the_last_value_counts_and_odd_values_are_named(model, ratings):
    once, twice = model.fold_in(items=[3], values=[5.0]), model.fold_in(items=[3, 77, 3], values=[1.0, 2.0, 5.0])
    np.testing.assert_array_equal(once.factors, twice.factors)
    assert once.bias == twice.bias
    with pytest.raises(ValueError, match="the value of item 3 is nan, expected finite numbers"):
        model.recommend_for_tags([], 2, items=[3], values=[np.nan])
    with pytest.raises(ValueError, match=r"the value of item 3 is -2\.0, expected counts from 0"):
        TagiCoFi(feedback="counts", n_factors=2).fit(ratings).fold_in(items=[3], values=[-2.0])


def test_odd_tags_and_items_are_left_out(model):
    nobody = model.fold_in([-1, 16, 99])
    assert not nobody.live
    best, scores = model.recommend_for_tags([-5], 4)
    np.testing.assert_array_equal(best, np.argsort(-model.item_fallbacks_, kind="stable")[:4])
    np.testing.assert_array_equal(scores, model.item_fallbacks_[best])
    by_rating = model.recommend_for_tags([], M, items=[3, 77], values=[5.0, 1.0])[0]
    assert 3 not in by_rating
    assert by_rating.size == M - 1
    with pytest.raises(ValueError, match="2 items and 1 values"):
        model.fold_in([], [1, 2], [3.0])
    with pytest.raises(ValueError, match="k must be at least 1"):
        model.recommend_for_tags([0], 0)
    assert model.predict_for_tags([0], [-1, 10**6]).tolist() == [model.fallback_] * 2


def test_a_stored_model_answers_as_before_also_to_tags(model, tmp_path):
    model.save(tmp_path / "model")
    back = TagiCoFi.load(tmp_path / "model")
    np.testing.assert_array_equal(back.recommend_for_tags([1, 2], 9)[0], model.recommend_for_tags([1, 2], 9)[0])
    np.testing.assert_array_equal(back.recommend_for_tags([1, 2], 9)[1], model.recommend_for_tags([1, 2], 9)[1])
    np.testing.assert_array_equal(back.predict(range(M), range(M)), model.predict(range(M), range(M)))


def test_the_control_keeps_the_graph_and_forgets_whose_it_is(ratings, taggings):
    true, shuffled = (c(n_factors=3, n_neighbors=None, random_state=0).fit(ratings, taggings) for c in OURS[::2])
    assert not np.array_equal(true.degrees_, shuffled.degrees_)
    np.testing.assert_allclose(np.sort(true.degrees_), np.sort(shuffled.degrees_), rtol=1e-12)
    assert (
        sp.csr_matrix((shuffled.tag_counts_, shuffled.tag_ids_, shuffled.tag_starts_)).sum() == true.tag_counts_.sum()
    )
