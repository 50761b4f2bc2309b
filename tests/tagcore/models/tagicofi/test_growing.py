"""New users, items, ratings and tags on top of a fitted TagiCoFi."""

from dataclasses import replace

import numpy as np
import pytest

from tagcore.baselines import ItemMean
from tagcore.models import PMF, TagiCoFi
from tagcore.ratings import Ratings, UserTaggings
from tests.tagcore.models.tagicofi.problems import M, N, planted
from tests.tagcore.models.tagicofi.test_estimator import held_out

TIGHT = {"n_factors": 3, "n_neighbors": None, "cg_tol": 1e-6, "max_iter": 150, "tol": 0.0}


@pytest.fixture(scope="module")
def whole():
    made = planted()
    return made.ratings(), made.taggings()


def first_users(ratings, taggings, n):
    """Ratings and taggings of users below n, who alone have names."""
    user, tagger = (t.table["user"].to_numpy() for t in (ratings, taggings))
    early = replace(ratings.take(np.flatnonzero(user < n)), user_names=ratings.user_names[:n])
    return early, UserTaggings(taggings.table.filter(tagger < n), taggings.tag_names)


def later_users(ratings, taggings, n):
    user, tagger = (t.table["user"].to_numpy() for t in (ratings, taggings))
    return ratings.take(np.flatnonzero(user >= n)), UserTaggings(taggings.table.filter(tagger >= n), taggings.tag_names)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"biases": "none"},
        {"gamma": 2.0, "n_neighbors": 2},
        {"feedback": "counts", "alpha": 0.5},
        {"n_neighbors": 3},
    ],
)
def test_what_is_told_again_changes_nothing(whole, settings):
    """at the minimum, every block is at its own."""
    model = TagiCoFi(**TIGHT | settings, random_state=0).fit(*whole)
    U, V, starts = model.user_factors_, model.item_factors_, model.rated_starts_
    degrees = model.degrees_, model.item_degrees_
    again = whole[0].take(np.arange(0, len(whole[0]), 5))
    model.partial_fit(again)
    np.testing.assert_allclose(model.user_factors_ @ model.item_factors_.T, U @ V.T, atol=5e-3)
    np.testing.assert_allclose(model.degrees_, degrees[0], rtol=1e-12)  # links that others chose are links
    np.testing.assert_allclose(model.item_degrees_, degrees[1], rtol=1e-12)
    assert np.array_equal(model.rated_starts_, starts)


def test_new_users_are_learnt_and_those_who_are_not_named_stay_to_the_bit(whole):
    early, late = first_users(*whole, 30), later_users(*whole, 30)
    model = TagiCoFi(n_factors=3, random_state=0).fit(*early)
    before = model.user_factors_, model.item_factors_, model.user_biases_
    assert model.partial_fit(*late) is model
    assert (model.n_users_, model.n_items_) == (N, M)
    assert np.array_equal(model.user_factors_[:30], before[0])
    assert np.array_equal(model.user_biases_[:30], before[2])
    named = np.unique(late[0].table["item"].to_numpy())
    others = np.setdiff1d(np.arange(M), named)
    assert np.array_equal(model.item_factors_[others], before[1][others])
    assert np.array_equal(model.rated_items_, whole[0].matrix.indices)
    assert np.array_equal(model.rated_values_, whole[0].matrix.data)
    seen = set(whole[0].matrix[35].indices)
    assert not seen & set(model.recommend(35, M)[0])


def test_new_users_are_served_nearly_as_by_a_new_fit():
    learnt, taggings, (users, items, values), _ = held_out(0.8, cold=0)
    early, late = first_users(learnt, taggings, 400), later_users(learnt, taggings, 400)
    new = users >= 400
    grown = TagiCoFi(random_state=0).fit(*early).partial_fit(*late)
    anew = TagiCoFi(random_state=0).fit(learnt, taggings)
    means = ItemMean().fit(learnt)
    grown, anew, means = (np.abs(m.predict(users, items) - values)[new].mean() for m in (grown, anew, means))
    assert grown < 1.03 * anew
    assert grown < 0.9 * means


def test_who_only_tags_is_put_among_his_neighbours(whole):
    early, (_, tags) = first_users(*whole, 30), later_users(*whole, 30)
    model = TagiCoFi(n_factors=3, random_state=0).fit(*early)
    nothing = replace(whole[0].take(np.arange(0)), user_names=whole[0].user_names)
    model.partial_fit(nothing, tags)
    tagger = int(tags.table["user"].to_numpy()[0])
    assert model.degrees_[tagger] > 0
    assert np.abs(model.user_factors_[tagger]).max() > 0
    row = tags.table.filter(tags.table["user"].to_numpy() == tagger)
    unknown = TagiCoFi(n_factors=3, random_state=0).fit(*early).fold_in(row["tag"].to_numpy())
    assert np.corrcoef(unknown.factors, model.user_factors_[tagger])[0, 1] > 0.9


def test_new_items_new_tags_and_changed_minds(whole, tmp_path):
    model = TagiCoFi(n_factors=3, gamma=1.0, random_state=0).fit(*whole)
    ratings = Ratings.from_values(["user000000"] * 2, ["item000003", "new"], [5.0, 4.0])
    names = [*whole[0].item_names, "new"]
    first = whole[0].matrix[0].indices[0]
    table = ratings.table.set_column(1, ratings.table.schema.field(1), [np.array([first, M], np.int32)])
    batch = Ratings(table, whole[0].user_names, names)
    tags = UserTaggings.from_values(batch, ["user000000", "user000001"], ["new", "new"], ["fresh", "fresh"])
    shifted = tags.table.set_column(2, tags.table.schema.field(2), [np.full(2, 16, np.int32)])
    model.partial_fit(batch, UserTaggings(shifted, [*whole[1].tag_names, "fresh"]))
    assert (model.n_items_, model.n_tags_) == (M + 1, 17)
    row = slice(*model.rated_starts_[:2])
    assert dict(zip(model.rated_items_[row], model.rated_values_[row], strict=True))[first] == 5.0
    assert model.rated_items_.size == whole[0].matrix.nnz + 1
    model.save(tmp_path / "model")
    back = TagiCoFi.load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict(range(N), [M] * N), model.predict(range(N), [M] * N))
    assert back.fold_in([16]).live


def test_a_first_batch_is_a_fit_and_odd_ones_leave_the_model_as_it_was(whole):
    model = PMF(n_factors=3, random_state=0).partial_fit(*whole)
    assert np.array_equal(model.user_factors_, PMF(n_factors=3, random_state=0).fit(*whole).user_factors_)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="1 users, expected the 40 that the model knows"):
        model.partial_fit(Ratings.from_values(["a"], ["i"], [1]))
    assert vars(model) == before
    rated = TagiCoFi(n_factors=3, profiles="rated", random_state=0).fit(*whole)
    with pytest.raises(ValueError, match='new tags need profiles="own"'):
        rated.partial_fit(*whole)
    assert rated.partial_fit(whole[0]) is rated


def test_how_popular_items_are_is_told_of_all_by_the_same_number_of_users():
    few = Ratings.from_values(list("abcd"), list("xyzx"), [1.0] * 4)
    model = TagiCoFi(feedback="counts", n_factors=2).fit(few)
    users = [*"abcd", *(f"new{i}" for i in range(6))]
    more = Ratings.from_values(users, ["x", "y", "z", *["x"] * 7], [1.0] * 10)
    model.partial_fit(more)
    np.testing.assert_allclose(model.item_fallbacks_, [0.8, 0.1, 0.1])
