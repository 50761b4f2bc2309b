"""Tables of ratings and of tags: what they give, and what is said of rows that are not as they should be."""

import gzip
import json
from datetime import UTC, datetime

import pytest

from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.ratings import RatingsSource

TABLE = "user,item,rating,time\nann,tea,4.5,0\nbob,jam,3,2024-05-01T12:00:00Z\nann,jam,1,\n"
TAGS = "user,item,tag\nann,tea,hot\ncy,rye,dark\nann,tea,hot\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def cells(ratings):
    users, items, values = (ratings.table[c].to_pylist() for c in ("user", "item", "value"))
    names = zip(users, items, values, strict=True)
    return [(ratings.user_names[u], ratings.item_names[i], v) for u, i, v in names]


def test_a_table_gives_ratings_with_times(tmp_path):
    ratings, taggings = RatingsSource(write(tmp_path / "mine.csv", TABLE)).read()
    assert cells(ratings) == [("ann", "tea", 4.5), ("bob", "jam", 3.0), ("ann", "jam", 1.0)]
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert ratings.table["time"].to_pylist() == [datetime(1970, 1, 1, tzinfo=UTC), noon, None]
    assert taggings is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "User_ID, Item ,Value,more\nann,tea,4.5,x\n"),
        ("a.tsv", "item\tuserId\trating\ntea\tann\t4.5\n"),
        ("a.csv", '"user","item","rating"\r\n"ann"," tea ",4.5e0\r\n'),
    ],
)
def test_columns_are_found_by_their_usual_names_in_any_order(tmp_path, name, text):
    assert cells(RatingsSource(write(tmp_path / name, text)).read()[0]) == [("ann", "tea", 4.5)]


def test_columns_may_be_named(tmp_path):
    path = write(tmp_path / "a.csv", "who;what;stars\nann;tea;4\n")
    ratings, _ = RatingsSource(path, user="who", item="what", rating="stars", delimiter=";").read()
    assert cells(ratings) == [("ann", "tea", 4.0)]


def test_a_folder_gives_ratings_and_tags_and_who_only_tags_has_a_name(tmp_path):
    (tmp_path / "ratings.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    write(tmp_path / "tags.csv", TAGS)
    ratings, taggings = RatingsSource(tmp_path).read()
    assert len(ratings) == 3
    assert (ratings.user_names, ratings.item_names) == (["ann", "bob", "cy"], ["tea", "jam", "rye"])
    assert taggings.table.to_pydict() == {"user": [0, 2], "item": [0, 2], "tag": [0, 1]}
    assert taggings.tag_names == ["hot", "dark"]
    write(tmp_path / "other.csv", "user,item,tag\n")
    assert len(RatingsSource(tmp_path, taggings="other.csv").read()[1]) == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("ann,tea,nan,", "line 3: found 'nan', expected a finite number as the rating"),
        ("ann,tea,inf,", "line 3: found 'inf', expected a finite number"),
        ("ann,tea,four,", "line 3: found 'four', expected a finite number"),
        ("ann,tea,,", "line 3: found '', expected a finite number"),
        (" ,tea,4,", "line 3: found '', expected the name of a user"),
        ("ann,,4,", "line 3: found '', expected the name of an item"),
        ("a" * 1001 + ",tea,4,", "line 3: found 'a+…?'?.*, expected at most 1,000 characters as user"),
        ("ann," + "a" * 1001 + ",4,", "line 3: found 'a+…?'?.*, expected at most 1,000 characters as item"),
        ("ann,tea,4", "line 3: found 3, expected 4 fields as in the header"),
        ("ann,tea,4,soon", "line 3: found 'soon', expected seconds since 1970 or an ISO 8601 time"),
        ("ann,tea,4,1e30", "line 3: found '1e30', expected seconds since 1970, within"),
    ],
)
def test_a_bad_row_is_named_or_left_out(tmp_path, row, message):
    path = write(tmp_path / "a.csv", f"user,item,rating,time\nbob,jam,3,\n{row}\ncy,rye,1,\n")
    with pytest.raises(BadRow, match=f"{path}, {message}"):
        RatingsSource(path).read()
    source = RatingsSource(path)
    ratings, _ = source.read(tmp_path / "rejected.jsonl")
    assert cells(ratings) == [("bob", "jam", 3.0), ("cy", "rye", 1.0)]
    assert source.rejected == 1
    (note,) = map(json.loads, (tmp_path / "rejected.jsonl").read_text().splitlines())
    assert (note["line"], note["row"]) == (3, f"{row}\n")


def test_a_bad_row_of_tags_is_named(tmp_path):
    path = write(tmp_path / "ratings.csv", TABLE)
    tags = write(tmp_path / "tags.csv", "user,item,tag\nann,tea,\n")
    with pytest.raises(BadRow, match=f"{tags}, line 2: found '', expected a tag"):
        RatingsSource(path.parent).read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no ratings"),
        ("user,item,rating\n", "no ratings"),
        ("user,item\na,b\n", "line 1: no column 'rating' or 'value' for the rating; there are user, item"),
        ("user,user_id,item,rating\n", "line 1: two columns may be the user, 'user' and 'user_id'"),
    ],
)
def test_a_table_that_is_none_of_ratings_is_told(tmp_path, text, message):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(ReadError, match=f"{path}.*{message}"):
        RatingsSource(path).read()


def test_all_rows_bad_is_no_ratings(tmp_path):
    path = write(tmp_path / "a.csv", "user,item,rating\na,b,c\n")
    with pytest.raises(ReadError, match="no ratings: all 1 rows were rejected"):
        RatingsSource(path).read(tmp_path / "rejected.jsonl")


def test_missing_files_and_options_are_named(tmp_path):
    with pytest.raises(ReadError, match=r"holds no file of ratings, expected one of ratings\.csv"):
        RatingsSource(tmp_path)
    with pytest.raises(ReadError, match=r"none\.csv: there is no such file"):
        RatingsSource(tmp_path / "none.csv")
    path = write(tmp_path / "a.csv", TABLE)
    with pytest.raises(ReadError, match=r"tags\.csv: there is no such file"):
        RatingsSource(path, taggings="tags.csv")
    with pytest.raises(ValueError, match=r"unknown option 'text', expected one of .*user"):
        RatingsSource(path, text="x")
    with pytest.raises(ReadError, match="no column 'who' for the user"):
        RatingsSource(path, user="who").read()


def test_a_fingerprint_is_of_bytes_and_options(tmp_path):
    path = write(tmp_path / "a.csv", TABLE)
    first = RatingsSource(path).fingerprint()
    assert RatingsSource(path).fingerprint() == first
    assert RatingsSource(path, rating="rating").fingerprint() != first
    write(tmp_path / "t.csv", TAGS)
    with_tags = RatingsSource(path, taggings="t.csv").fingerprint()
    assert with_tags != first
    write(tmp_path / "t.csv", TAGS + "bob,tea,hot\n")
    assert RatingsSource(path, taggings="t.csv").fingerprint() != with_tags
