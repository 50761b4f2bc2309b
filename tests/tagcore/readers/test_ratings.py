"""Tables of ratings and of tags: what they give, and what is said of rows that are not as they should be."""

import gzip
import json
import zipfile
from datetime import UTC, datetime

import pytest

from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.ratings import RatingsSource, holds_ratings

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
        ("user,item\na,b\n", "line 1: no column 'rating' or 'value' or .* for the rating; there are user, item"),
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


STARS = "1::31::2.5::1260759144\n1::1029::3::1260759179\n2::31::4.5::835355493\n"


def test_movielens_dat_has_no_header_and_tags_that_hold_the_delimiter(tmp_path):
    write(tmp_path / "ratings.dat", STARS)
    write(tmp_path / "tags.dat", "1::31::Star::Wars::1137179352\n2::1029::  Feel\t GOOD ::1137179353\n")
    (tmp_path / "movies.dat").write_bytes(
        "31::Les Misérables (1995)::Drama|War\n77::Unseen::Comedy\n".encode("latin-1")
    )
    source = RatingsSource(tmp_path)
    ratings, taggings = source.read()
    assert cells(ratings) == [("1", "31", 2.5), ("1", "1029", 3.0), ("2", "31", 4.5)]
    assert ratings.table["time"].to_pylist()[0] == datetime.fromtimestamp(1260759144, UTC)
    assert ratings.item_titles == ["Les Misérables (1995)", ""]
    assert ratings.scale == (0.5, 5.0)
    assert taggings.tag_names == ["star::wars", "feel good", "drama", "war"]
    assert taggings.table.to_pydict() == {"user": [0, 1], "item": [0, 1], "tag": [0, 1]}
    assert taggings.item_tags.to_pydict() == {"item": [0, 0], "tag": [2, 3]}
    assert "1 lines of movies.dat are no UTF-8: read as Windows-1252" in source.remark


def test_movielens_csv_and_its_oldest_form(tmp_path):
    write(tmp_path / "ratings.csv", "userId,movieId,rating,timestamp\n1,1,4.0,964982703\n")
    write(tmp_path / "tags.csv", 'userId,movieId,tag,timestamp\n1,1,"Sad, slow",1445714994\n')
    write(tmp_path / "movies.csv", 'movieId,title,genres\n1,"Heat, The (1995)",(no genres listed)\n')
    write(tmp_path / "links.csv", "movieId,imdbId,tmdbId\n1,2,3\n")
    ratings, taggings = RatingsSource(tmp_path).read()
    assert (ratings.item_titles, taggings.tag_names) == (["Heat, The (1995)"], ["sad, slow"])
    assert taggings.item_tags is None
    old = tmp_path / "ml-100k"
    old.mkdir()
    write(old / "u.data", "196\t242\t3\t881250949\n")
    write(old / "u.item", "242|Kolya (1996)|24-Jan-1997||http://x|0|0\n")
    write(old / "u.user", "196|49|M|writer|55105\n")
    ratings, taggings = RatingsSource(old).read()
    assert (cells(ratings), ratings.item_titles, taggings) == ([("196", "242", 3.0)], ["Kolya (1996)"], None)


def test_hetrec_counts_titles_and_numbered_tags(tmp_path):
    write(tmp_path / "user_artists.dat", "userID\tartistID\tweight\n2\t51\t999\n3\t52\t0\n")
    write(tmp_path / "user_taggedartists.dat", "userID\tartistID\ttagID\tday\tmonth\tyear\n2\t51\t13\t1\t4\t2009\n")
    write(tmp_path / "user_taggedartists-timestamps.dat", "userID\tartistID\ttagID\ttimestamp\n2\t51\t13\t1\n")
    (tmp_path / "tags.dat").write_bytes("tagID\ttagValue\n13\tChansón\n".encode("cp1252"))
    write(tmp_path / "artists.dat", "id\tname\turl\n51\tDuran Duran\thttp://x\n")
    write(tmp_path / "user_friends.dat", "userID\tfriendID\n2\t3\n")
    source = RatingsSource(tmp_path)
    ratings, taggings = source.read()
    assert cells(ratings) == [("2", "51", 3.0), ("3", "52", 0.0)]
    assert ratings.item_titles == ["Duran Duran", ""]
    assert (taggings.tag_names, len(taggings)) == (["chansón"], 1)
    assert source.remark.startswith("counts are taken as log10(1 + count)")
    raw, _ = RatingsSource(tmp_path, counts=False).read()
    assert raw.table["value"].to_pylist() == [999.0, 0.0]
    write(tmp_path / "user_taggedartists.dat", "userID\tartistID\ttagID\n2\t51\t14\n")
    with pytest.raises(BadRow, match="line 2: found '14', expected the number of a tag that the file of tags names"):
        RatingsSource(tmp_path).read()


def test_hetrec_movies_have_a_table_of_genres(tmp_path):
    write(tmp_path / "user_ratedmovies.dat", "userID\tmovieID\trating\tdate_day\n75\t3\t1\t29\n")
    write(tmp_path / "user_ratedmovies-timestamps.dat", "userID\tmovieID\trating\ttimestamp\n75\t3\t1\t1162160236\n")
    write(tmp_path / "movie_genres.dat", "movieID\tgenre\n3\tComedy\n9\tWar\n")
    write(tmp_path / "movies.dat", "id\ttitle\timdbID\n3\tGrumpy Old Men\t1\n")
    ratings, taggings = RatingsSource(tmp_path).read()
    assert ratings.table["time"].null_count == 0
    assert taggings.tag_names == ["comedy"]
    assert ratings.item_titles == ["Grumpy Old Men"]


def test_libraries_of_citeulike_with_the_tags_of_papers(tmp_path):
    write(tmp_path / "users.dat", "2 0 2\n1 1\n")
    write(tmp_path / "mult.dat", "1 0:1\n1 0:2\n1 0:1\n")
    write(tmp_path / "tag-item.dat", "2 0 1\n1 2\n")
    write(tmp_path / "tags.dat", "maths\nbees\n")
    write(tmp_path / "vocabulary.dat", "word\n")
    assert not holds_ratings(tmp_path)  # documents with tags, unless ratings are asked for
    ratings, taggings = RatingsSource(tmp_path).read()
    assert cells(ratings) == [("0", "0", 1.0), ("0", "2", 1.0), ("1", "1", 1.0)]
    assert taggings.item_tags.to_pydict() == {"item": [0, 1, 2], "tag": [0, 0, 1]}
    before = RatingsSource(tmp_path).fingerprint()
    write(tmp_path / "tags.dat", "maths\nwasps\n")
    assert RatingsSource(tmp_path).fingerprint() != before


def test_tables_of_one_s_own_are_told_by_their_columns(tmp_path):
    write(tmp_path / "what-they-said.csv", "item;user;tag\ntea;ann;hot\n")
    write(tmp_path / "stars.csv", "item;user;rating\ntea;ann;4\n")
    write(tmp_path / "goods.csv", "item,title\ntea,A pot of tea\n")
    ratings, taggings = RatingsSource(tmp_path).read()
    assert (cells(ratings), ratings.item_titles) == ([("ann", "tea", 4.0)], ["A pot of tea"])
    assert taggings.tag_names == ["hot"]
    write(tmp_path / "stars2.csv", "item;user;rating\ntea;ann;4\n")
    with pytest.raises(ReadError, match=r"stars\.csv and stars2\.csv may both be the ratings"):
        RatingsSource(tmp_path)


def test_without_a_header_columns_have_their_usual_order(tmp_path):
    path = write(tmp_path / "mine.csv", "ann,tea,4,100\nbob,jam,3,200\n")
    write(tmp_path / "said.csv", "ann,tea,hot\n")
    ratings, taggings = RatingsSource(path, taggings="said.csv").read()
    assert cells(ratings) == [("ann", "tea", 4.0), ("bob", "jam", 3.0)]
    assert taggings.tag_names == ["hot"]
    with pytest.raises(BadRow, match=r"mine\.csv, line 1: found '4', expected a rating from 1 to 3, the scale"):
        RatingsSource(path, scale=[1, 3]).read()


def test_ratings_beyond_the_scale_are_named(tmp_path):
    path = write(tmp_path / "ratings.csv", "userId,movieId,rating\n1,1,4\n1,2,7\n")
    expected = r"line 3: found '7', expected a rating from 0\.5 to 5, the scale \(option scale="
    with pytest.raises(BadRow, match=expected):
        RatingsSource(path).read()
    assert RatingsSource(path, scale=[1, 10]).read()[0].scale == (1.0, 10.0)
    with pytest.raises(ValueError, match=r"scale is \[5, 1\], expected the lowest and the highest rating"):
        RatingsSource(path, scale=[5, 1])
    with pytest.raises(BadRow, match="found '-1', expected a count of at least 0"):
        RatingsSource(write(tmp_path / "n.csv", "user,item,count\na,b,-1\n")).read()


def test_a_pair_rated_twice_is_told_or_refused(tmp_path):
    path = write(tmp_path / "a.csv", "user,item,rating\nann,tea,1\nbob,tea,2\nann,tea,5\n")
    source = RatingsSource(path)
    assert source.read()[0].matrix[0, 0] == 5
    assert source.remark == "1 ratings are of a pair that is rated again: the last counts"
    refusing = RatingsSource(path, duplicates="refuse")
    with pytest.raises(BadRow, match="line 4: found 'user ann, item tea', expected a pair once; it is rated on line 2"):
        refusing.read()
    assert len(refusing.read(tmp_path / "rejected.jsonl")[0]) == 2
    with pytest.raises(ValueError, match='duplicates is \'first\', expected "last" or "refuse"'):
        RatingsSource(path, duplicates="first")


def test_who_only_tags_and_what_nobody_rated_is_told(tmp_path):
    write(tmp_path / "ratings.csv", TABLE)
    write(tmp_path / "tags.csv", TAGS)
    source = RatingsSource(tmp_path)
    source.read()
    assert source.remark == "1 users are tagged, but without a rating; 1 items are tagged, but without a rating"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", TABLE, True),
        ("a.csv", "userId,movieId,rating\n1,2,3\n", True),
        ("ratings.dat", STARS, True),
        ("a.csv", "id,title,text,tags\n1,a,b,c\n", False),
        ("a.csv", "user,item,tag\na,b,c\n", False),
        ("a.csv", "", False),
        ("penbased.dat", "1,2,3,4\n", False),
        ("a.jsonl", '{"text": "user,item,rating"}\n', False),
    ],
)
def test_ratings_are_known_by_looking(tmp_path, name, text, expected):
    path = write(tmp_path / name, text)
    assert holds_ratings(path) is expected
    assert holds_ratings(tmp_path) is expected


@pytest.mark.data
def test_real_sets_are_known(shared_data):
    small = RatingsSource(shared_data / "ml-latest-small")
    ratings, taggings = small.read()
    assert (len(ratings), len(ratings.user_names), len(taggings)) == (100_836, 610, 3_683)
    assert ratings.item_titles[ratings.item_names.index("1")] == "Toy Story (1995)"
    assert small.remark.startswith("MovieLens latest small (2018)")
    assert holds_ratings(shared_data / "ml-latest-small")
    assert holds_ratings(shared_data / "hetrec2011-lastfm-2k")
    assert not any(holds_ratings(shared_data / name) for name in ("citeulike-t", "bibtex", "uci", "stackexchange"))


def test_a_zip_is_read_as_its_folder_would_be(tmp_path):
    with zipfile.ZipFile(tmp_path / "ml.zip", "w") as archive:
        archive.writestr("ml/ratings.csv", "userId,movieId,rating\n1,1,4.0\n")
        archive.writestr("ml/tags.csv", "userId,movieId,tag\n1,1,sad\n")
        archive.writestr("ml/movies.csv", "movieId,title,genres\n1,Heat,War\n")
        archive.writestr("ml/README.txt", "user,item,rating\n")
    assert holds_ratings(tmp_path / "ml.zip")
    ratings, taggings = RatingsSource(tmp_path / "ml.zip").read()
    assert (cells(ratings), ratings.item_titles) == ([("1", "1", 4.0)], ["Heat"])
    assert taggings.tag_names == ["sad", "war"]
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr("notes.csv", "id,text,tags\n1,a,b\n")
    assert not holds_ratings(tmp_path / "notes.zip")
    with pytest.raises(ReadError, match=r"notes\.zip: holds no file of ratings"):
        RatingsSource(tmp_path / "notes.zip")
