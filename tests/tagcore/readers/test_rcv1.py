"""LYRL2004 vectors: rows of terms joined with their topics, whatever the order, in the official split."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.open import source_fingerprint
from tests.tagcore.readers.helpers import gzipped, read, whole

QRELS = b"E11 7 1\nECAT 7 1\nC1 3 1\nE11 9 1\n"


def write(folder: Path, rows: bytes, name: str = "lyrl2004_vectors_train.dat") -> Path:
    (folder / "rcv1-v2.topics.qrels").write_bytes(QRELS)
    (folder / name).write_bytes(rows)
    return folder / name


def test_rows_are_joined_with_their_topics(tmp_path: Path) -> None:
    got = read(write(tmp_path, b"9  1:0.5 3:1e-1\n\n4 2:1\r\n7\n3 3:0 2:2"), terms=3)
    assert got.ids == ["9", "4", "7", "3"]
    assert got.tags == [["E11"], [], ["E11", "ECAT"], ["C1"]]
    np.testing.assert_array_equal(got.words, np.float32([[0.5, 0, 0.1], [0, 1, 0], [0, 0, 0], [0, 2, 0]]))
    assert list(got.source.words or ()) == ["w1", "w2", "w3"]
    assert (got.source.format, got.source.counts.untagged, got.source.counts.wordless) == ("rcv1", 1, 1)
    assert {d["split"] for d in got.documents} == {None}


def test_the_terms_of_the_collection(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, b"7 47236:1\n"))
    assert len(source.words or ()) == 47236
    assert next(iter(source.blocks())).words[0, 47235] == 1
    with pytest.raises(ValueError, match="terms is 0, expected a whole number from 1"):
        open_source(tmp_path / "lyrl2004_vectors_train.dat", terms=0)


def test_the_official_split_by_files_and_by_number(tmp_path: Path) -> None:
    path = write(tmp_path, b"7 1:1\n")
    gzipped(tmp_path / "lyrl2004_vectors_test_pt0.dat.gz", b"9 1:1\n")
    gzipped(tmp_path / "lyrl2004_vectors_test_pt1.dat.gz", b"3 1:1\n")
    by_file = read(tmp_path, format="rcv1")
    assert [(d["id"], d["split"]) for d in by_file.documents] == [("7", "train"), ("9", "test"), ("3", "test")]
    assert [p.name for p in by_file.source.inputs][-1] == "rcv1-v2.topics.qrels"
    path.write_bytes(b"7 1:1\n9 1:1\n")
    assert [d["split"] for d in read(path, last_train=8).documents] == ["train", "test"]


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        (b"4 0:1", "0:1", "a term number from 1 to 3"),
        (b"4 4:1", "4:1", "a term number from 1 to 3"),
        (b"4 1:1 1:2", "1:2", "every term once in a row"),
        (b"4 1:x", "1:x", "a finite number of single precision as weight"),
        (b"4 1", "1", "a pair term:weight"),
        (b"x 1:1", "x", "the number of a document first"),
        (b"1:1", "1:1", "the number of a document first"),
        (b"-4 1:1", "-4", "the number of a document first"),
        (b"9 1:1", 9, "every document once"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: bytes, value: str | int, expected: str) -> None:
    path = write(tmp_path, b"9 1:1\n" + row + b"\n7 3:1\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path, terms=3)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 2, value)
    got = read(path, terms=3, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.source.rejected) == (["9", "7"], 1)
    np.testing.assert_array_equal(got.words, [[1, 0, 0], [0, 0, 1]])


def test_a_document_twice_in_two_files(tmp_path: Path) -> None:
    write(tmp_path, b"7 1:1\n")
    path = write(tmp_path, b"9 1:1\n7 1:1\n", "lyrl2004_vectors_test_pt0.dat")
    with pytest.raises(BadRow, match="line 2: found 7, expected every document once") as caught:
        read(tmp_path, format="rcv1")
    assert caught.value.file == str(path)


def test_qrels_that_are_missing_wrong_or_bad(tmp_path: Path) -> None:
    path = write(tmp_path, b"4 1:1\n")
    with pytest.raises(ReadError, match=r"train.dat: none of its documents is in .*topics.qrels"):
        read(path)
    (tmp_path / "rcv1-v2.topics.qrels").write_bytes(b"E11 4\n")
    with pytest.raises(BadRow, match=r"topics.qrels, line 1: found '', expected 1 for relevant"):
        read(path, skip_bad_rows=tmp_path.parent / "rejected")
    (tmp_path / "rcv1-v2.topics.qrels").unlink()
    with pytest.raises(ReadError, match=r"train.dat: no rcv1-v2.topics.qrels beside it"):
        read(path)
    gzipped(tmp_path / "other.qrels.gz", b"X 4 1\n")
    assert read(path, qrels="other.qrels").tags == [["X"]]


def test_fingerprints_follow_the_qrels(tmp_path: Path) -> None:
    path = write(tmp_path, b"7 1:1\n")
    first = source_fingerprint(path)
    (tmp_path / "rcv1-v2.topics.qrels").write_bytes(b"OTHER 7 1\n")
    assert first != source_fingerprint(path)


tables = st.lists(
    st.tuples(st.integers(0, 10**9), st.dictionaries(st.integers(1, 6), st.floats(-1e30, 1e30).filter(bool))),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row[0],
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=tables, block=st.integers(1, 7))
def test_equal_to_scikit_learn(tmp_path: Path, rows: list[tuple[int, dict]], block: int) -> None:
    body = "".join(f"{number} " + "".join(f" {w}:{v!r}" for w, v in sorted(bag.items())) + "\n" for number, bag in rows)
    path = write(tmp_path, body.encode())
    (tmp_path / "rcv1-v2.topics.qrels").write_text(f"A {rows[0][0]} 1\n")
    got = whole(open_source(path, terms=6), block)
    words, numbers = load_svmlight_file(io.BytesIO(body.encode()), n_features=6, zero_based=False)
    np.testing.assert_array_equal(got.words, words.toarray().astype(np.float32))
    assert got.ids == [str(int(n)) for n in numbers]
    assert got.tags == [["A"]] + [[]] * (len(rows) - 1)
