"""What sites and browsers export: dumps, bookmarks, JSON of pictures and videos, parquet."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.cards import known_cards
from tagcore.readers.known_sets import card_named, find_set
from tagcore.readers.ratings.cards import rating_cards
from tests.tagcore.readers.dumps import BOOKMARKS, FORMATS, POSTS
from tests.tagcore.readers.test_mutated import edits, mutated


def read(folder, name, **options):
    """(format, documents by id, each with its taggings)."""
    for file, data in FORMATS[name].items():
        (folder / file).write_bytes(data)
    source = open_source(folder / name, **options)
    (block,) = source.blocks()
    tags = list(source.tags)
    found = {row["id"]: {**row, "tags": set()} for row in block.documents.to_pylist()}
    ids = block.documents["id"].to_pylist()
    for tagging in block.taggings.to_pylist():
        time = tagging["time"] and tagging["time"].isoformat()
        found[ids[tagging["document"]]]["tags"].add((tagging["user"], tags[tagging["tag"]], time))
    for row, fields in zip(found.values(), block.fields["fields"].to_pylist() if block.fields else [], strict=False):
        row["fields"] = dict(fields)
    return source.format, found


def test_questions_of_a_stack_exchange_dump(tmp_path):
    kind, found = read(tmp_path, "Posts.xml", site="https://cooking.stackexchange.com/")
    assert kind == "stackexchange"
    assert set(found) == {"1", "3"}
    assert (found["1"]["title"], found["1"]["text"]) == ("Why & how?", "Rest the dough.")
    assert found["1"]["url"] == "https://cooking.stackexchange.com/questions/1"
    assert found["1"]["tags"] == {("7", tag, "2010-07-09T19:09:59.540000+00:00") for tag in ("bread", "oven-use")}
    assert {(user, tag) for user, tag, _ in found["3"]["tags"]} == {("guest", "soup"), ("guest", "bread")}


def test_a_dump_that_is_cut_off_is_told(tmp_path):
    (tmp_path / "Posts.xml").write_bytes(POSTS[:-40])
    with pytest.raises(ReadError, match=r"Posts.xml: not well-formed XML"):
        list(open_source(tmp_path / "Posts.xml").blocks())


def test_bookmarks_as_browsers_export_them(tmp_path):
    kind, found = read(tmp_path, "bookmarks.html")
    assert kind == "bookmarks"
    assert set(found) == {"https://example.org/rye", "https://example.org/soup"}
    rye = found["https://example.org/rye"]
    assert (rye["title"], rye["text"]) == ("Rye & wheat", "All about rye")
    assert {tag for _, tag, _ in rye["tags"]} == {"bread", "rye", "Kitchen"}
    assert found["https://example.org/soup"]["tags"] == {(None, "Kitchen", "2024-05-01T12:00:00+00:00")}
    _, plain = read(tmp_path, "bookmarks.html", folders=False)
    assert plain["https://example.org/soup"]["tags"] == set()


@pytest.mark.parametrize("piece", [b"<A ", b"<A x>", b"<H3>", b"A", b"<A HREF=", b'<A A="', b"<DD>", b"</A><A x>"])
def test_lines_that_are_a_trap_for_a_search_are_passed_in_one_go(tmp_path, piece):
    path = tmp_path / "bookmarks.html"
    path.write_bytes(BOOKMARKS.replace(b"<DT><A HREF", b"<DT>" + piece * 200_000 + b"\n<DT><A HREF", 1))
    source = open_source(path, skip_bad_rows=tmp_path / "rejected")
    assert sum(block.documents.num_rows for block in source.blocks()) >= 2


def test_a_row_that_goes_on_and_on_is_put_together_once(tmp_path):
    (tmp_path / "tas").write_bytes(FORMATS["tas"]["tas"])
    (tmp_path / "bookmark").write_bytes(b"11\tabc\thttp://a.org/\tRye\t" + b"x\\\n" * 1_000_000 + b"\t2007\n")
    (block,) = open_source(tmp_path / "tas").blocks()
    assert block.documents["text"][0].as_py() == "x\n" * 1_000_000


def test_pictures_and_videos_are_known_by_their_fields(tmp_path):
    kind, found = read(tmp_path, "media.jsonl")
    assert kind == "media"
    assert found["51"]["title"] == "A loaf"
    assert found["51"]["fields"] == {"description": "Baked on Sunday", "comments": "What a crust"}
    assert {(user, tag) for user, tag, _ in found["51"]["tags"]} == {("ann", "bread"), ("ben", "rye")}
    assert found["v1"]["tags"] == {("Cooks", "soup", "2024-05-01T12:00:00+00:00")}


def test_parquet_has_the_columns_that_json_lines_have_as_keys(tmp_path):
    kind, found = read(tmp_path, "table.parquet")
    assert kind == "parquet"
    assert found["a"]["text"] == "Rest the dough"
    assert found["a"]["fetched_at"].isoformat() == "1970-01-01T00:00:00+00:00"
    assert found["a"]["tags"] == {("ann", "bread", None)}
    with pytest.raises(ReadError, match="no 'abstract', which was named as text"):
        list(open_source(tmp_path / "table.parquet", text="abstract").blocks())


def test_parquet_with_a_time_zone_that_is_none_is_told(tmp_path):
    times = pa.array([0], pa.timestamp("us", tz="No/Where"))
    pq.write_table(pa.table({"text": ["x"], "tags": [["y"]], "fetched_at": times}), tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"a\.parquet: not readable as parquet \(.*No/Where"):
        list(open_source(tmp_path / "a.parquet").blocks())


def test_a_dump_of_bibsonomy(tmp_path):
    kind, found = read(tmp_path, "tas")
    assert kind == "bibsonomy"
    assert (found["11"]["title"], found["11"]["text"]) == ("Rye\tand wheat", "note\nin two lines")
    assert found["11"]["tags"] == {("7", tag, "2007-01-01T12:00:00+00:00") for tag in ("bread", "rye")}
    assert (found["12"]["title"], found["12"]["text"]) == ("A paper", "An abstract")
    assert {(user, tag) for user, tag, _ in found["12"]["tags"]} == {("8", "paper")}
    assert open_source(tmp_path).card.name == "bibsonomy"
    (tmp_path / "tas").write_bytes(b"7\tbread\t11\n")
    with pytest.raises(BadRow, match=r"tas, line 1: found 3, expected at least 5 cells"):
        list(open_source(tmp_path / "tas").blocks())


def test_delicious_as_hetrec_has_it(tmp_path):
    kind, found = read(tmp_path, "bookmarks.dat")
    assert kind == "hetrec-bookmarks"
    assert found["1"]["title"] == "Café"
    times = {"8": "2010-05-01T12:00:00+00:00", "9": "2010-05-02T00:00:00+00:00"}
    assert found["1"]["tags"] == {(user, "bread", time) for user, time in times.items()}
    assert {tag for _, tag, _ in found["2"]["tags"]} == {"oven\\use"}
    (tmp_path / "tags.dat").write_bytes(b"id\tvalue\n")
    with pytest.raises(BadRow, match=r"user_taggedbookmarks.dat, line 2: found '5', expected the id of a tag"):
        list(open_source(tmp_path / "bookmarks.dat").blocks())


def test_a_known_set_is_found_and_its_bytes_compared(tmp_path):
    name = "cooking"
    card = card_named(name)
    (file,) = card.files
    with pytest.raises(ReadError, match=rf"does not hold {name}, expected {file}, .*can be had from .*CC BY-SA"):
        find_set(name, tmp_path)
    (tmp_path / file).write_bytes(b"something else")
    with pytest.raises(ReadError, match=f"not the file that the card {name!r} knows"):
        find_set(name, tmp_path)
    with pytest.raises(ReadError, match=r"no known data set 'cookery'; there are .*cooking"):
        find_set("cookery", tmp_path)
    with pytest.raises(ReadError, match=r"expected bookmarks\.dat, tags\.dat"):
        find_set("hetrec-delicious", tmp_path)
    for path, data in FORMATS["bookmarks.dat"].items():
        (tmp_path / path).write_bytes(data)
    assert find_set("hetrec-delicious", tmp_path) == f"{tmp_path}:hetrec-delicious"  # whose card knows no bytes


def test_a_known_set_of_ratings_is_found_and_its_bytes_compared(tmp_path):
    with pytest.raises(ReadError, match=r"does not hold ml-latest-small, expected ratings\.csv, .*grouplens\.org"):
        find_set("ml-latest-small", tmp_path)
    for name in ("ratings.csv", "tags.csv", "movies.csv"):
        (tmp_path / name).write_text("userId,movieId,rating\n1,1,4.0\n")
    with pytest.raises(ReadError, match=r"ratings\.csv: not the file that the card 'ml-latest-small' knows"):
        find_set("ml-latest-small", tmp_path)
    assert find_set("ml-20m", tmp_path) == str(tmp_path)  # whose card knows no bytes


def test_every_card_tells_whose_it_is_and_what_may_be_done():
    for card in (*known_cards(), *rating_cards()):
        assert card.title
        assert card.source
        assert card.terms
        assert all(len(digest) == 64 for digest in card.checksums.values())
        assert set(card.checksums) <= set(card.files)


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(changes=edits, skip=st.booleans(), which=st.integers(0, 2))
def test_no_change_of_a_few_bytes_does_harm(tmp_path, name, changes, skip, which):
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    files = dict(FORMATS[name])
    altered = list(files)[which % len(files)]
    files[altered] = mutated(files[altered], changes)
    for file, data in files.items():
        (folder / file).write_bytes(data)
    message = None
    try:
        source = open_source(folder / name, skip_bad_rows=tmp_path / "rejected" if skip else None)
        documents = sum(block.documents.num_rows for block in source.blocks(1))
    except ValueError as error:
        message = str(error)
    if message is None:
        assert documents > 0
        assert source.rejected == 0 or skip
    else:
        assert str(folder) in message, "the message does not name the file"
        assert not list(tmp_path.glob(".rejected*"))
