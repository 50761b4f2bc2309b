"""Tables of the UCI repository: plain ones, those with a header of KEEL, and their splits."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tests.tagcore.readers.helpers import gzipped, read, whole

KEEL = """@relation iris
@attribute length real [4.3, 7.9]
@attribute kind {a, b}
@attribute 'how wide' integer[0,9]
@inputs length, how wide
@outputs kind
@data
"""


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_class_is_first_or_last(tmp_path: Path) -> None:
    first = read(write(tmp_path / "a.data", "T,2,-8.5\nI, 5 ,0\n\nT,0,0\n"))
    assert (first.tags, first.ids) == ([["T"], ["I"], ["T"]], ["1", "2", "4"])
    np.testing.assert_array_equal(first.words, [[2, -8.5], [5, 0], [0, 0]])
    last = read(write(tmp_path / "b.dat", "1, 2, 10\r\n3e-1, 4, 2\r\n"))
    assert last.tags == [["10"], ["2"]]
    np.testing.assert_array_equal(last.words, np.array([[1, 2], [0.3, 4]], np.float32))
    assert list(last.source.words or ()) == ["w0", "w1"]
    said = read(tmp_path / "b.dat", format="uci", class_column="first")
    assert said.tags == [["1"], ["3e-1"]]


def test_a_header_of_keel_names_the_words_and_the_class(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.dat", KEEL + "4.5, a, 3\n5, b b, 0\n"))
    assert got.source.format == "uci"
    assert got.tags == [["a"], ["b b"]]
    assert list(got.source.words or ()) == ["length", "how wide"]
    np.testing.assert_array_equal(got.words, [[4.5, 3], [5, 0]])
    assert got.ids == ["8", "9"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("real [4.3, 7.9]", "{x, y}", "line 2: found '{x, y}', expected real or integer as the type of .*length"),
        ("@outputs kind", "@outputs sort", "line 7: found 'sort', expected one attribute as the output"),
        ("'how wide'", "length", "line 4: found 'length', expected a name of its own: line 2"),
        ("@attribute kind {a, b}", "@attribute", "line 3: .*expected @attribute NAME TYPE"),
        ("@data", "", "expected @data after the attributes"),
        ("@data\n4.5, a, 3\n", "", "no @data line: cut off"),
        ("\n@attribute", "\n@whatever", "line 7: found '@data', expected attributes before the data"),
    ],
)
def test_headers_that_do_not_hold(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = write(tmp_path / "a.dat", (KEEL + "4.5, a, 3\n").replace(old, new))
    with pytest.raises(ReadError, match=message) as caught:
        read(path, format="uci")
    assert str(path) in str(caught.value)


def test_splits_by_a_column_or_by_the_number_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dat", "0,5,x\n1,6,y\n0,7,x\n")
    by_column = read(path, split_column=0)
    assert [d["split"] for d in by_column.documents] == ["train", "test", "train"]
    np.testing.assert_array_equal(by_column.words, [[5], [6], [7]])
    assert list(by_column.source.words or ()) == ["w1"]
    by_number = read(path, split_number=2)
    assert [d["split"] for d in by_number.documents] == ["train", "train", "test"]
    assert by_number.words is not None
    assert by_number.words.shape == (3, 2)
    write(path, "0,5,x\n1,6\n0,?,x\n0,8,y\n")
    rejected = read(path, split_number=2, skip_bad_rows=tmp_path / "rejected")
    assert [(d["id"], d["split"]) for d in rejected.documents] == [("1", "train"), ("4", "test")]
    with pytest.raises(ReadError, match="4 rows, expected more than split_number 4"):
        read(path, split_number=4, skip_bad_rows=tmp_path / "rejected")
    with pytest.raises(ReadError, match="column 2 cannot be the split: 3 columns, class 2"):
        read(path, split_column=2)
    write(path, "0,5,x\n2,6,y\n")
    with pytest.raises(BadRow, match=r"line 2: found '2', expected 0 \(train\) or 1 \(test\)"):
        read(path, split_column=0)


@pytest.mark.parametrize(
    "options",
    [{"class_column": "middle"}, {"split_column": -1}, {"split_number": 0}, {"split_column": 0, "split_number": 1}],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict) -> None:
    with pytest.raises(ValueError, match="expected"):
        open_source(write(tmp_path / "a.dat", "1,2,x\n"), **options)


def test_a_pair_of_files_is_a_split_of_the_same_columns(tmp_path: Path) -> None:
    gzipped(tmp_path / "a_train.dat.gz", b"1,2,x\n")
    write(tmp_path / "a_test.dat", "3,4,y\n")
    got = read(tmp_path)
    assert [(d["id"], d["split"]) for d in got.documents] == [("train:1", "train"), ("test:1", "test")]
    write(tmp_path / "a_test.dat", "3,4,5,y\n")
    with pytest.raises(ReadError, match=r"a_test.dat: other columns than .*a_train.dat.gz"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        ("1,2", "2", "3 values between commas"),
        ("1,2,3,a", "3", "3 values between commas"),
        ("1,,a", ",", "a finite number"),
        ("1,?,a", "?", "a finite number"),
        ("1,nan,a", "nan", "a finite number"),
        ("1,1e39,a", "1e39", "a finite number"),
        ("1,2 3,a", "2 3", "a finite number"),
        ("1,2,", "", "a class"),
        ("1,2, ?", "?", "a class"),
        (b"1,2,\xff", "\ufffd", "UTF-8 text"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: str | bytes, value: str, expected: str) -> None:
    row = row.encode() if isinstance(row, str) else row
    path = write(tmp_path / "a.dat", b"7,8,a\n" + row + b"\n5,6,b\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 2, value)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["1", "3"], 1)


@pytest.mark.parametrize("text", ["", "\n\n", "alone\n", "% a note\n"])
def test_nothing_to_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReadError, match=r"a\.data"):
        read(write(tmp_path / "a.data", text), format="uci")


values = st.lists(st.floats(-1e30, 1e30) | st.integers(-9, 9), min_size=3, max_size=3)
classes = st.text(st.characters(exclude_characters=',"\n\r', exclude_categories=["Cs", "Zs", "Cc"]), min_size=1)


@example(rows=[([0.0, 0.0, 0.0], "%")], first=True, block=1)
@given(
    rows=st.lists(st.tuples(values, classes.filter(lambda c: c.strip(" \t") != "?")), min_size=1, max_size=6),
    first=st.booleans(),
    block=st.integers(1, 7),
)
def test_equal_to_the_csv_module(tmp_path_factory, rows: list, first: bool, block: int) -> None:
    lines = [",".join([name, *map(repr, bag)] if first else [*map(repr, bag), name]) for bag, name in rows]
    text = "\n".join(lines)
    path = write(tmp_path_factory.mktemp("written") / "a.data", text)
    options = {"format": "uci", "class_column": "first" if first else "last"}
    if lines[0].lstrip().startswith("@"):
        return  # a header
    got = whole(open_source(path, **options), block)
    table = list(csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONE))
    at = 0 if first else 3
    assert got.tags == [[row[at]] for row in table]
    numbers = [[float(v) for k, v in enumerate(row) if k != at] for row in table]
    np.testing.assert_array_equal(got.words, np.array(numbers).astype(np.float32))
