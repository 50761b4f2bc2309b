"""Planted ratings: half stars around the planted inner products, and users who tag alike rate alike."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity

from tagcore.ratings import Ratings
from tagcore.store.schemas import RATINGS, USER_TAGGINGS
from tagcore.synthetic.ratings import GENERATOR, PlantedRatings


def small(n_users=150, n_items=60, **changes):
    facts = {"n_factors": 4, "n_groups": 5, "n_tags": 40, "ratings_per_user": 12, "taggings_per_user": 8, "seed": 3}
    return PlantedRatings(n_users, n_items, **{**facts, **changes})


def joined(planted, users):
    blocks = list(planted.blocks(users))
    return tuple(pa.concat_tables([getattr(b, name) for b in blocks]) for name in ("ratings", "taggings"))


def columns(table, *names):
    return (table[name].to_numpy() for name in names)


def profiles(planted):
    user, tag = columns(planted.taggings().table, "user", "tag")
    return sp.csr_matrix((np.ones(user.size), (user, tag)), shape=(planted.n_users, planted.n_tags))


def exact(planted):
    """the planted inner product behind every rating, and the rating."""
    truth = planted.truth
    user, item, value = columns(planted.ratings().table, "user", "item", "value")
    return np.einsum("nd,nd->n", truth.users[user], truth.items[item]), value


@given(users=st.integers(1, 60), n=st.integers(1, 50))
@settings(max_examples=25)
def test_blocks_and_size_do_not_change_a_user(users, n):
    ratings, taggings = joined(small(50), 8192)
    cut_ratings, cut_taggings = joined(small(n), users)
    below = pa.compute.less(ratings["user"], n), pa.compute.less(taggings["user"], n)
    assert cut_ratings.combine_chunks() == ratings.filter(below[0]).combine_chunks()
    assert cut_taggings.combine_chunks() == taggings.filter(below[1]).combine_chunks()
    np.testing.assert_array_equal(small(n).truth.users, small(50).truth.users[:n])


def test_every_process_draws_the_same():
    ratings, taggings = joined(small(), 64)
    drawn = [*columns(ratings, "user", "item", "value"), *columns(taggings, "user", "item", "tag")]
    digest = hashlib.sha256(np.concatenate([2 * c for c in drawn]).astype(np.int64)).hexdigest()
    assert digest[:16] == {1: "2b2bd5346fd6357b"}[GENERATOR], "same parameters, other ratings: raise GENERATOR"


def test_tables_are_of_the_schema_and_in_half_stars():
    planted = small()
    ratings, taggings = joined(planted, 64)
    assert ratings.schema == RATINGS
    assert taggings.schema == USER_TAGGINGS
    user, item, value = columns(ratings, "user", "item", "value")
    assert set(2 * value) <= set(range(1, 11))
    assert len({*zip(user, item, strict=True)}) == user.size
    assert set(user) == set(range(150))
    assert value.size / 150 == pytest.approx(12, rel=0.15)
    triples = list(zip(*columns(taggings, "user", "item", "tag"), strict=True))
    assert len(set(triples)) == len(triples)
    assert {t[:2] for t in triples} <= {*zip(user, item, strict=True)}
    assert 0.6 < len({t[0] for t in triples}) / 150 < 0.8
    assert len(planted.tag_names) == len(set(planted.tag_names)) == 40


def test_without_noise_a_rating_is_the_inner_product_in_half_stars():
    inner, value = exact(small(noise=0))
    np.testing.assert_array_equal(value, np.clip(np.floor(2 * inner + 0.5) / 2, 0.5, 5))


def test_noise_is_as_large_as_planted():
    inner, value = exact(small(3000, noise=0.5))
    off = (value - inner)[(inner > 2) & (inner < 3.5)]  # far from the ends of the scale
    assert off.mean() == pytest.approx(0, abs=0.02)
    assert off.std() == pytest.approx(np.sqrt(0.5**2 + 0.5**2 / 12), rel=0.03)
    assert value.mean() == pytest.approx(3.5, abs=0.15)
    assert 0.8 < value.std() < 1.2


def test_tag_profiles_tell_the_groups():
    planted = small(300, taggers=1, taggings_per_user=25)
    tags = profiles(planted)
    groups = planted.truth.groups
    assert set(groups) == set(range(5))
    pairs = np.triu_indices(300, 1)
    same = (groups[:, None] == groups)[pairs]
    alike = cosine_similarity(tags)[pairs]
    assert roc_auc_score(same, alike) > 0.95
    user, tag = columns(planted.taggings().table, "user", "tag")
    assert np.mean(tag % 5 == groups[user]) == pytest.approx(0.8 + 0.2 / 5, abs=0.05)


@pytest.mark.parametrize(("kinship", "alike"), [(0.8, True), (0.0, False)])
def test_who_tags_alike_rates_alike(kinship, alike):
    planted = small(250, 40, ratings_per_user=1000, taggers=1, kinship=kinship)
    values = planted.ratings().matrix.toarray()
    assert (values > 0).mean() > 0.95
    tastes = np.corrcoef(values - values.mean(axis=0))
    similar = cosine_similarity(profiles(planted))
    np.fill_diagonal(similar, -1)
    nearest = tastes[np.arange(250), similar.argmax(axis=1)].mean()
    anybody = (tastes.sum() - 250) / (250 * 249)
    assert (nearest - anybody > 0.2) == alike
    if not alike:
        assert abs(nearest - anybody) < 0.1


def test_stray_tags_hide_the_groups():
    planted = small(200, taggers=1, stray=1)
    groups = planted.truth.groups
    pairs = np.triu_indices(200, 1)
    score = roc_auc_score((groups[:, None] == groups)[pairs], cosine_similarity(profiles(planted))[pairs])
    assert score == pytest.approx(0.5, abs=0.05)


def test_a_group_shares_its_taste():
    truth = small(4000, kinship=0.6).truth
    means = np.array([truth.users[truth.groups == g].mean(axis=0) for g in range(5)])
    within = truth.users[:, 2:] - means[truth.groups][:, 2:]
    assert within.var() == pytest.approx(0.4, rel=0.05)
    assert truth.users.shape == (4000, 6)
    assert np.all(truth.users[:, 0] == 1)
    assert np.all(truth.items[:, 1] == 1)


def test_popular_items_get_most_ratings():
    item = small(2000, 200).ratings().table["item"].to_numpy()
    counts = np.bincount(item, minlength=200)
    assert counts[:20].sum() > 2.5 * counts[-20:].sum()


def test_goes_into_the_store(tmp_path):
    ratings = small().ratings()
    ratings.save(tmp_path / "ratings", inputs={"source": small().fingerprint()})
    stored = Ratings.load(tmp_path / "ratings")
    assert stored.table.equals(ratings.table)
    assert stored.user_names == ratings.user_names
    assert stored.user_names[3] == "user000003"
    assert len(stored.item_names) == 60
    assert small(0).ratings().matrix.shape == (0, 60)
    assert len(small(0).taggings()) == 0


def test_fingerprint_names_the_content():
    others = [
        {"n_users": 151},
        {"n_items": 61},
        {"n_factors": 5},
        {"n_groups": 6},
        {"n_tags": 41},
        {"ratings_per_user": 13},
        {"taggings_per_user": 9},
        {"kinship": 0.5},
        {"noise": 0.4},
        {"taggers": 0.6},
        {"stray": 0.1},
        {"seed": 4},
    ]
    prints = [small().fingerprint(), *(small(**o).fingerprint() for o in others)]
    assert small().fingerprint() == prints[0]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_users": -1}, "n_users = -1, expected a whole number from 0"),
        ({"n_items": 0}, "n_items = 0, expected a whole number from 1"),
        ({"n_factors": 1.5}, "n_factors = 1.5, expected a whole number"),
        ({"n_groups": 0}, "n_groups = 0"),
        ({"n_tags": 4}, "n_tags = 4, expected a whole number from 5"),
        ({"ratings_per_user": 0}, "ratings_per_user = 0"),
        ({"taggings_per_user": float("inf")}, "taggings_per_user = inf"),
        ({"kinship": 1.1}, "kinship = 1.1, expected a number from 0 to 1"),
        ({"noise": -0.1}, "noise = -0.1"),
        ({"taggers": "all"}, "taggers = 'all'"),
        ({"stray": float("nan")}, "stray = nan"),
        ({"seed": True}, "seed = True"),
    ],
)
def test_odd_parameters_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


@given(
    n_items=st.integers(1, 9),
    n_groups=st.integers(1, 4),
    tags=st.integers(0, 5),
    per_user=st.floats(1, 30),
    shares=st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 3),
)
@settings(max_examples=60)
def test_small_worlds_are_sound(n_items, n_groups, tags, per_user, shares):
    kinship, taggers, stray = shares
    planted = PlantedRatings(
        20,
        n_items,
        n_factors=1,
        n_groups=n_groups,
        n_tags=n_groups + tags,
        ratings_per_user=per_user,
        taggings_per_user=per_user,
        kinship=kinship,
        taggers=taggers,
        stray=stray,
    )
    user, item, value = columns(planted.ratings().table, "user", "item", "value")
    assert set(user) == set(range(20))
    assert 0 <= item.min() <= item.max() < n_items
    assert 0.5 <= value.min() <= value.max() <= 5
    tagger, tag = columns(planted.taggings().table, "user", "tag")
    assert np.all((tag >= 0) & (tag < n_groups + tags))
    assert set(tagger) == (set(range(20)) if taggers == 1 else set(tagger) if taggers else set())
