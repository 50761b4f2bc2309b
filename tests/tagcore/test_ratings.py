"""Ratings and the taggings beside them: what goes to disk comes back, the last value wins, names are checked."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.ratings import Ratings, UserTaggings
from tagcore.store.schemas import ITEM_TAGS

NOON = dt.datetime(2026, 11, 16, 12, tzinfo=dt.UTC)


def test_ratings_round_trip_and_last_value_wins(tmp_path):
    ratings = Ratings.from_values(
        ["ann", "bob", "ann", "ann"], ["i", "i", "j", "i"], [1, 2.5, 0, 4], times=[NOON, None, NOON, NOON]
    )
    ratings.save(tmp_path / "set", rows_per_group=3)
    loaded = Ratings.load(tmp_path / "set")
    assert loaded.table.equals(ratings.table)
    assert len(loaded) == 4
    assert (loaded.user_names, loaded.item_names) == (["ann", "bob"], ["i", "j"])
    np.testing.assert_array_equal(loaded.matrix.toarray(), [[4, 0], [2.5, 0]])
    assert loaded.matrix.nnz == 3  # a rating of 0 is a rating


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(-5, 5)), max_size=30))
def test_ratings_matrix_against_a_dictionary(triples):
    users, items, values = zip(*triples, strict=True) if triples else ((), (), ())
    ratings = Ratings.from_values([f"u{u}" for u in users], [f"i{i}" for i in items], values)
    expected = {(f"u{u}", f"i{i}"): v for u, i, v in triples}
    cells = ratings.matrix.tocoo()
    found = {
        (ratings.user_names[u], ratings.item_names[i]): v
        for u, i, v in zip(cells.row, cells.col, cells.data, strict=True)
    }
    assert found == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_ratings_are_finite(value):
    with pytest.raises(ValueError, match=f"rating 1 is {value}, expected a finite number"):
        Ratings.from_values(["a", "b"], ["i", "i"], [1, value])


def test_ratings_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="length"):
        Ratings.from_values(["a", "b"], ["i"], [1, 2])


def test_no_ratings(tmp_path):
    Ratings.from_values([], [], []).save(tmp_path / "set")
    assert Ratings.load(tmp_path / "set").matrix.shape == (0, 0)


def test_taggings_go_with_the_ratings_whose_names_they_number(tmp_path):
    ratings = Ratings.from_values(["ann", "bob"], ["tea", "jam"], [1, 2])
    taggings = UserTaggings.from_values(ratings, ["bob", "ann"], ["tea", "tea"], ["hot", "hot"])
    ratings.save(tmp_path / "with", taggings=taggings)
    back = UserTaggings.load(tmp_path / "with")
    assert back.table.to_pydict() == {"user": [1, 0], "item": [0, 0], "tag": [0, 0]}
    assert (back.tag_names, len(back)) == (["hot"], 2)
    assert Ratings.load(tmp_path / "with").table.equals(ratings.table)
    ratings.save(tmp_path / "without")
    assert UserTaggings.load(tmp_path / "without") is None
    fewer = Ratings.from_values(["ann"], ["tea"], [1])
    with pytest.raises(ValueError, match=r"tagging 0 names user 1, expected 0\.\.0"):
        fewer.save(tmp_path / "odd", taggings=taggings)
    assert not (tmp_path / "odd").exists()


def test_ratings_and_taggings_name_what_there_is():
    ratings = Ratings.from_values(["ann", "bob"], ["tea", "jam"], [1, 2])
    with pytest.raises(ValueError, match=r"rating 1 names user 1, expected 0\.\.0"):
        Ratings(ratings.table, ["ann"], ["tea", "jam"])
    with pytest.raises(ValueError, match=r"rating 1 names item 1, expected 0\.\.0"):
        Ratings(ratings.table, ["ann", "bob"], ["tea"])
    with pytest.raises(ValueError, match="tagging 1 names item 'rye', which the ratings do not name"):
        UserTaggings.from_values(ratings, ["ann", "ann"], ["tea", "rye"], ["hot", "dark"])
    taggings = UserTaggings.from_values(ratings, ["ann"], ["tea"], ["hot"])
    with pytest.raises(ValueError, match=r"tagging 0 names tag 0, expected 0\.\.-1"):
        UserTaggings(taggings.table, [])


def test_titles_scale_and_tags_of_items_are_stored_and_come_back(tmp_path):
    plain = Ratings.from_values(["a", "b"], ["x", "y"], [1, 5])
    ratings = Ratings(plain.table, plain.user_names, plain.item_names, ["X", ""], (1.0, 5.0))
    taggings = UserTaggings.from_values(ratings, ["a"], ["y"], ["red"])
    taggings = UserTaggings(taggings.table, taggings.tag_names, taggings.table.select(["item", "tag"]))
    ratings.save(tmp_path / "r", taggings=taggings)
    back, tags = Ratings.load(tmp_path / "r"), UserTaggings.load(tmp_path / "r")
    assert (back.item_titles, back.scale) == (["X", ""], (1.0, 5.0))
    assert tags.item_tags.to_pydict() == {"item": [1], "tag": [0]}
    assert back.take(np.array([1])).item_titles == ["X", ""]
    plain.save(tmp_path / "p")
    assert (Ratings.load(tmp_path / "p").item_titles, Ratings.load(tmp_path / "p").scale) == (None, None)
    with pytest.raises(ValueError, match="1 titles, expected one for each of 2 items"):
        Ratings(plain.table, plain.user_names, plain.item_names, ["X"])
    with pytest.raises(ValueError, match="rating 1 is 5, expected one from 1 to 4"):
        Ratings(plain.table, plain.user_names, plain.item_names, scale=(1, 4))


def test_profiles_of_rated_items_have_every_tag_of_these():
    ratings = Ratings.from_values(["a", "a", "b", "a"], ["x", "y", "y", "x"], [1, 5, 3, 2])
    ratings = Ratings(ratings.table, [*ratings.user_names, "c"], [*ratings.item_names, "z"])
    given = UserTaggings.from_values(ratings, ["b", "c", "c"], ["y", "z", "y"], ["red", "blue", "red"])
    genres = pa.table({"item": [0, 1], "tag": [1, 0]}, schema=ITEM_TAGS)
    derived = UserTaggings(given.table, given.tag_names, genres).of_rated_items(ratings)
    columns = (derived.table[c].to_pylist() for c in ("user", "item", "tag"))
    # a rated x, which is blue, and y, which is red by two users and by itself; b rated y; c rated nothing
    assert sorted(zip(*columns, strict=True)) == [(0, 0, 1), (0, 1, 0), (1, 1, 0)]
    assert derived.tag_names == given.tag_names
    with pytest.raises(ValueError, match=r"tag of an item 1 names tag 7, expected 0\.\.1"):
        UserTaggings(given.table, given.tag_names, pa.table({"item": [0, 1], "tag": [1, 7]}, schema=ITEM_TAGS))
