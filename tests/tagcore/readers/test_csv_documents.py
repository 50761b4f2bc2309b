"""Tables: quoting, columns, tags in one cell, and what is said about rows that cannot be read."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError, rows_left_out
from tests.tagcore.readers.helpers import gzipped, read, zipped

TABLE = '"id","title","content","tags"\n"7","A","one\n""two"", three","red green"\n8,B,four,\n'


def table(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_quotes_line_ends_and_usual_names(tmp_path: Path) -> None:
    got = read(table(tmp_path / "a.csv", TABLE))
    assert got.ids == ["7", "8"]
    assert [d["text"] for d in got.documents] == ['one\n"two", three', "four"]
    assert [d["title"] for d in got.documents] == ["A", "B"]
    assert got.tags == [["red", "green"], []]


def test_the_same_in_gzip_and_zip_and_with_windows_line_ends(tmp_path: Path) -> None:
    expected = read(table(tmp_path / "a.csv", TABLE)).documents
    assert read(gzipped(tmp_path / "a.csv.gz", TABLE.encode())).documents == expected
    assert read(zipped(tmp_path / "a.zip", a__csv=TABLE.encode())).documents == expected
    windows = b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode()
    assert [d["id"] for d in read(table(tmp_path / "b.csv", windows)).documents] == ["7", "8"]


def test_tabs_and_other_delimiters(tmp_path: Path) -> None:
    assert read(table(tmp_path / "a.tsv", "text\ttags\na, b\tx y\n")).documents[0]["text"] == "a, b"
    assert read(table(tmp_path / "a.csv", "text;tags\na, b;x\n"), delimiter=";").tags == [["x"]]


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_the_delimiter_is_found_out(tmp_path: Path, delimiter: str) -> None:
    rows = (["id", '"text"', "tags"], ["1", "a b", "x"])
    path = table(tmp_path / "a.csv", "\n".join(map(delimiter.join, rows)))
    got = read(path)
    assert (got.ids, got.documents[0]["text"], got.tags) == (["1"], "a b", [["x"]])


def test_a_comma_beats_what_parts_the_header_no_better(tmp_path: Path) -> None:
    got = read(table(tmp_path / "a.csv", '\n"text;more",tags\na;b,x\n'), text="text;more")
    assert (got.documents[0]["text"], got.tags) == ("a;b", [["x"]])


@pytest.mark.parametrize(("cell", "told"), [("a|b", "'|'"), ("a b", "white space")])
def test_how_tags_were_split_is_told_where_it_was_found_out(tmp_path: Path, cell: str, told: str) -> None:
    path = table(tmp_path / "a.csv", f"text,tags\nx,{cell}\n")
    expected = f"tags are split at {told} (such as 'a', 'b'), which the option tag_separator changes"
    assert read(path).source.remark == expected
    assert read(path, tag_separator="|").source.remark == ""
    lists = table(tmp_path / "b.csv", "text,tags\nx,\"['a b', 'c']\"\ny,\"['c', 'd', 'e']\"\nz,f\n")
    assert read(lists).source.remark == "tags are read as lists (such as 'a b', 'c', 'd')"


@pytest.mark.parametrize(
    ("cells", "tags"),
    [
        (["a b", "c"], [["a", "b"], ["c"]]),
        (["a|b c|", "d"], [["a", "b c"], ["d"]]),
        (["a; b", "a,c"], [["a", "b"], ["a,c"]]),
        (['"a, b"', "c d"], [["a", "b"], ["c d"]]),
    ],
)
def test_what_separates_tags_is_found_out(tmp_path: Path, cells: list[str], tags: list[list[str]]) -> None:
    path = table(
        tmp_path / "a.csv",
        "tags,text\n" + "".join(f"{c},x\n" if "," not in c else f'"{c.strip(chr(34))}",x\n' for c in cells),
    )
    assert read(path).tags == tags


@pytest.mark.parametrize(
    ("usual", "stray", "tags"),
    [("a,b", "c|d", ["a", "b", "c|d"]), ("a|b, c", "d,e", ["a", "b, c", "d,e"]), ("a b", "c,d", ["a", "b", "c,d"])],
)
def test_one_cell_with_another_separator_decides_nothing(
    tmp_path: Path, usual: str, stray: str, tags: list[str]
) -> None:
    cells = [usual] * 300
    cells[7] = stray
    path = table(tmp_path / "a.csv", "tags,text\n" + "".join(f'"{cell}",x\n' for cell in cells))
    assert list(read(path).source.tags) == tags


def test_tags_of_several_words_stay_whole_where_some_cells_have_separators(tmp_path: Path) -> None:
    rows = ["science fiction,x\n"] * 15 + ['"art history, jazz",x\n']
    got = read(table(tmp_path / "a.csv", "tags,text\n" + "".join(rows)))
    assert list(got.source.tags) == ["science fiction", "art history", "jazz"]


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ('["a", "b c"]', ["a", "b c"]),
        ("['a', 'it\\'s', \"b's\"]", ["a", "it's", "b's"]),
        ("[ 'a' , 'b' ] ", ["a", "b"]),
        ('["it\'s \\ud83d\\ude00", ""]', ["it's \U0001f600"]),
        ("[]", []),
        ("[1, 23]", ["1", "23"]),
        ("[meta] b", ["[meta]", "b"]),
    ],
)
def test_lists_in_cells_are_read_as_lists(tmp_path: Path, cell: str, tags: list[str]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["text", "tags"], ["x", cell], ["y", "one two"]])
    assert read(table(tmp_path / "a.csv", out.getvalue())).tags == [tags, ["one", "two"]]


def test_a_list_is_taken_apart_where_a_separator_was_told(tmp_path: Path) -> None:
    assert read(table(tmp_path / "a.csv", "text;tags\nx;['a','b']\n"), tag_separator=",").tags == [["['a'", "'b']"]]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('["a", "b"', "a whole list of tags, such as"),
        ("['a' 'b']", "a whole list of tags, such as"),
        ("['a', b]", "a whole list of tags, such as"),
        ("['\\U00ffffff']", "a whole list of tags, such as"),
        ('["a", null]', "a list of tags that are texts"),
        ('["\\ud800"]', "no half surrogate"),
        ('["' + "[" * 100_000, "a whole list of tags, such as"),
    ],
)
def test_a_broken_list_is_a_bad_row(tmp_path: Path, cell: str, expected: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["text", "tags"], ["x", cell], ["y", "fine"]])
    path = table(tmp_path / "a.csv", out.getvalue())
    with pytest.raises(BadRow, match=f"line 2: found .*{expected}"):
        read(path)
    assert read(path, skip_bad_rows=tmp_path / "rejected").tags == [["fine"]]


def test_what_separates_tags_can_be_said(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "tags,text\na|b c,x\n")
    assert read(path, tag_separator=" ").tags == [["a|b", "c"]]


def test_columns_by_other_names_and_in_any_case(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "Id,Body,Label Names,Ignored\n5,words,x y,z\n")
    got = read(path, tags="Label Names")
    assert (got.ids, got.documents[0]["text"], got.tags) == (["5"], "words", [["x", "y"]])


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ("a,b", {}, "line 1: no text, content, body, title; there are 'a', 'b'"),
        (
            "text,labels",
            {},
            r"no tags; there are 'labels', 'text': .*\(--option tags=NAME, in",
        ),
        ("text,tags", {"text": "body"}, "no 'body', which was named as text"),
        ("text,tags,text", {}, "two columns are called 'text'"),
        ('text,"tags', {}, "expected a header"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, header: str, options: dict, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read(table(tmp_path / "a.csv", f"{header}\n1,2\n"), **options)
    assert str(tmp_path / "a.csv") in str(caught.value)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b"1,2,3", "found 3, expected 2 fields as in the header"),
        (b"alone", "found 1, expected 2 fields"),
        (b'"text"after,x', "quotes as in RFC 4180"),
        (b"caf\xe9,x", "UTF-8"),
        (b'"two\nlines \xff",x', "UTF-8"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: bytes, expected: str) -> None:
    path = table(tmp_path / "a.csv", b'text,tags\n"two\nlines",good\n' + row + b"\nlast,fine\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line) == (str(path), 4)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert [d["text"] for d in got.documents] == ["two\nlines", "last"]
    assert (got.source.rejected, list(got.source.tags)) == (1, ["good", "fine"])


def test_a_quote_that_never_ends(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", 'text,tags\nfine,x\n"open,y\n' + "more,z\n" * 50)
    with pytest.raises(BadRow, match=r"line 3: .*unexpected end of data"):
        read(path)
    with pytest.raises(BadRow, match=r"line 3: .*at most 100 bytes"):
        read(path, row_bytes=100)


def test_a_quote_that_is_not_closed_costs_its_line_alone(tmp_path: Path) -> None:
    lines = [f"word {n},t{n % 3}" for n in range(600)]
    lines[50] = '"' + lines[50]
    for last in ("", '"quoted, too",x\n'):  # the quote is open to the end, or to another one
        path = table(tmp_path / "a.csv", "text,tags\n" + "\n".join(lines) + "\n" + last)
        ends = 602 if last else 601
        with pytest.raises(BadRow, match=f"line 52: .*; a quote joins lines 52 to {ends}$"):
            read(path)
        got = read(path, skip_bad_rows=tmp_path / "rejected")
        assert (len(got.documents), got.source.rejected) == (600 if last else 599, 1)
        assert rows_left_out(got.source.rejected, got.source.rejected_lines) == "1 bad row left out"
        (note,) = map(json.loads, (tmp_path / "rejected").read_text().splitlines())
        assert (note["line"], note["row"]) == (52, '"word 50,t2\n')


def test_lines_that_a_quote_joins_are_told(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", 'text,tags\n"a,b\nc\nd",e,f\nlast,fine\n')
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert [d["text"] for d in got.documents] == ["last"]
    assert rows_left_out(got.source.rejected, got.source.rejected_lines) == "1 bad row (3 lines) left out"
    assert "found 3, expected 2 fields as in the header; a quote joins lines 2 to 4" in (
        tmp_path / "rejected"
    ).read_text(encoding="utf-8")


def test_lines_that_a_long_row_joined_are_read_again(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", 'text,tags\n"open,x\n' + "more,z\n" * 50)
    got = read(path, row_bytes=100, skip_bad_rows=tmp_path / "rejected")
    assert ([d["text"] for d in got.documents], got.source.rejected) == (["more"] * 50, 1)


def test_no_line_is_read_again_and_again(tmp_path: Path) -> None:
    """Each of these lines would join all that follow."""
    path = table(tmp_path / "a.csv", 'text,tags\n"open,x\n' + 'x",y,"z\n' * 20_000 + "fine,x\n" * 300)
    got = read(path, row_bytes=1000, skip_bad_rows=tmp_path / "rejected")
    assert {d["text"] for d in got.documents} == {"fine"}
    assert got.source.rejected < 1000
    assert got.source.rejected_lines + len(got.documents) == 20_301


def test_other_fields(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "text,tags,split,fetched_at\nx,a,train,2024-01-01\ny,b,,\n")
    first, second = read(path).documents
    assert (first["split"], first["fetched_at"].year) == ("train", 2024)
    assert (second["split"], second["fetched_at"]) == (None, None)
    with pytest.raises(BadRow, match="line 2: found 'soon', expected a time"):
        read(table(tmp_path / "b.csv", "text,tags,fetched_at\nx,a,soon\n"))


def test_duplicate_ids_name_both_lines(tmp_path: Path) -> None:
    with pytest.raises(BadRow, match=r"line 4: found '1', expected an id of its own; line 2 of"):
        read(table(tmp_path / "a.csv", "id,text,tags\n1,x,a\n2,y,b\n1,z,c\n"))


def test_a_field_longer_than_the_csv_module_allows_by_default(tmp_path: Path) -> None:
    text = "word " * 60_000
    assert read(table(tmp_path / "a.csv", f'text,tags\n"{text}",a\n')).documents[0]["text"] == text


@pytest.mark.parametrize("options", [{"delimiter": ",,"}, {"delimiter": '"'}, {"tag_separator": ""}, {"row_bytes": 0}])
def test_options_that_make_no_sense(tmp_path: Path, options: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        read(table(tmp_path / "a.csv", TABLE), **options)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r")).filter(lambda s: s == s.strip("\x00"))


@settings(deadline=None)
@given(rows=st.lists(st.tuples(cells, st.lists(st.from_regex(r"[a-z]{1,3}", fullmatch=True))), min_size=1, max_size=6))
def test_whatever_the_csv_module_writes_is_read(tmp_path_factory, rows: list[tuple[str, list[str]]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["text", "tags"])
    writer.writerows((text, " ".join(tags)) for text, tags in rows)
    got = read(table(tmp_path_factory.mktemp("written") / "a.csv", out.getvalue()), html=False)
    assert [d["text"] or "" for d in got.documents] == [text for text, _ in rows]
    assert got.tags == [list(dict.fromkeys(tags)) for _, tags in rows]


def test_further_columns_are_kept_as_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("title,Names,tags\nSunset,Ann Bob,sky\nDawn,,sky\n")
    (block,) = open_source(path, fields="Names").blocks()
    assert block.fields is not None
    assert block.fields["fields"].to_pylist() == [[("Names", "Ann Bob")], []]
    path.write_text("title,names2,tags\nSunset,Ann Bob,sky\n")
    with pytest.raises(ReadError, match="no 'names', which fields names; there are 'names2', 'tags', 'title'"):
        list(open_source(path, fields="names").blocks())
