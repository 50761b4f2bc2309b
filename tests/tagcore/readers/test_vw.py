"""Vowpal Wabbit text: equal to a plain splitting of the same lines, and strict about what comes before the bar."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.kernels.parsing.utf8 import utf8_flaw
from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tests.tagcore.readers.helpers import gzipped, read, whole

SMALL = "1,5 |a x:0.5 y y:-1e-1 |b x\n\n-1 'id | x y:0\n tag| z\n'q |a x|c x\n|a\n5 named| z:2\n"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def plain_bags(lines: list[str]) -> list[dict[str, float]]:
    """words and values by splitting; enough for lines with a blank before every bar."""
    bags = []
    for line in lines:
        _, *spaces = line.split(" |")
        bag: Counter[str] = Counter()
        for space in spaces:
            name, *words = space.split(" ")
            for word, _, value in (w.partition(":") for w in words if w):
                bag[f"{name}^{word}" if name else word] += float(value or 1)
        bags.append({word: value for word, value in bag.items() if value})
    return bags


def test_namespaces_values_labels_and_ids(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.vw", SMALL))
    assert got.tags == [["1", "5"], ["-1"], [], [], [], ["5"]]
    assert list(got.source.tags) == ["-1", "1", "5"]
    assert list(got.source.words or ()) == ["a^x", "a^y", "b^x", "x", "z", "c^x"]
    expected = [[0.5, 0.9, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 1], [0] * 6]
    np.testing.assert_allclose(got.words, [*expected, [0, 0, 0, 0, 2, 0]])
    assert got.ids == ["1", "3", "4", "5", "6", "7"]


def test_labels_may_be_names(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.vw", "spam,späte_nacht |a x\n7 | x\nham 'id | y\nham,spam,ham | z\n10 | z\nid| z\n"))
    assert got.tags == [["spam", "späte_nacht"], ["7"], ["ham"], ["ham", "spam"], ["10"], []]
    assert list(got.source.tags) == ["7", "10", "spam", "späte_nacht", "ham"]


def test_a_pair_of_files_has_the_same_named_labels(tmp_path: Path) -> None:
    write(tmp_path / "a_train.vw", "spam | x\n")
    write(tmp_path / "a_test.vw", "3 | x\nham,spam | x\n")
    got = read(tmp_path)
    assert got.tags == [["spam"], ["3"], ["ham", "spam"]]


def test_a_word_that_a_row_takes_back_is_not_there(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "a.vw", "1 | x:2 y x:-2\n"))
    assert [block.words.nnz for block in source.blocks() if block.words is not None] == [1]


def test_a_pair_of_files_is_a_split_with_the_same_words(tmp_path: Path) -> None:
    gzipped(tmp_path / "a_train.vw.gz", b"1 | x\n")
    write(tmp_path / "a_test.vw", "2 | y x\n")
    got = read(tmp_path)
    assert [(d["id"], d["split"]) for d in got.documents] == [("train:1", "train"), ("test:1", "test")]
    np.testing.assert_array_equal(got.words, [[1, 0], [1, 1]])


def test_it_is_recognised_by_how_it_begins(tmp_path: Path) -> None:
    assert open_source(write(tmp_path / "a.dat", "-1 |f 9:6.27e-02 14\n")).format == "vw"
    assert open_source(write(tmp_path / "b.data", "1,2 'id|f a\n")).format == "vw"
    with pytest.raises(ReadError, match="not recognised"):
        open_source(write(tmp_path / "c.md", "| a table | of text |\n"))


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        ("1 x:1", "1", "a bar before the words"),
        ("1:0 2:1 | x", "1:0", "weights and costs are not read"),
        ("1 2.0 | x", "2.0", "weights and costs are not read"),
        ("1 2.0 'id | x", "2.0", "weights and costs are not read"),
        ("1 'id more | x", "'id", "weights and costs are not read"),
        ("1.5 | x", "1.5", "whole numbers, or names"),
        ("1,,2 | x", ",", "whole numbers, or names"),
        ("1,spam | x", "spam", "whole numbers, or names"),
        ("spam,1 | x", "1", "whole numbers, or names"),
        ("spam,,ham | x", ",", "whole numbers, or names"),
        ("spam:2 | x", "spam:2", "weights and costs are not read"),
        (f"{'s' * 1001} | x", "s" * 1001, "names of at most 1,000 bytes"),
        ("2,1,2 | x", "2", "every label once"),
        ("1 |f:0.5 x", "|f:0.5", "a namespace of at most 255 bytes and without a weight"),
        (f"1 |{'f' * 256} x", f"|{'f' * 256}", "a namespace of at most 255 bytes"),
        ("1 | x:", "x:", "a number from -1e30 to 1e30"),
        ("1 | x:y", "x:y", "a number from -1e30 to 1e30"),
        ("1 | x:1:2", "x:1:2", "a number from -1e30 to 1e30"),
        ("1 | x:1e31", "x:1e31", "a number from -1e30 to 1e30"),
        ("1 | x:nan", "x:nan", "a number from -1e30 to 1e30"),
        ("1 | :1", ":1", "a word with a name"),
        (b"1 | caf\xe9", "\ufffd", "UTF-8 text"),
    ],
)
def test_bad_rows_are_named_and_count_for_nothing(tmp_path: Path, row: str | bytes, value: str, expected: str) -> None:
    row = row.encode() if isinstance(row, str) else row
    path = write(tmp_path / "a.vw", b"7 | a\n" + row + b"\n8 | b:3\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 2, value)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected, list(got.source.tags)) == (["1", "3"], 1, ["7", "8"])
    assert list(got.source.words or ()) == ["a", "b"]
    np.testing.assert_array_equal(got.words, [[1, 0], [0, 3]])


@pytest.mark.parametrize("text", ["", "\n \n", "1 | a:x\n"])
def test_nothing_to_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReadError, match=r"a\.vw"):
        read(write(tmp_path / "a.vw", text))


names = st.text(st.characters(exclude_characters=" \t\r\n|:'", exclude_categories=["Cs"]), min_size=1, max_size=4)
words = st.tuples(names, st.none() | st.integers(-3, 3))
spaces = st.lists(st.tuples(st.just("") | names, st.lists(words, max_size=5)), min_size=1, max_size=3)
rows = st.tuples(st.sets(st.integers(0, 99), max_size=3), st.booleans(), spaces)


@given(table=st.lists(rows, min_size=1, max_size=6), block=st.integers(1, 7))
def test_equal_to_plain_splitting(tmp_path_factory, table: list, block: int) -> None:
    lines = []
    for labels, tagged, parts in table:
        head = ",".join(map(str, sorted(labels)))
        named = [" ".join([name, *(w if v is None else f"{w}:{v}" for w, v in bag)]) for name, bag in parts]
        lines.append(" |".join([head + (" '" if tagged else ""), *named]))
    path = write(tmp_path_factory.mktemp("written") / "a.vw", "\n".join(lines))
    got = whole(open_source(path), block)
    assert [sorted(map(int, t)) for t in got.tags] == [sorted(labels) for labels, _, _ in table]
    assert got.words is not None
    found = list(got.source.words or ())
    assert [{found[j]: row[j] for j in np.flatnonzero(row)} for row in got.words] == plain_bags(lines)


@given(
    st.binary(max_size=12) | st.text(max_size=6).map(lambda t: t.encode("utf-8", "surrogatepass")), st.integers(0, 3)
)
def test_utf8_is_what_python_takes_for_it(data: bytes, cut: int) -> None:
    data = data[: len(data) - cut]
    try:
        data.decode()
        flaw = -1
    except UnicodeDecodeError as error:
        flaw = error.start
    assert utf8_flaw(np.frombuffer(data, np.uint8), 0, len(data)) == flaw
