"""What stays of rare tags and of users who hardly tag: the one fixed point, whatever the order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.features.pruning import Pruning
from tagcore.features.rating_statistics import RatingStatistics
from tagcore.ratings import Ratings, UserTaggings
from tagcore.readers.ratings import RatingsSource


def by_hand(triples, least, rounds=1000):
    """Users, items and tags dropped one at a time, in an order of their own."""
    triples = set(triples)
    for _ in range(rounds):
        before = set(triples)
        for whose, counted in ((1, 2), (0, 2), (2, 1)):
            for one in {t[whose] for t in triples}:
                if len({t[counted] for t in triples if t[whose] == one}) < least:
                    triples = {t for t in triples if t[whose] != one}
        if triples == before:
            return triples
    raise AssertionError


def named(ratings, taggings):
    columns = (taggings.table[c].to_pylist() for c in ("user", "item", "tag"))
    names = (ratings.user_names, ratings.item_names, taggings.tag_names)
    return {tuple(n[i] for n, i in zip(names, row, strict=True)) for row in zip(*columns, strict=True)}


@settings(max_examples=30)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 4)), max_size=60), st.integers(0, 3))
def test_the_fixed_point_is_that_of_any_order(triples, least):
    numbers = (*range(6), 9)
    ratings = Ratings.from_values([f"u{n}" for n in numbers], [f"i{n}" for n in numbers], range(7))
    given = sorted((f"u{u}", f"i{i}", f"t{t}") for u, i, t in triples)
    taggings = UserTaggings.from_values(ratings, *map(list, zip(*given, strict=True)) if given else ([], [], []))
    pruning = Pruning(least, least, least)
    expected = by_hand(given, least)
    if not expected:
        with pytest.raises(ValueError, match="pruning leaves none of 7 users"):
            pruning.apply(ratings, taggings)
        return
    kept, tags = pruning.apply(ratings, taggings)
    assert named(kept, tags) == expected
    assert set(kept.user_names) == {user for user, _, _ in expected}
    assert len(kept) == len(kept.user_names)  # each has one rating, on any item
    assert set(tags.tag_names) == {tag for _, _, tag in expected}


def test_who_has_no_rating_does_not_count_and_titles_and_genres_go_along():
    ratings = Ratings.from_values(["a", "b", "b"], ["x", "y", "z"], [1, 2, 3])
    ratings = Ratings(ratings.table, [*ratings.user_names, "c"], ratings.item_names, ["X", "Y", "Z"], (1.0, 5.0))
    taggings = UserTaggings.from_values(ratings, ["b", "c"], ["y", "x"], ["red", "red"])
    genres = taggings.table.select(["item", "tag"])
    kept, tags = Pruning(1, 1, 1).apply(ratings, UserTaggings(taggings.table, taggings.tag_names, genres))
    assert (kept.user_names, kept.item_names, kept.item_titles) == (["b"], ["y", "z"], ["Y", "Z"])
    assert kept.scale == (1.0, 5.0)
    assert tags.item_tags.to_pydict() == {"item": [0], "tag": [0]}
    with pytest.raises(ValueError, match="min_tags_per_user is -1, expected a number from 0"):
        Pruning(min_tags_per_user=-1)


def test_one_pass_leaves_more_than_the_fixed_point():
    rows = [(u, i, t) for u in range(4) for i in range(4) for t in range(3)] + [(9, 0, 7), (9, 1, 7), (9, 2, 7)]
    ratings = Ratings.from_values([f"u{n}" for n in (0, 1, 2, 3, 9)], list("01234"), [1] * 5)
    named_rows = [(f"u{u}", str(i), f"t{t}") for u, i, t in rows] + [("u9", "3", f"t{n}") for n in (0, 1)]
    taggings = UserTaggings.from_values(ratings, *map(list, zip(*named_rows, strict=True)))
    taggings_of = lambda **how: Pruning(3, 3, 4, **how).apply(ratings, taggings)  # noqa: E731
    with pytest.raises(ValueError, match="pruning leaves none"):
        taggings_of()
    assert len(taggings_of(to_fixed_point=False)[1]) > 0


def test_statistics_are_those_of_a_count_by_hand():
    ratings = Ratings.from_values(["a", "a", "a", "b", "a"], ["x", "y", "z", "x", "x"], [1, 2, 3, 4, 5])
    ratings = Ratings(ratings.table, [*ratings.user_names, "c"], [*ratings.item_names, "w"])
    taggings = UserTaggings.from_values(ratings, ["a", "a", "c"], ["x", "y", "w"], ["red", "red", "blue"])
    told = RatingStatistics.of(ratings, taggings)
    assert (told.ratings, told.users, told.items, told.unrated_users, told.unrated_items) == (4, 2, 3, 1, 1)
    assert told.values == pytest.approx((2, 3.5, np.std([5, 2, 3, 4], ddof=1), 5))
    assert (told.per_user.fewest, told.per_user.mean, told.per_user.most) == (1, 2, 3)
    assert told.per_item.deviation == pytest.approx(np.std([2, 1, 1], ddof=1))
    assert (told.taggings, told.tags, told.taggers, told.user_tags) == (3, 2, 2, 2)
    assert "| ratings of a user | 2 users | 1 | 2.0 ± 1.4 | 3 |" in told.markdown()
    assert "tags" not in RatingStatistics.of(ratings, None).markdown()


@pytest.mark.data
def test_last_fm_keeps_as_many_users_as_the_prototype(shared_data):
    kept, tags = Pruning().apply(*RatingsSource(shared_data / "hetrec2011-lastfm-2k").read())
    assert len(kept.user_names) == 1547
    assert np.unique(tags.table["user"].to_numpy()).size == 1547
    kept, _ = Pruning().apply(*RatingsSource(shared_data / "ml-latest-small").read())
    assert len(kept.user_names) == 14
