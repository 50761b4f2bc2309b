"""Relevance judgements: documents with topics and no words."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagcore.readers import input_files, open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.qrels import read_qrels
from tests.tagcore.readers.helpers import gzipped, read, whole

SMALL = b"E11 7 1\nECAT 7 1\nC1 3 1\nE11 9 1\r\n\nC1 9 1\n"


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_documents_with_their_topics(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.qrels", SMALL))
    assert got.ids == ["7", "3", "9"]
    assert got.tags == [["E11", "ECAT"], ["C1"], ["E11", "C1"]]
    assert got.words is None
    assert {d["split"] for d in got.documents} == {None}
    assert (got.source.format, got.source.counts.wordless) == ("qrels", 3)


def test_a_split_by_number(tmp_path: Path) -> None:
    got = read(write(tmp_path / "a.qrels", SMALL), last_train=7)
    assert [d["split"] for d in got.documents] == ["train", "train", "test"]


def test_the_plain_function(tmp_path: Path) -> None:
    documents, topics, names = read_qrels(gzipped(tmp_path / "a.qrels.gz", SMALL))
    assert documents.tolist() == [7, 3, 9]
    assert names == ["E11", "ECAT", "C1"]
    assert topics.toarray().tolist() == [[1, 1, 0], [0, 0, 1], [1, 0, 1]]
    assert topics.has_sorted_indices
    with pytest.raises(ReadError, match=r"b.qrels: no documents"):
        read_qrels(write(tmp_path / "b.qrels", b"\n \n"))


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        (b"E11 x 1", "x", "the number of a document"),
        (b"E11 8", "", "1 for relevant"),
        (b"E11", "", "the number of a document"),
        (b" E11 8 1", " ", "a topic of at most 1,000 characters of printable ASCII"),
        (b"E\xe911 8 1", "E\ufffd11", "a topic of at most 1,000 characters of printable ASCII"),
        (b"E" * 1001 + b" 8 1", "E" * 1001, "a topic of at most 1,000 characters of printable ASCII"),
        (b"E11 8 0", "0", "1 for relevant"),
        (b"E11 8 10", "10", "1 for relevant"),
        (b"E11 8 1 1", "1", "the end of the line"),
        (b"E11 -8 1", "-8", "the number of a document"),
        (b"E11 99999999999999999999 1", "99999999999999999999", "the number of a document"),
        (b"C1 3 1", "C1 3 1", "every topic of a document once"),
        (b"C1 7 1", "C1 7 1", "the lines of a document together"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, row: bytes, value: str, expected: str) -> None:
    path = write(tmp_path / "a.qrels", b"E11 7 1\nC1 3 1\n" + row + b"\nC1 9 1\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read(path)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 3, value)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert (got.ids, got.tags, got.source.rejected) == (["7", "3", "9"], [["E11"], ["C1"], ["C1"]], 1)


def test_one_document_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "a.qrels", b"".join(b"T%d 5 1\n" % i for i in range(100)))
    assert len(read(path).tags[0]) == 100
    with pytest.raises(BadRow, match=r"line 1: found 5, expected at most 500 bytes of lines for a document"):
        read(path, row_bytes=500)


judgements = st.lists(
    st.tuples(st.integers(0, 10**12), st.lists(st.sampled_from(["A", "BB", "C-1", "D" * 30]), min_size=1, unique=True)),
    min_size=1,
    max_size=8,
    unique_by=lambda pair: pair[0],
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=judgements, rows=st.integers(1, 9), chunk=st.integers(1, 40))
def test_wherever_chunks_end(tmp_path: Path, documents: list[tuple[int, list[str]]], rows: int, chunk: int) -> None:
    lines = "".join(f"{topic} {number} 1\n" for number, topics in documents for topic in topics)
    path = write(tmp_path / "a.qrels", lines.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(input_files, "CHUNK", chunk)
        got = whole(open_source(path), rows)
        numbers, matrix, names = read_qrels(path)
    assert got.ids == [str(number) for number, _ in documents] == [str(n) for n in numbers]
    assert [sorted(tags) for tags in got.tags] == [sorted(topics) for _, topics in documents]
    assert [{names[i] for i in matrix[row].indices} for row in range(len(documents))] == [set(t) for _, t in documents]
