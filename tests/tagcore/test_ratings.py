"""Ratings and the taggings beside them: what goes to disk comes back, the last value wins, names are checked."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.ratings import Ratings, UserTaggings

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
