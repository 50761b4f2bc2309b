"""Reuters-21578 in SGML: stories, their text, tags and official splits; and what is no story."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.input_files import CHUNK
from tests.tagcore.readers.helpers import read, whole

TEXT = "<TEXT>&#2;\n<TITLE>A TITLE</TITLE>\n<DATELINE>    ROME, Feb 26 - </DATELINE><BODY>Body &#3;</BODY></TEXT>"
DOCTYPE = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'


def story(
    number: int = 1,
    topics: tuple[str, ...] = ("cocoa",),
    *,
    used: str = "YES",
    lewis: str = "TRAIN",
    cgi: str = "TRAINING-SET",
    date: str = "26-FEB-1987 15:01:01.79",
    text: str = TEXT,
) -> str:
    tags = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{used}" LEWISSPLIT="{lewis}" CGISPLIT="{cgi}" OLDID="7" NEWID="{number}">\n'
        f"<DATE>{date}</DATE>\n<TOPICS>{tags}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN> \n&#5;f0704&#31;reute</UNKNOWN>\n{text}\n</REUTERS>\n"
    )


def write(path: Path, *stories: str) -> Path:
    path.write_bytes((DOCTYPE + "".join(stories)).encode("latin-1"))
    return path


def one(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    return read(write(tmp_path / "a.sgm", story(**changes))).documents[0]


def test_a_story(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.sgm", story(5, ("cocoa", "grain"))))
    assert got.documents == [
        {
            "id": "5",
            "url": None,
            "title": "A TITLE",
            "text": "ROME, Feb 26 - Body",
            "language": None,
            "fetched_at": datetime(1987, 2, 26, 15, 1, 1, 790_000, UTC),
            "split": "train",
            "vanished_at": None,
        }
    ]
    assert got.tags == [["cocoa", "grain"]]
    assert got.source.format == "sgml"


def test_a_story_was_tagged_at_its_date_and_with_a_topic_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.sgm", story(5, ("cocoa", "grain", "cocoa")), story(6, ("tea",), date="none"))
    (block,) = open_source(path).blocks()
    time = datetime(1987, 2, 26, 15, 1, 1, 790_000, UTC)
    assert block.taggings["document"].to_pylist() == [0, 0, 1]
    assert block.taggings["time"].to_pylist() == [time, time, None]


def test_other_categories_as_tags(tmp_path: Path) -> None:
    path = write(tmp_path / "a.sgm", story())
    assert read(path, field="places").tags == [["usa"]]
    with pytest.raises(ValueError, match="field is 'colours', expected one of topics, places"):
        open_source(path, field="colours")
    with pytest.raises(BadRow, match=r"line 2: .*expected <ORGS>...</ORGS> in the story"):
        read(path, field="orgs")


def test_entities_are_decoded_once_and_control_characters_become_blanks(tmp_path: Path) -> None:
    body = "A &lt;IBM> &amp;lt; B&#127;C \x85 M\xfcller &#252; &quot;q&quot; &unknown; &#55296; &#99999999; &"
    got = one(tmp_path, text=f"<TEXT><TITLE>x &lt;Y>\n  z</TITLE><BODY>{body}</BODY></TEXT>")
    assert got["title"] == "x <Y> z"
    assert got["text"] == 'A <IBM> &lt; B C   Müller ü "q" &unknown; &#55296; &#99999999; &'


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ('<TEXT TYPE="BRIEF">&#2;<TITLE>ONLY A TITLE</TITLE>&#3;</TEXT>', "ONLY A TITLE", None),
        ('<TEXT TYPE="UNPROC">&#2;\nTABLE\n 1 2\n&#3;</TEXT>', None, "TABLE\n 1 2"),
        ("<TEXT>&#2;&#3;</TEXT>", None, None),
        ("<TEXT><TITLE>T</TITLE><AUTHOR>by A</AUTHOR><BODY>b</BODY></TEXT>", "T", "b"),
    ],
)
def test_forms_of_text(tmp_path: Path, text: str, title: str | None, body: str | None) -> None:
    got = one(tmp_path, text=text)
    assert (got["title"], got["text"]) == (title, body)


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (" 2-MAR-1987 05:00:00.1&#9;&#9;F", datetime(1987, 3, 2, 5, 0, 0, 100_000, UTC)),
        ("2-MAR-1987  05:00:00", datetime(1987, 3, 2, 5, tzinfo=UTC)),
        ("31-MAR-1987 605:12:19.12", None),
        ("31-FEB-1987 05:12:19.12", None),
        ("1-XYZ-1987 05:12:19.12", None),
        ("", None),
    ],
)
def test_dates_that_are_none_are_left_out(tmp_path: Path, date: str, expected: datetime | None) -> None:
    assert one(tmp_path, date=date)["fetched_at"] == expected


def test_a_missing_date_is_not_taken_from_the_dateline(tmp_path: Path) -> None:
    text = story().replace("<DATE>26-FEB-1987 15:01:01.79</DATE>", "")
    got = read(write(tmp_path / "a.sgm", text)).documents[0]
    assert (got["fetched_at"], got["text"]) == (None, "ROME, Feb 26 - Body")


MIXED = [
    story(1, ("a", "b")),
    story(2, ()),
    story(3, ("a",), lewis="TEST"),
    story(4, ("c",), lewis="TEST"),
    story(5, (), lewis="TEST"),
    story(6, ("b",)),
    story(7, ("a",), used="NO"),
    story(8, ("d",), lewis="NOT-USED", cgi="PUBLISHED-TESTSET"),
    story(9, (), used="BYPASS"),
]


@pytest.mark.parametrize(
    ("options", "train", "test", "neither"),
    [
        ({}, [1, 2, 6], [3, 4, 5], []),
        ({"unused": "keep"}, [1, 2, 6], [3, 4, 5], [7, 8, 9]),
        ({"split": "modlewis"}, [1, 2, 6, 7], [3, 4, 5], []),
        ({"split": "modhayes"}, [1, 2, 3, 4, 5, 6, 7, 9], [8], []),
        ({"subset": "tagged"}, [1, 6], [3, 4], []),
        ({"subset": "shared"}, [1], [3], []),
        ({"subset": "shared", "unused": "keep"}, [1], [3], [7]),
    ],
)
def test_splits_and_subsets(tmp_path: Path, options: dict[str, str], train: list, test: list, neither: list) -> None:
    got = read(write(tmp_path / "a.sgm", *MIXED), **options)
    for part, numbers in (("train", train), ("test", test), (None, neither)):
        assert [int(d["id"]) for d in got.documents if d["split"] == part] == numbers
    if options.get("subset") == "shared":
        assert list(got.source.tags) == ["a"]
        assert all(tags == ["a"] for tags in got.tags)


@pytest.mark.parametrize(
    ("broken", "line", "expected"),
    [
        (story(2).replace("</TITLE>", ""), 12, "</TITLE> after it"),
        (story(2).replace("</TOPICS>", ""), 12, "</TOPICS> after it"),
        (story(2).replace("</D>", "", 1), 12, "<D>NAME</D> for each of the topics"),
        (story(2, ("",)), 12, "<D>NAME</D> for each of the topics"),
        (story(2).replace("<TOPICS>", "<TOPICS>x"), 12, "<D>NAME</D> for each of the topics"),
        (story(2, text=""), 12, "<TEXT>...</TEXT> in the story"),
        (story(2).replace('NEWID="2"', 'NEWID="x"'), 12, "a whole number as NEWID"),
        (story(2).replace('NEWID="2"', ""), 12, "a whole number as NEWID"),
        (story(2).replace("LEWISSPLIT", "LEWIS"), 12, "the attribute LEWISSPLIT, which the split modapte goes by"),
        (story(2).replace("</REUTERS>", ""), 12, "</REUTERS> after the story: cut off?"),
        (story(1), 12, "an id of its own; line 2 of "),
        ("AN ODD LINE\n", 12, "nothing between them"),
        ("</REUTERS>\n", 12, "nothing between them"),
    ],
)
def test_bad_stories_are_named(tmp_path: Path, broken: str, line: int, expected: str) -> None:
    path = write(tmp_path / "a.sgm", story(1), broken, story(3))
    with pytest.raises(BadRow) as caught:
        read(path)
    assert expected in str(caught.value)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["1", "3"], 1)


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    data = (DOCTYPE + story(1) + story(2)).encode()
    path = tmp_path / "a.sgm"
    path.write_bytes(data[:-20])
    with pytest.raises(BadRow, match=r"a.sgm, line 12: .*expected </REUTERS> after the story: cut off\?"):
        read(path)
    zipped = tmp_path / "b.sgm.gz"
    zipped.write_bytes(gzip.compress(data)[:-20])
    with pytest.raises(ReadError, match=r"b.sgm.gz: cut off or damaged"):
        read(zipped)


def test_declarations_are_never_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.sgm"
    bomb = '<!DOCTYPE lewis [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>\n'
    path.write_text(bomb + story(text="<TEXT><BODY>&b;</BODY></TEXT>"))
    with pytest.raises(BadRow, match=r"line 1: .*nothing between them"):
        read(path)
    assert read(path, skip_bad_rows=tmp_path / "rejected").documents[0]["text"] == "&b;"


def test_a_story_beyond_the_limit(tmp_path: Path) -> None:
    long = story(2, text=f"<TEXT><BODY>{'word ' * 1000}</BODY></TEXT>")
    path = write(tmp_path / "a.sgm", story(1), long, story(3))
    with pytest.raises(BadRow, match=r"line 12: .*at most 4000 bytes a row"):
        read(path, row_bytes=4000)
    got = read(path, row_bytes=4000, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["1", "3"], 1)


@pytest.mark.parametrize("shift", [0, 4, 10])
def test_a_story_longer_than_chunks_is_skipped_and_its_lines_count(tmp_path: Path, shift: int) -> None:
    """its end stands after, across and before the end of a chunk."""
    begin = story(2, text="").removesuffix("</REUTERS>\n")
    before = len(DOCTYPE + story(1) + begin)
    filler = ("x" * 49 + "\n") * (2 * CHUNK // 50)
    long = begin + filler[before + shift - 2 * CHUNK % 50 :] + "</REUTERS>\n"
    path = write(tmp_path / "a.sgm", story(1), long, story(3), story(4, ("",)))
    assert path.read_bytes().index(b"</REUTERS>", before) == 2 * CHUNK - shift
    got = read(path, row_bytes=100_000, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["1", "3"], 2)
    first, second = map(json.loads, (tmp_path / "rejected").read_text().splitlines())
    assert first["line"] == 12
    assert second["line"] == (DOCTYPE + story(1) + long + story(3)).count("\n") + 1


texts = st.text(st.characters(codec="latin-1", exclude_characters="<&", exclude_categories=["Cc"]), max_size=30)
names = st.text("abcdefghij-", min_size=1, max_size=6)
written = st.lists(st.tuples(texts, st.lists(names, max_size=3, unique=True)), min_size=1, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stories=written, rows=st.integers(1, 6))
def test_what_is_written_is_read(tmp_path: Path, stories: list[tuple[str, list[str]]], rows: int) -> None:
    parts = [
        story(i, tuple(tags), text=f"<TEXT><TITLE>t</TITLE><BODY>{text}</BODY></TEXT>")
        for i, (text, tags) in enumerate(stories)
    ]
    got = whole(open_source(write(tmp_path / "a.sgm", *parts)), rows)
    assert [d["text"] for d in got.documents] == [text.strip() or None for text, _ in stories]
    assert got.tags == [tags for _, tags in stories]
