"""Mulan's ARFF and XML: sparse and dense rows, odd names, and what is said about what cannot be read."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.readers import open_source
from tagcore.readers.arff import header
from tagcore.readers.bad_rows import BadRow, ReadError
from tests.tagcore.readers.helpers import gzipped, read

HEADER = """% a comment
@relation 'small: -C 2'

@attribute ant {0,1}
@ATTRIBUTE 'two words' numeric
@attribute TAG_x {0,1}
@attribute "it\\"s" real % trailing
@attribute TAG_y\\'z { 0, 1 }

@data
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="TAG_x"><label name="TAG_y\\'z"></label></label>
</labels>"""


def write(folder: Path, rows: str, *, header: str = HEADER, xml: str = XML, name: str = "a.arff") -> Path:
    (folder / "a.xml").write_text(xml, encoding="utf-8")
    (folder / name).write_text(header + rows, encoding="utf-8")
    return folder / name


def test_sparse_and_dense_rows(tmp_path: Path) -> None:
    got = read(write(tmp_path, "{0 1, 1 -2.5,2 1}\n\n% no row\n1,0.5,0,3e2,1\n{}\n{ 4 1 }\n{3 0,1 2}\n"))
    np.testing.assert_array_equal(got.words, [[1, -2.5, 0], [1, 0.5, 300], [0, 0, 0], [0, 0, 0], [0, 2, 0]])
    assert got.tags == [["TAG_x"], ["TAG_y\\'z"], [], ["TAG_y\\'z"], []]
    assert list(got.source.words or ()) == ["ant", "two words", 'it"s']
    assert got.ids == ["11", "14", "15", "16", "17"]


def test_names_are_known_before_the_first_block_and_lose_their_prefix(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "{}"), tag_prefix="TAG_")
    assert (list(source.tags), len(source.words or ())) == (["x", "y\\'z"], 3)
    assert {p.name for p in source.inputs} == {"a.arff", "a.xml"}


def test_a_pair_of_files_is_a_split_and_their_union_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "{0 1}\n{2 1}\n")
    write(tmp_path, "{0 1}\n", name="a-train.arff")
    (tmp_path / "a-test.arff.gz").write_bytes(gzipped(tmp_path / "x", (HEADER + "{2 1}\n").encode()).read_bytes())
    (tmp_path / "x").unlink()
    got = read(tmp_path)
    assert [d["split"] for d in got.documents] == ["train", "test"]
    assert got.tags == [[], ["TAG_x"]]


def test_a_pair_must_have_the_same_attributes(tmp_path: Path) -> None:
    write(tmp_path, "{0 1}\n", name="a-train.arff")
    write(tmp_path, "{0 1}\n", name="a-test.arff", header=HEADER.replace("ant", "bee"))
    with pytest.raises(ReadError, match=r"a-test.arff, line 4: attribute 'bee', expected 'ant' as in .*a-train.arff"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        ("{5 1}", "5 1", "an attribute number from 0 to 4"),
        ("{-1 1}", "-1 1", "pairs `attribute value`"),
        ("{1}", "1", "pairs `attribute value`"),
        ("{1 2 3}", "2 3", "a finite number"),
        ("{1 nan}", "nan", "a finite number"),
        ("{1 ?}", "?", "a finite number"),
        ("{0 2}", "2", "0 or 1"),
        ("{2 0.5}", "0.5", "0 or 1"),
        ("{1 1,1 2}", "1 2", "every attribute once"),
        ("{1 1", "", "one closing brace"),
        ("{1 1} x", "}", "one closing brace"),
        ("{1 1,}", "}", "pairs `attribute value`"),
        ("1,2,0,3", "3", "5 values"),
        ("1,2,0,3,1,7", "7", "5 values"),
        ("1,inf,0,3,1", "inf", "a finite number"),
        ("1,,0,3,1", ",", "a finite number"),
        ("1,2,0,3,yes", "yes", "a finite number"),
        ("1,2,0,3,2", "2", "0 or 1"),
        ("caf\u00e9", "caf\u00e9", "a finite number"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: str, value: str, expected: str) -> None:
    path = write(tmp_path, f"{{0 1}}\n{row}\n{{2 1}}\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 12, value)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["11", "13"], 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "'two words' numeric",
            "'two words' string",
            r"line 5: found 'string', expected numeric, real, integer or \{0,1\}",
        ),
        ("ant {0,1}", "ant {1,0}", r"line 4: found '\{1,0\}'"),
        ("ant {0,1}", "ant {no,yes}", r"line 4: found '\{no,yes\}'"),
        ("ant {0,1}", "ant", "line 4: .*expected @attribute NAME TYPE"),
        ("ant {0,1}", "TAG_x {0,1}", "line 6: found 'TAG_x', expected a name of its own: line 4"),
        ("TAG_x", "TAG_q", "a.xml: label 'TAG_x' is no attribute of"),
        ("@data", "", "no @data line"),
    ],
)
def test_headers_that_do_not_hold(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read(write(tmp_path, "", header=HEADER.replace(old, new)))
    assert str(tmp_path) in str(caught.value)


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><labels><label name="&b;"/></labels>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><labels><label name="x">&a;</label></labels>'


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (ENTITIES, "a document type declaration"),
        (OUTSIDE, "a document type declaration"),
        ("<labels><label name='x'>", "not well-formed XML"),
        ("", "not well-formed XML"),
        ("<labels><label/></labels>", "a label without a name"),
        ("<labels>\n<label name='x'/>\n<label name='x'/></labels>", "line 3: label 'x' again, first in line 2"),
        ("<labels/>", "no label elements"),
        ("<?xml version='1.0' encoding='klingon'?><labels/>", "an encoding that cannot be read.*klingon"),
        ("<?xml version='1.0' encoding='euc-jp'?><labels/>", "an encoding that cannot be read"),
        (f"<labels>{'<x/>' * 100}</labels>", "longer than 256 bytes"),
    ],
)
def test_label_files_that_do_not_hold(tmp_path: Path, xml: str, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read(write(tmp_path, "{}", xml=xml), row_bytes=256)
    assert str(tmp_path / "a.xml") in str(caught.value)


def test_more_attributes_than_the_rows_could_speak_of_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header, "FREE_COLUMNS", 40)
    many = "".join(f"@attribute a{i} numeric\n" for i in range(300))
    head = HEADER.replace("@data", f"{many}@data")
    n = head.lower().count("@attribute")
    path = write(tmp_path, "{0 1}", header=head)
    with pytest.raises(ReadError, match=rf"a\.arff: {n} attributes, but \d+ bytes of rows, expected at least 20"):
        open_source(path)
    write(tmp_path, "{0 1}\n" * 20, header=head)
    assert len(read(path).documents) == 20


def test_names_have_a_longest_length(tmp_path: Path) -> None:
    path = write(tmp_path, "{0 1}", header=HEADER.replace("@data", f"@attribute {'x' * 1001} numeric\n@data"))
    with pytest.raises(BadRow, match="at most 1,000 characters as the name of an attribute"):
        open_source(path)


def test_prefixes_that_make_two_labels_one(tmp_path: Path) -> None:
    header = HEADER.replace("TAG_y\\'z", "x")
    xml = "<labels><label name='TAG_x'/><label name='x'/></labels>"
    with pytest.raises(ReadError, match="the same without the prefix 'TAG_'"):
        read(write(tmp_path, "{}", header=header, xml=xml), tag_prefix="TAG_")


def test_a_missing_label_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "{}", header=HEADER.replace(" -C 2", ""))
    (tmp_path / "a.xml").unlink()
    with pytest.raises(ReadError, match=r"no XML file of its name beside it and no -C in the name of its relation"):
        read(path)
    with pytest.raises(ReadError, match=r"b.xml: there is no such file"):
        read(path, labels="b.xml")


def test_no_rows(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no documents"):
        read(write(tmp_path, "% nothing\n\n"))
    with pytest.raises(ReadError, match="no documents"):
        read(write(tmp_path, "", header=""))


values = st.lists(st.floats(-1e30, 1e30) | st.integers(-5, 5), min_size=3, max_size=3)
labels = st.lists(st.booleans(), min_size=2, max_size=2)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(values, labels, st.booleans()), min_size=1, max_size=6), block=st.integers(1, 7))
def test_whatever_is_written_is_read(tmp_path_factory, rows: list, block: int) -> None:
    kinds = {"a": "real", "x": "{0,1}", "b": "numeric", "c": "integer", "y": "{0,1}"}
    header = "".join(f"@attribute {name} {kind}\n" for name, kind in kinds.items()) + "@data\n"
    lines = []
    for (a, b, c), (x, y), sparse in rows:
        cells = [repr(a), str(int(x)), repr(b), repr(c), str(int(y))]
        pairs = ",".join(f"{i} {cell}" for i, cell in enumerate(cells) if float(cell))
        lines.append(f"{{{pairs}}}" if sparse else ", ".join(cells))
    xml = "<labels><label name='y'/><label name='x'/></labels>"
    path = write(tmp_path_factory.mktemp("written"), "\n".join(lines), header=header, xml=xml)
    got = read(path, block)
    np.testing.assert_array_equal(got.words, np.array([v for v, _, _ in rows], np.float32))
    assert [set(t) for t in got.tags] == [{n for n, on in zip("xy", on, strict=True) if on} for _, on, _ in rows]
