"""svmlight text: equal to scikit-learn's reader, and strict about labels, order and numbers."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file, load_svmlight_files

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tests.tagcore.readers.helpers import gzipped, read, whole

SMALL = "1,12 3:0.5 7:1 # why\n# nothing\n\n 2:-2e1 7:0\n-1 qid:3 2:1\n+12.0\n"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def with_words(*expected: Any) -> np.ndarray:
    """Stacks matrices of scikit-learn without the columns of words that no row has."""
    matrix = np.vstack([m.toarray() for m in expected])
    return matrix[:, matrix.any(axis=0)]


def test_labels_words_comments_and_queries(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.svm", SMALL))
    assert got.tags == [["1", "12"], [], ["-1"], ["12"]]
    assert list(got.source.tags) == ["-1", "1", "12"]
    assert list(got.source.words or ()) == ["w2", "w3", "w7"]
    assert got.ids == ["1", "4", "5", "6"]
    words, labels = load_svmlight_file(io.BytesIO(SMALL.encode()), multilabel=True)
    np.testing.assert_array_equal(got.words, with_words(words))
    assert [tuple(map(float, t)) for t in got.tags] == labels


def test_whether_the_first_word_is_0_or_1_is_found_out_or_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.libsvm", "1 1:1 2:2\n2 2:3\n")
    np.testing.assert_array_equal(read(path).words, [[1, 2], [0, 3]])
    got = read(path, zero_based=True, n_features=4)
    np.testing.assert_array_equal(got.words, [[1, 2], [0, 3]])
    assert list(got.source.words or ()) == ["w1", "w2"]
    with pytest.raises(BadRow, match=r"line 1: found '2:2', expected a word number from 0 to 1"):
        read(path, zero_based=True, n_features=2)
    write(path, "1 1:1\n2 0:0\n")
    np.testing.assert_array_equal(read(path).words, [[1], [0]])
    with pytest.raises(BadRow, match=r"line 2: found '0:0', expected a word number from 1 to 1"):
        read(path, zero_based=False)


def test_all_files_of_a_split_count_the_same_way(tmp_path: Path) -> None:
    first, second = "1 2:1\n", "3 1:1 4:1\n"
    for other in (second, second.replace(" 1:", " 0:"), "5\n"):
        write(tmp_path / "a_train.svm", first)
        gzipped(tmp_path / "a_test.svm.gz", other.encode())
        got = read(tmp_path)
        X, y, X2, y2 = load_svmlight_files([io.BytesIO(t.encode()) for t in (first, other)], multilabel=True)
        np.testing.assert_array_equal(got.words, with_words(X, X2))
        assert [tuple(map(float, t)) for t in got.tags] == y + y2
        assert [(d["id"], d["split"]) for d in got.documents] == [("train:1", "train"), ("test:1", "test")]


def test_a_file_of_labels_alone_has_no_words(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.svm", "1\n2,3\n"))
    assert got.words is not None
    assert got.words.shape == (2, 0)


def test_words_that_no_row_has_get_no_name(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.svm", "1 3:1 16777215:2\n2 3:4\n"))
    assert list(got.source.words or ()) == ["w3", "w16777215"]
    np.testing.assert_array_equal(got.words, [[1, 2], [4, 0]])


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        ("1 x:1", "x:1", "a pair word:value"),
        ("1 -1:1", "-1:1", "a pair word:value"),
        ("1 2", "2", "a pair word:value"),
        ("1 qid:x 2:1", "qid:x", "a pair word:value"),
        ("1 2:1 qid:3", "qid:3", "a pair word:value"),
        ("1 2:1 2:1", "2:1", "word numbers that rise"),
        ("1 3:1 2:1", "2:1", "word numbers that rise"),
        ("1 99999999:1", "99999999:1", "a word number from 1 to 3"),
        ("1 9999999999999999999:1", "9999999999999999999:1", "a word number from 1 to 3"),
        ("1 2:", "2:", "a finite number"),
        ("1 2:nan", "2:nan", "a finite number"),
        ("1 2:inf", "2:inf", "a finite number"),
        ("1 2:1e39", "2:1e39", "a finite number"),
        ("1 2:1,5", "2:1", "a finite number"),
        ("1,1 2:1", "1", "every label once"),
        ("1,01.0 2:1", "01.0", "every label once"),
        ("1, 2:1", " ", "whole numbers between commas"),
        (",1 2:1", ",", "whole numbers between commas"),
        ("1.5 2:1", "1.5", "whole numbers between commas"),
        ("spam 2:1", "spam", "whole numbers between commas"),
        ("1e3 2:1", "1e3", "whole numbers between commas"),
        ("9999999999999999999 2:1", "9999999999999999999", "whole numbers between commas"),
        ("é 2:1", "é", "whole numbers between commas"),
    ],
)
def test_bad_rows_are_named_and_count_for_nothing(tmp_path: Path, row: str, value: str, expected: str) -> None:
    path = write(tmp_path / "a.svm", f"7 1:1\n{row}\n8 3:3\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 2, value)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected, list(got.source.tags)) == (["1", "3"], 1, ["7", "8"])
    np.testing.assert_array_equal(got.words, [[1, 0], [0, 3]])


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "1 1:x\n"])
def test_nothing_to_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReadError, match=r"a\.svm"):
        read(write(tmp_path / "a.svm", text))


@pytest.mark.parametrize("options", [{"n_features": 0}, {"n_features": "3"}, {"n_features": 1 << 40}])
def test_options_that_cannot_be(tmp_path: Path, options: dict) -> None:
    with pytest.raises(ValueError, match=r"n_features is .*, expected a whole number"):
        open_source(write(tmp_path / "a.svm", SMALL), **options)


def test_a_row_of_many_labels_takes_no_time(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", ",".join(map(str, range(300_000, 0, -1))) + " 1:1\n1 1:1\n")
    source = open_source(path)
    assert [block.taggings.num_rows for block in source.blocks()] == [300_001]


labels = st.sets(st.integers(-9, 99), max_size=4)
bags = st.dictionaries(st.integers(0, 9), st.floats(-1e30, 1e30) | st.integers(-3, 3), max_size=6)
# scikit-learn takes a row of nothing for no row, and so do we
tables = st.lists(st.tuples(labels, bags, st.booleans(), st.booleans()).filter(lambda r: r[0] or r[1]), min_size=1)


@given(
    rows=tables,
    first=st.integers(0, 2),
    block=st.integers(1, 7),
    zero_based=st.sampled_from([None, True, False]),
    end=st.sampled_from(["\n", "\r\n", " # 1:2\n\n"]),
)
def test_equal_to_scikit_learn(tmp_path_factory, rows: list, first: int, block: int, zero_based, end: str) -> None:
    lowest = max(first, int(zero_based is False))
    lines = []
    for tags, bag, query, spaced in rows:
        parts = [",".join(map(str, tags))] if tags else []
        parts += ["qid:7"] if query else []
        parts += [f"{word + lowest}:{value!r}" for word, value in sorted(bag.items())]
        lines.append(("\t" if spaced else " ").join(parts))
    body = "".join(line + end for line in lines).encode()
    expected, tags = load_svmlight_file(
        io.BytesIO(body), multilabel=True, zero_based="auto" if zero_based is None else zero_based
    )
    source = open_source(write(tmp_path_factory.mktemp("written") / "a.svm", body), zero_based=zero_based)
    got = whole(source, block)
    np.testing.assert_array_equal(got.words, with_words(expected.astype(np.float32)))
    assert [tuple(map(float, t)) for t in got.tags] == tags
