"""JSON Lines: what is read, and what is said about rows that cannot be."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tests.tagcore.readers.helpers import gzipped, jsonl, read

FULL = {
    "id": "a",
    "title": "Apples",
    "text": "red apples",
    "url": "https://example.org/a",
    "language": "en",
    "fetched_at": "2024-05-01T14:00:00+02:00",
    "split": "test",
    "tags": ["fruit", "red", "fruit"],
    "rank": 7,
}


def test_every_field(tmp_path: Path) -> None:
    got = read(jsonl(tmp_path / "a.jsonl", FULL))
    assert got.documents == [
        {
            "id": "a",
            "url": "https://example.org/a",
            "title": "Apples",
            "text": "red apples",
            "language": "en",
            "fetched_at": datetime(2024, 5, 1, 12, tzinfo=UTC),
            "split": "test",
            "vanished_at": None,
        }
    ]
    assert got.tags == [["fruit", "red"]]
    assert got.source.words is None


def test_taggings_with_user_count_and_time(tmp_path: Path) -> None:
    tags = [
        {"tag": "fruit", "user": "ann", "count": 3, "time": "2024-05-01T12:00:00Z"},
        {"tag": "fruit", "user": "bob", "count": 2.0},
        {"tag": " red "},
    ]
    got = read(jsonl(tmp_path / "a.jsonl", {"text": "x", "tags": tags}))
    assert [(t["user"], t["count"], t["time"]) for t in got.taggings] == [
        ("ann", 3, datetime(2024, 5, 1, 12, tzinfo=UTC)),
        ("bob", 2, None),
        (None, 1, None),
    ]
    assert got.tags == [["fruit", "fruit", "red"]]


def test_ids_are_line_numbers_where_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('\n{"text": "x", "tags": []}\n\n  \n{"text": "y", "tags": ["t"]}')
    assert read(tmp_path / "a.jsonl").ids == ["2", "5"]
    (tmp_path / "b.jsonl").write_text('{"text": "z", "tags": []}')
    assert read(tmp_path).ids == ["a:2", "a:5", "b:1"]


def test_documents_without_words_or_tags_are_kept_and_counted(tmp_path: Path) -> None:
    got = read(
        jsonl(tmp_path / "a.jsonl", {"text": "", "tags": ["t"]}, {"title": "x"}, {"text": "y", "tags": None}, {})
    )
    assert len(got.documents) == 4
    assert (got.source.counts.untagged, got.source.counts.wordless) == (3, 2)


def test_names_can_be_mapped_and_usual_ones_are_known(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"body": "b", "summary": "s", "labels": ["t"], "key": 9})
    got = read(path, text="summary", tags="labels", id="key")
    assert (got.ids, got.documents[0]["text"], got.tags) == (["9"], "s", [["t"]])
    assert read(path, tags="labels").documents[0]["text"] == "b"


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "no tags; there are 'bdy', 'labels': name the right one by tags"), ({"text": "body"}, "no 'body'.*as text")],
)
def test_names_that_never_occur(tmp_path: Path, options: dict, message: str) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"bdy": "b", "labels": ["t"]})
    options = options or {"title": "bdy"}
    with pytest.raises(ReadError, match=message):
        read(path, **options)


def test_blocks_are_of_the_size_asked_for_and_can_be_read_again(tmp_path: Path) -> None:
    records = [{"id": i, "text": "x", "tags": [f"t{i % 3}"]} for i in range(10)]
    source = open_source(jsonl(tmp_path / "a.jsonl", *records))
    for _ in range(2):
        assert [b.documents.num_rows for b in source.blocks(4)] == [4, 4, 2]
        assert list(source.tags) == ["t0", "t1", "t2"]
        assert source.counts.documents == 10
    assert read(tmp_path / "a.jsonl", rows=4).tags == read(tmp_path / "a.jsonl").tags


def test_a_text_that_is_no_readable_html_is_named(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"id": "good", "text": "<p>a</p>"}, {"id": "bomb", "text": "<div>" * 20_000})
    with pytest.raises(ReadError, match=r"document 'bomb': .*nested too deeply"):
        read(path, html=True)


def test_html_is_stripped_where_the_texts_hold_it(tmp_path: Path) -> None:
    page = {"text": "<p>red <b>apples</b></p>", "tags": ["t"]}
    assert read(jsonl(tmp_path / "a.jsonl", page)).documents[0]["text"].split() == ["red", "apples"]
    assert read(tmp_path / "a.jsonl", html=False).documents[0]["text"] == page["text"]
    plain = [{"text": f"if a<b and b>{i}", "title": f"a<b>{i}", "tags": ["t"]} for i in range(20)]
    fourth = read(jsonl(tmp_path / "b.jsonl", *plain)).documents[3]
    assert (fourth["title"], fourth["text"]) == ("a<b>3", "if a<b and b>3")


@pytest.mark.parametrize("text", ["<p>red</p>", "red", None])
@pytest.mark.parametrize("form", ["a.jsonl", "a.csv", "a.parquet"])
def test_html_in_titles_is_stripped_as_in_texts(tmp_path: Path, form: str, text: str | None) -> None:
    path, row = tmp_path / form, {"title": "<b>A &amp; B</b>", "text": text, "tags": ["t"]}
    if form == "a.jsonl":
        jsonl(path, row)
    elif form == "a.csv":
        path.write_text(f"title,text,tags\n{row['title']},{text or ''},t\n")
    else:
        pq.write_table(pa.Table.from_pylist([row]), path)
    (document,) = read(path).documents
    assert (document["title"], document["text"]) == ("A & B", "red" if text else text)
    assert read(path, html=False).documents[0]["title"] == row["title"]


def test_a_title_that_speaks_of_an_element_keeps_it_among_texts_of_html(tmp_path: Path) -> None:
    row = {"title": "How to centre a <div>?", "text": "<p>It is in a <div>.</p>", "tags": ["css"]}
    (document,) = read(jsonl(tmp_path / "a.jsonl", row)).documents
    assert (document["title"], document["text"]) == ("How to centre a <div>?", "It is in a .")


@pytest.mark.parametrize(
    ("line", "value", "expected"),
    [
        (b'{"text": "x"', "", "a JSON object a line"),
        (b'[{"text": "x"}]', '[{"text": "x"}]', "a JSON object"),
        (b"nonsense", "nonsense", "a JSON object a line"),
        (b'{"text": 5}', 5, "a string as text"),
        (b'{"text": ["x"]}', ["x"], "a string as text"),
        (b'{"id": 1.5}', 1.5, "as id"),
        (b'{"id": true}', True, "as id"),
        (b'{"id": ""}', "", "as id"),
        (b'{"split": "dev"}', "dev", "train or test"),
        (b'{"fetched_at": "yesterday"}', "yesterday", "a time like"),
        (b'{"fetched_at": 1714564800}', 1714564800, "a time like"),
        (b'{"tags": "a b"}', "a b", "a list as tags"),
        (b'{"tags": ["a", 5]}', 5, "a string, or an object"),
        (b'{"tags": [""]}', "", "a tag that is not empty"),
        (b'{"tags": [{"count": 1}]}', None, "a tag that is not empty"),
        (b'{"tags": [{"tag": "t", "count": -1}]}', -1, "a whole number of at least 1"),
        (b'{"tags": [{"tag": "t", "count": 0}]}', 0, "a whole number of at least 1"),
        (b'{"tags": [{"tag": "t", "count": 1.5}]}', 1.5, "a whole number of at least 1"),
        (b'{"tags": [{"tag": "t", "count": "1"}]}', "1", "a whole number of at least 1"),
        (b'{"tags": [{"tag": "t", "count": true}]}', True, "a whole number of at least 1"),
        (b'{"tags": [{"tag": "t", "user": 5}]}', 5, "a string as user"),
        (b'{"tags": ["' + b"t" * 1001 + b'"]}', "t" * 1001, "at most 1,000 characters as tag"),
        (b'{"tags": [{"tag": "' + b"t" * 1001 + b'"}]}', "t" * 1001, "at most 1,000 characters as tag"),
        (b'{"tags": [{"tag": "t", "user": "' + b"u" * 1001 + b'"}]}', "u" * 1001, "at most 1,000 characters as user"),
        (b'{"id": "' + b"i" * 1001 + b'"}', "i" * 1001, "at most 1,000 characters as id"),
        (b'{"title": "' + b"x" * 10_001 + b'"}', "x" * 10_001, "at most 10,000 characters as title"),
        (b'{"text": "caf\xe9"}', b"\xe9", "UTF-8"),
        (b'{"text": "\\ud800"}', "'\\ud800'", "no half surrogate"),
        (b'{"text": ' + b"[" * 100_000, None, "a JSON object that can be read"),
        (b'{"id": ' + b"9" * 10_000 + b"}", None, "a JSON object that can be read"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, line: bytes, value: object, expected: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "fine", "tags": ["good"]}\n' + line + b'\n{"text": "also fine"}\n')
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert f"{path}, line 2: found " in str(caught.value)
    assert len(str(caught.value)) < 500
    if value is not None:
        assert caught.value.value == value

    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected, list(got.source.tags)) == (["1", "3"], 1, ["good"])


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_is_told_how_to_become_lines(tmp_path: Path, name: str, indent: int | None) -> None:
    path = tmp_path / name
    path.write_text(json.dumps([{"text": "x", "tags": ["t"]}], indent=indent))
    with pytest.raises(BadRow, match=r"line 1: found .*, expected a JSON object a line.* jq -c '\.\[\]'"):
        read(path)


def test_a_json_object_over_several_lines_is_told_how_to_become_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "x", "tags": ["t"]}, indent=2))
    with pytest.raises(BadRow, match=r"line 1: found '\{', expected a JSON object a line.* jq -c '\.'"):
        read(path)


@pytest.mark.parametrize("count", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_counts_that_are_no_numbers(tmp_path: Path, count: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "x", "tags": [{{"tag": "t", "count": {count}}}]}}')
    with pytest.raises(BadRow, match=r"line 1: found .*, expected a whole number"):
        read(path)


def test_duplicate_ids_name_both_lines(tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", {"id": "x", "text": "1"}, {"id": 7, "text": "2"})
    jsonl(tmp_path / "b.jsonl", {"id": "y", "text": "3"}, {"id": "7", "text": "4", "tags": ["t"]})
    with pytest.raises(BadRow, match=r"b.jsonl, line 2: found '7'.*line 2 of .*a.jsonl"):
        read(tmp_path)


def test_a_line_beyond_the_limit(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"text": "a", "tags": []}, {"text": "b" * 1000}, {"text": "c", "tags": ["t"]})
    with pytest.raises(BadRow, match=r"line 2: found 1013, expected at most 100 bytes"):
        read(path, row_bytes=100)
    got = read(path, row_bytes=100, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["1", "3"], 1)


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "x", "tags": []}\r\n{"text": "y"}\r\n')
    assert [d["text"] for d in read(tmp_path / "a.jsonl").documents] == ["x", "y"]


names = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda s: s.strip())
documents = st.fixed_dictionaries(
    {"text": st.text(st.characters(codec="utf-8")), "tags": st.lists(names, max_size=4)},
    optional={"title": st.none() | st.text(st.characters(codec="utf-8")), "language": st.sampled_from(["en", "de"])},
)


@settings(deadline=None)
@given(records=st.lists(documents, min_size=1, max_size=8), rows=st.integers(1, 9), ascii_only=st.booleans())
def test_whatever_is_written_is_read(tmp_path_factory, records: list[dict], rows: int, ascii_only: bool) -> None:
    lines = "\n".join(json.dumps(r, ensure_ascii=ascii_only) for r in records)
    path = gzipped(tmp_path_factory.mktemp("written") / "a.jsonl.gz", lines.encode())
    got = read(path, rows, html=False)
    assert [d["text"] for d in got.documents] == [r["text"] for r in records]
    assert [d["title"] for d in got.documents] == [r.get("title") for r in records]
    assert got.tags == [list(dict.fromkeys(t.strip() for t in r["tags"])) for r in records]


MEDIA = {"title": "Sunset", "description": "<p>over the <b>sea</b></p>", "names": ["Ann", "Bob"], "tags": ["sky"]}


def test_further_fields_are_kept_by_name(tmp_path: Path) -> None:
    other = {"title": "Dawn", "names": "Cleo", "comments": "", "tags": ["sky"]}
    path = jsonl(tmp_path / "a.jsonl", MEDIA, other, {"title": "none", "tags": []})
    source = open_source(path, fields="description, names,comments", html=True)
    (block,) = source.blocks()
    assert block.fields is not None
    assert [dict(fields) for fields in block.fields["fields"].to_pylist()] == [
        {"description": "over the sea", "names": "Ann\nBob"},
        {"names": "Cleo"},
        {},
    ]
    assert block.documents["text"].null_count == 3


def test_fields_alone_are_enough_and_count_as_words(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"names": "Cleo", "tags": ["x"]}, {"names": [], "tags": ["x"]})
    source = open_source(path, fields=["names"])
    assert len(list(source.blocks(rows=1))) == 2
    assert source.counts.wordless == 1


def test_fields_that_cannot_be(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", MEDIA)
    with pytest.raises(ValueError, match=r"fields has 'title', which every document has: name its column by title="):
        open_source(path, fields=["title"])
    with pytest.raises(ReadError, match=r"no 'descr', which fields names; there are 'description', 'names', "):
        list(open_source(path, fields="descr").blocks())
    odd = jsonl(tmp_path / "b.jsonl", {"title": "a", "names": [1], "tags": []})
    with pytest.raises(BadRow, match=r"a string, or a list of strings, as names"):
        list(open_source(odd, fields="names").blocks())
