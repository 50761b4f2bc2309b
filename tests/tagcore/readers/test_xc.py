"""Extreme Classification text: equal to scikit-learn's svmlight reader, and strict about its header and numbers."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from tagcore.corpus import Names
from tagcore.readers import open_source, xc
from tagcore.readers.bad_rows import BadRow, ReadError
from tests.tagcore.readers.helpers import gzipped, read, whole

SMALL = "4 3 2\n0,1 0:1 2:0.5\n 1:-2e1\n1\n\n"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_rows_with_and_without_tags_and_words(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.txt", SMALL))
    assert got.tags == [["0", "1"], [], ["1"], []]
    np.testing.assert_array_equal(got.words, [[1, 0, 0.5], [0, -20, 0], [0, 0, 0], [0, 0, 0]])
    assert (list(got.source.tags), list(got.source.words or ())) == (["0", "1"], ["w0", "w1", "w2"])
    assert got.ids == ["2", "3", "4", "5"]
    assert (got.source.counts.untagged, got.source.counts.wordless) == (2, 2)


def test_names_are_known_before_the_first_block(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "a.txt", SMALL))
    assert (len(source.tags), len(source.words or ())) == (2, 3)


def test_a_pair_of_files_is_a_split(tmp_path: Path) -> None:
    gzipped(tmp_path / "set_train.txt.gz", b"2 3 2\n0 0:1\n1 1:1\n")
    write(tmp_path / "set_test.txt", "1 3 2\n1 2:1")
    got = read(tmp_path)
    assert [d["split"] for d in got.documents] == ["train", "train", "test"]
    assert got.ids == ["train:2", "train:3", "test:2"]
    write(tmp_path / "set_test.txt", "1 4 2\n1 2:1")
    with pytest.raises(ReadError, match=r"4 words and 2 tags, expected 3 and 2 as in .*set_train"):
        read(tmp_path)


def test_files_that_name_words_and_tags(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", SMALL)
    write(tmp_path / "words.txt", "ant\nbee\ncat\n")
    write(tmp_path / "labels", "x\ny\n")
    source = open_source(path, tag_names="labels")
    assert (list(source.tags), list(source.words or ())) == (["x", "y"], ["ant", "bee", "cat"])
    assert {p.name for p in source.inputs} == {"a.txt", "words.txt", "labels"}
    write(tmp_path / "words.txt", "ant\nbee\nant\n")
    with pytest.raises(ReadError, match=r"words.txt: 3 names, 2 of them different, expected 3"):
        open_source(path)


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        ("0 3:1", "3:1", "a word number from 0 to 2"),
        ("0 -1:1", "-1:1", "a pair word:value"),
        ("0 1:1 1:2", "1:2", "every word and every tag once"),
        ("0,0 1:1", "0", "every word and every tag once"),
        ("2 1:1", "2", "tag numbers from 0 to 1"),
        ("0,,1 1:1", ",", "tag numbers from 0 to 1"),
        ("0, 1:1", " ", "tag numbers from 0 to 1"),
        ("x 1:1", "x", "tag numbers from 0 to 1"),
        ("1:1 2:1", "1:1", "tag numbers from 0 to 1"),
        ("0 1", "1", "a pair word:value"),
        ("0 1:", "1:", "a finite number"),
        ("0 1:nan", "1:nan", "a finite number"),
        ("0 1:inf", "1:inf", "a finite number"),
        ("0 1:1e39", "1:1e39", "a finite number"),
        ("0 1:0x1p3", "1:0x1p3", "a finite number"),
        ("0 1:1,5", "1:1", "a finite number"),
        ("0 1:1 # why", "#", "a pair word:value"),
        ("0 1:é", "1:é", "a finite number"),
        ("0 99999999999999999999:1", "99999999999999999999:1", "a word number"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: str, value: str, expected: str) -> None:
    path = write(tmp_path / "a.txt", f"3 3 2\n0 0:1\n{row}\n1 2:3\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 3, value)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["2", "4"], 1)
    np.testing.assert_array_equal(got.words, [[1, 0, 0], [0, 0, 3]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 3 2\n0 0:1\n", "1 rows, expected 3 as its first line says"),
        ("1 3 2\n0 0:1\n1 0:1\n", r"line 3: found '1 0:1', expected no more than 1 rows"),
        ("1 3\n0 0:1\n", "line 1: found '1 3', expected three whole numbers"),
        ("1 0 2\n0\n", "from 1 to .* words"),
        ("1 99999999999 2\n0\n", "from 1 to .* words"),
        ("999999999999999999 3 2\n0 0:1\n", "1 rows, expected 999999999999999999 as its first line says"),
        ("", "no documents"),
        ("0 3 2\n\n", "no documents"),
    ],
)
def test_headers_that_do_not_hold(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read(write(tmp_path / "a.txt", text), format="xc")
    assert str(tmp_path / "a.txt") in str(caught.value)


@pytest.mark.parametrize(
    ("head", "what", "width"), [("2 300000 2", "words", "300000"), ("2 3 16777216", "tags", "16777216")]
)
def test_a_large_head_that_the_rows_do_not_bear_out_is_refused(
    tmp_path: Path, head: str, what: str, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr(xc, "_names", lambda path, n, *rest: made.append(n) or Names())
    path = write(tmp_path / "a.txt", f"{head}\n0,1 0:1 2:1\n1 1:1\n")
    rows_have = "3" if what == "words" else "2"
    with pytest.raises(ReadError, match=rf"a\.txt, line 1: {width} {what}, but the rows have {rows_have} of them"):
        list(open_source(path).blocks())
    assert int(width) not in made  # no name before the rows are known


def test_a_large_head_that_the_rows_bear_out_names_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xc, "FREE_COLUMNS", 4)
    source = open_source(write(tmp_path / "a.txt", "2 32 5\n4,0 0:1 31:2\n1 1:1\n"))
    assert len(source.words or ()) == 0
    (block,) = source.blocks()
    assert list(source.words or ()) == [f"w{i}" for i in range(32)]
    assert list(source.tags) == ["0", "1", "2", "3", "4"]
    assert block.taggings["tag"].to_pylist() == [4, 0, 1]
    assert block.words is not None
    assert block.words[0, 31] == 2


def test_blank_lines_at_the_end_are_no_rows(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "a.txt", "1 3 2\n0 0:1\n\n \n")).documents) == 1


def test_a_value_in_the_middle_of_two_floats_is_rounded_as_numpy_does(tmp_path: Path) -> None:
    ulp = 2.0**-24
    middles = [1 + ulp, 1 + 3 * ulp, -(1 + ulp)]
    dictionary_encode = " ".join(f"{i}:{m:.40f}" for i, m in enumerate(middles))
    got = read(write(tmp_path / "a.txt", f"1 3 2\n0 {dictionary_encode}"))
    np.testing.assert_array_equal(got.words, [np.array(middles).astype(np.float32)])


tag_sets = st.sets(st.integers(0, 4))
bags = st.dictionaries(st.integers(0, 6), st.floats(-1e30, 1e30).filter(bool))
# scikit-learn takes a row of nothing for no row
tables = st.lists(st.tuples(tag_sets, bags).filter(any), min_size=1, max_size=6)


@settings(deadline=None)
@given(rows=tables, block=st.integers(1, 7), end=st.sampled_from(["\n", "\r\n"]))
def test_equal_to_scikit_learn(tmp_path_factory, rows: list[tuple[set, dict]], block: int, end: str) -> None:
    lines = [",".join(map(str, tags)) + "".join(f" {w}:{v!r}" for w, v in sorted(bag.items())) for tags, bag in rows]
    body = "".join(line + end for line in lines)
    got = whole(
        open_source(write(tmp_path_factory.mktemp("written") / "a.txt", f"{len(rows)} 7 5{end}{body}")),
        block,
    )
    words, tags = load_svmlight_file(io.BytesIO(body.encode()), n_features=7, multilabel=True, zero_based=True)
    np.testing.assert_array_equal(got.words, words.toarray().astype(np.float32))
    assert [set(map(int, t)) for t in got.tags] == [set(map(int, t)) for t in tags]
