"""Which ratings are held out: by names alone, or the newest of each user."""

from datetime import UTC, datetime

import numpy as np
import pytest

from tagcore.features.rating_split import KIND, RatingSplit, load_side, save_split
from tagcore.ratings import Ratings, UserTaggings
from tagcore.synthetic.ratings import PlantedRatings

RATINGS = PlantedRatings(400, 80, ratings_per_user=12, seed=1).ratings()


def pairs(ratings):
    """(user name, item name, value) of every rating."""
    users, items, values = (ratings.table[c].to_pylist() for c in ("user", "item", "value"))
    names = ratings.user_names, ratings.item_names
    return [(names[0][u], names[1][i], v) for u, i, v in zip(users, items, values, strict=True)]


def test_a_drawn_share_parts_the_ratings_and_keeps_all_names():
    learnt, held_out = RatingSplit(test=0.3).apply(RATINGS)
    assert sorted(pairs(learnt) + pairs(held_out)) == sorted(pairs(RATINGS))
    assert len(held_out) / len(RATINGS) == pytest.approx(0.3, abs=0.03)
    assert learnt.user_names == held_out.user_names == RATINGS.user_names
    shares = np.bincount(held_out.table["user"].to_numpy(), minlength=400) / np.diff(RATINGS.matrix.indptr)
    assert 0.05 < shares.std() < 0.3  # users are not taken whole


def test_a_rating_stays_on_its_side_whatever_else_there_is():
    _, held_out = RatingSplit(test=0.3).apply(RATINGS)
    order = np.random.default_rng(0).permutation(len(RATINGS))[:1500]
    users, items, values = zip(*(pairs(RATINGS)[row] for row in order), strict=True)
    fewer = Ratings.from_values(users, items, values)  # other numbers for the same names
    _, held_out_of_fewer = RatingSplit(test=0.3).apply(fewer)
    assert set(pairs(held_out_of_fewer)) == set(pairs(held_out)) & set(pairs(fewer))
    _, other = RatingSplit(test=0.3, seed=1).apply(RATINGS)
    assert set(pairs(other)) != set(pairs(held_out))


def test_user_and_item_of_one_name_are_told_apart():
    mirrored = Ratings.from_values(
        [f"n{n}" for n in range(100)] * 20, [f"n{m}" for m in range(20) for _ in range(100)], [1] * 2000
    )
    _, held_out = RatingSplit(test=0.5).apply(mirrored)
    held = {(u, i) for u, i, _ in pairs(held_out)}
    both = [(f"n{a}", f"n{b}") for a in range(20) for b in range(a)]
    assert 0.3 < np.mean([((u, i) in held) == ((i, u) in held) for u, i in both]) < 0.7


def test_validation_is_a_share_of_what_is_learnt_from_and_never_of_the_test():
    learnt, test = RatingSplit(test=0.3).apply(RATINGS)
    inner, validation = RatingSplit(test=0.3, validation=0.25).apply(RATINGS)
    assert sorted(pairs(inner) + pairs(validation)) == sorted(pairs(learnt))
    assert len(validation) / len(learnt) == pytest.approx(0.25, abs=0.04)
    assert not set(pairs(validation)) & set(pairs(test))


def test_validation_ratings_of_one_seed_are_no_ones_test():
    _, validation = RatingSplit(test=0.3, validation=0.25).apply(RATINGS)
    _, test = RatingSplit(test=0.3, seed=1).apply(RATINGS)
    both = set(pairs(validation)) & set(pairs(test))
    assert len(both) / len(validation) == pytest.approx(0.3, abs=0.06)


def timed(rows):
    users, items, seconds = zip(*rows, strict=True)
    times = [None if s is None else datetime.fromtimestamp(s, UTC) for s in seconds]
    return Ratings.from_values(users, items, [1] * len(rows), times)


def test_the_newest_of_every_user_are_held_out():
    rows = [("ann", f"i{n}", 100 - n) for n in range(10)] + [("bob", f"i{n}", n) for n in range(4)]
    rows += [("cy", "i1", 5), ("cy", "i2", 5), ("cy", "i3", 5), ("cy", "i4", 5)]
    learnt, held_out = RatingSplit("newest", test=0.3).apply(timed(rows))
    assert [pair[:2] for pair in pairs(held_out)] == [
        ("ann", "i0"), ("ann", "i1"), ("ann", "i2"), ("bob", "i3"), ("cy", "i4"),
    ]  # fmt: skip
    assert len(learnt) == len(rows) - 5
    inner, validation = RatingSplit("newest", test=0.3, validation=0.3).apply(timed(rows))
    assert [pair[:2] for pair in pairs(validation)] == [("ann", "i3"), ("ann", "i4")]
    assert len(inner) == len(learnt) - 2


def test_the_newest_need_times():
    with pytest.raises(ValueError, match="a rating of user 'bob' has no time"):
        RatingSplit("newest").apply(timed([("ann", "i", 3), ("bob", "i", None)]))


def test_of_a_pair_rated_twice_only_the_last_is_on_a_side():
    rows = [("ann", "i0", 1), ("ann", "i1", 2), ("ann", "i2", 3), ("ann", "i0", 4)]
    learnt, held_out = RatingSplit("newest", test=0.34).apply(timed(rows))
    assert [pair[1] for pair in pairs(learnt)] == ["i1", "i2"]
    assert [pair[1] for pair in pairs(held_out)] == ["i0"]


def test_a_smaller_share_to_learn_from_is_part_of_a_larger_one_and_the_test_stays():
    whole, test = RatingSplit(test=0.5).apply(RATINGS)
    shares = {}
    for share in (0.2, 0.6, 1.0):
        learnt, held_out = RatingSplit(test=0.5, train=share).apply(RATINGS)
        shares[share] = set(pairs(learnt))
        assert pairs(held_out) == pairs(test)
        assert len(learnt) / len(whole) == pytest.approx(share, abs=0.04)
    assert shares[0.2] < shares[0.6] < shares[1.0] == set(pairs(whole))
    other, _ = RatingSplit(test=0.5, train=0.2, train_seed=1).apply(RATINGS)
    assert len(set(pairs(other)) & shares[0.2]) / len(other) == pytest.approx(0.2, abs=0.08)


def test_cold_users_keep_nothing_to_learn_from_and_others_everything():
    split = RatingSplit(test=0.5, cold_users=50)
    learnt, held_out = split.apply(RATINGS)
    kept = split.without_cold_users(learnt, held_out)
    cold = {u for u, _, _ in pairs(learnt)} - {u for u, _, _ in pairs(kept)}
    assert len(cold) == 50
    assert cold <= {u for u, _, _ in pairs(held_out)}
    assert [pair for pair in pairs(learnt) if pair[0] not in cold] == pairs(kept)
    again = RatingSplit(test=0.5, cold_users=50, train_seed=1)
    others = {u for u, _, _ in pairs(again.without_cold_users(learnt, held_out))}
    assert others != {u for u, _, _ in pairs(kept)}
    with pytest.raises(ValueError, match=r"400 users have ratings .*expected more than cold_users = 400"):
        RatingSplit(cold_users=400).without_cold_users(RATINGS, RATINGS)
    assert RatingSplit().without_cold_users(learnt, held_out) is learnt


@pytest.mark.parametrize(
    "wrong",
    [{"test": 0}, {"test": 1}, {"validation": 1.0}, {"kind": "official"}, {"train": 0.0}, {"cold_users": -1}],
)
def test_odd_splits_are_named(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        RatingSplit(**wrong)


def test_a_split_that_leaves_a_side_empty_is_told():
    one = Ratings.from_values(["a"], ["i"], [1])
    with pytest.raises(ValueError, match=r"the split leaves . to learn from and . to measure on of 1 ratings"):
        RatingSplit().apply(one)
    with pytest.raises(ValueError, match="the split leaves 0 to learn from and 0 to measure on of 0 ratings"):
        RatingSplit().apply(Ratings.from_values([], [], []))


def test_both_sides_and_the_tags_come_back(tmp_path):
    planted = PlantedRatings(40, 15, n_groups=3, n_tags=9, ratings_per_user=8, taggings_per_user=4)
    learnt, held_out = RatingSplit().apply(planted.ratings())
    save_split(tmp_path / "with", learnt, held_out, planted.taggings())
    save_split(tmp_path / "without", learnt, held_out, None)
    for folder in (tmp_path / "with", tmp_path / "without"):
        assert pairs(load_side(folder, "train")) == pairs(learnt)
        assert pairs(load_side(folder, "test")) == pairs(held_out)
    tags = UserTaggings.load(tmp_path / "with", KIND)
    assert tags.table.equals(planted.taggings().table)
    assert tags.tag_names == planted.tag_names
    assert UserTaggings.load(tmp_path / "without", KIND) is None
