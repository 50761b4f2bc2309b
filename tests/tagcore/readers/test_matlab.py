"""MATLAB files: whatever scipy writes is read, in either direction, and hostile files do no harm."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat

from tagcore.readers import open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tests.tagcore.readers.helpers import gzipped, read, whole

DATA = np.array([[1.5, 0, -2], [0, 0, 4], [0, 0, 0], [7, 8, 9]])
LABELS = np.array([[1, 0], [0, 1], [0, 0], [1, 1]])
TAGS = [["0"], ["1"], [], ["0", "1"]]


def write(path: Path, compress: bool = True, **variables: object) -> Path:
    savemat(path, variables, do_compression=compress)
    return path


@pytest.mark.parametrize(
    "labels", [LABELS, LABELS.T, 2 * LABELS - 1, LABELS == 1, sp.csc_matrix(LABELS), LABELS.T + 0.0]
)
@pytest.mark.parametrize("data", [DATA, DATA.T, sp.csc_matrix(DATA.T), DATA.astype(np.int8)])
def test_documents_are_rows_or_columns(tmp_path: Path, data, labels) -> None:
    got = read(write(tmp_path / "a.mat", data=data, target=labels, name="small", about={"year": 2015}))
    np.testing.assert_array_equal(got.words, DATA if np.asarray(data).dtype != np.int8 else DATA.astype(np.int8))
    assert (got.tags, got.ids) == (TAGS, ["1", "2", "3", "4"])
    assert (list(got.source.tags), list(got.source.words or ())) == (["0", "1"], ["w0", "w1", "w2"])
    assert (got.source.counts.untagged, got.source.counts.wordless) == (1, 1)


def test_where_both_directions_fit_it_must_be_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mat", X=np.arange(9).reshape(3, 3), Y=np.eye(3))
    message = "X is 3 × 3 and Y 3 × 3: whether documents are rows or columns is not clear"
    with pytest.raises(ReadError, match=message):
        read(path)
    with pytest.raises(ReadError, match=message):
        read(path, documents="columns")
    got = read(path, documents="columns", label_documents="rows")
    np.testing.assert_array_equal(got.words, np.arange(9).reshape(3, 3).T)
    write(path, X=np.ones((4, 3)), Y=np.ones((5, 2)))
    with pytest.raises(ReadError, match="X is 4 × 3 and Y 5 × 2, expected as many documents in both"):
        read(path)
    with pytest.raises(ValueError, match="documents is 'both', expected"):
        read(path, documents="both")


def test_variables_are_found_by_their_usual_names_or_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mat", counts=DATA, topics=LABELS, other=np.ones((2, 2, 2)), cell=np.array(["x"], object))
    with pytest.raises(
        ReadError, match=r"matrices of real numbers are 'counts' \(4 × 3\), 'topics' \(4 × 2\): name them by data="
    ):
        read(path)
    assert read(path, data="counts", labels="topics").tags == TAGS
    with pytest.raises(ReadError, match="no matrix of real numbers is called 'cell'"):
        read(path, data="cell", labels="topics")
    write(path, data=DATA, X=DATA, target=LABELS)
    with pytest.raises(ReadError, match=r"data or X\? Name the right one by data="):
        read(path)


def test_both_parts_of_a_split_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    write(path, train_data=DATA, train_target=LABELS.T, test_data=DATA[:1], test_target=LABELS[:1].T)
    got = read(path)
    assert [(d["id"], d["split"]) for d in got.documents][3:] == [("train:4", "train"), ("test:1", "test")]
    np.testing.assert_array_equal(got.words, np.vstack([DATA, DATA[:1]]))
    wider = np.hstack([DATA, DATA])
    write(path, train_data=DATA, train_target=LABELS, test_data=wider, test_target=LABELS)
    with pytest.raises(ReadError, match="6 words and 2 tags, expected 3 and 2 as in what was read before"):
        read(path)


def test_a_pair_of_files_is_a_split(tmp_path: Path) -> None:
    write(tmp_path / "a_train.mat", data=DATA, target=LABELS)
    buffer = io.BytesIO()
    savemat(buffer, {"data": DATA[:1], "target": LABELS[:1].T})
    gzipped(tmp_path / "a_test.mat.gz", buffer.getvalue())
    got = read(tmp_path)
    assert [(d["id"], d["split"]) for d in got.documents][3:] == [("train:4", "train"), ("test:1", "test")]
    assert got.tags == [*TAGS, TAGS[0]]


@pytest.mark.parametrize(
    ("data", "labels", "line", "value", "expected"),
    [
        (
            [[1, 2, 3], [4, np.nan, 6]],
            [[1, 0], [0, 1]],
            2,
            "nan",
            "a finite number of single precision in data, column 2",
        ),
        (
            [[1, 2, 3], [4, 5, np.inf]],
            [[1, 0], [0, 1]],
            2,
            "inf",
            "a finite number of single precision in data, column 3",
        ),
        (
            [[1, 2, 1e39], [4, 5, 6]],
            [[1, 0], [0, 1]],
            1,
            "1e+39",
            "a finite number of single precision in data, column 3",
        ),
        ([[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 2]], 2, "2.0", r"0 or 1 \(or -1 for 0\) in target, column 2"),
        ([[1, 2, 3], [4, 5, 6]], [[0.5, 0], [0, 1]], 1, "0.5", r"0 or 1 \(or -1 for 0\) in target, column 1"),
        ([[1, 2, 3], [4, 5, 6]], [[1, np.nan], [0, 1]], 1, "nan", r"0 or 1 \(or -1 for 0\) in target, column 2"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, data, labels, line: int, value: str, expected: str) -> None:
    path = write(tmp_path / "a.mat", data=np.array(data), target=np.array(labels))
    options = {"documents": "rows", "label_documents": "rows"}
    with pytest.raises(BadRow, match=expected) as caught:
        read(path, **options)
    assert (caught.value.file, caught.value.line, str(caught.value.value)) == (str(path), line, value)
    got = read(path, skip_bad_rows=tmp_path / "rejected", **options)
    assert (got.ids, got.source.rejected) == ([str(3 - line)], 1)


def test_what_is_no_matrix_of_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mat", data=DATA + 1j, target=LABELS)
    with pytest.raises(ReadError, match="data and labels not found"):
        read(path)
    write(path, data=np.zeros((0, 3)), target=np.zeros((0, 2)))
    with pytest.raises(ReadError, match="no documents"):
        read(path)
    write(path, data=np.zeros((4, 0)), target=LABELS)
    with pytest.raises(ReadError, match="0 words and 2 tags, expected from 1 to"):
        read(path)


def element(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body)) + body


def test_what_is_no_file_of_matlab(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mat", data=DATA, target=LABELS)
    whole_file = path.read_bytes()
    version = whole_file[:124] + b"\x00\x02IM" + whole_file[128:]
    for content, message in (
        (b"", "not a MATLAB file"),
        (b"\x00" * 200, "not a MATLAB file"),
        (whole_file[:100], "not a MATLAB file"),
        (version, "version 0x0200; 7.3 is HDF5, expected 5 to 7"),
        (whole_file[:-1], "cut off or damaged"),
        (whole_file[:140], "cut off or damaged"),
        (whole_file + b"\x0f", "cut off or damaged"),
        (whole_file[:128] + element(15, b"no zlib"), "cut off or damaged"),
        (whole_file[:128] + element(15, zlib.compress(b"x" * 99)[:-9]), "cut off or damaged"),
        (whole_file[:128] + element(99, b"12345678"), "element of type 99 among the variables"),
        (whole_file + whole_file[128:], "two variables are called 'data'"),
    ):
        path.write_bytes(content)
        with pytest.raises(ReadError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_bombs_are_not_expanded(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mat", data=DATA, target=LABELS)
    header = path.read_bytes()[:128]
    path.write_bytes(header + element(15, zlib.compress(bytes(256 << 20), 9)))
    with pytest.raises(ReadError, match="the limit expansion is 300 times"):
        read(path)
    with pytest.raises(ReadError, match="expands beyond the limit memory_bytes"):
        read(path, memory_bytes=1_000_000)
    with pytest.raises(ReadError, match="longer than 1000 bytes, the limit memory_bytes"):
        read(path, memory_bytes=1000)
    wide = sp.csc_matrix((1 << 30, 2))
    savemat(path, {"data": wide, "target": wide})
    with pytest.raises(ReadError, match="1073741824 documents, the limit memory_bytes allows 536870912"):
        read(path, documents="rows", label_documents="rows")


@pytest.mark.parametrize(
    ("part", "new"),
    [
        ("indptr", [0, 1 << 30, 1 << 30, 0]),
        ("indptr", [0, 3, 2, 6]),
        ("indptr", [0, 2, 3, 1 << 30]),
        ("indptr", [0, 2, 3, -6]),
        ("indptr", [1, 2, 3, 6]),
        ("indices", [0, 3, 3, 0, 1, 4]),
        ("indices", [0, 3, 3, 0, 1, -1]),
        ("indices", [1 << 30] * 6),
    ],
)
def test_indices_of_a_sparse_matrix_that_point_nowhere(tmp_path: Path, part: str, new: list[int]) -> None:
    data = sp.csc_matrix(DATA)
    path = write(tmp_path / "a.mat", compress=False, data=data, target=LABELS)
    old, changed = (struct.pack(f"<{len(new)}i", *values) for values in (getattr(data, part).tolist(), new))
    assert path.read_bytes().count(old) == 1
    path.write_bytes(path.read_bytes().replace(old, changed))
    with pytest.raises(ReadError, match="cut off or damaged"):
        read(path)


def test_nothing_is_ever_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pickle.loads", None)
    monkeypatch.setattr("pickle.load", None)
    monkeypatch.setattr("pickle.Unpickler", None)
    objects = np.array([{"a": 1}, "text"], object)
    assert read(write(tmp_path / "a.mat", data=DATA, target=LABELS, objects=objects)).tags == TAGS


kinds = st.sampled_from([np.float64, np.float32, np.int8, np.uint8, np.int32, np.int64, np.uint16])


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 5)).filter(lambda s: s[0] not in s[1:]),
    draw=st.data(),
    sparse=st.booleans(),
    compress=st.booleans(),
    block=st.integers(1, 7),
)
def test_whatever_scipy_writes_is_read(tmp_path_factory, shape, draw, sparse: bool, compress: bool, block: int) -> None:
    n, words, tags = shape
    if words == tags:
        tags += 1 + (tags + 1 == n)
    elements = st.integers(0, 99)
    data = draw.draw(hnp.arrays(draw.draw(kinds), (n, words), elements=elements))
    labels = draw.draw(hnp.arrays(np.int8, (n, tags), elements=st.integers(0, 1)))
    turn = draw.draw(st.tuples(st.booleans(), st.booleans()))
    made = [m.T if t else m for m, t in zip((data, labels), turn, strict=True)]
    made = [sp.csc_matrix(m.astype(np.float64)) for m in made] if sparse else made
    path = write(tmp_path_factory.mktemp("written") / "a.mat", compress, Data=made[0], Labels=made[1])
    got = whole(open_source(path), block)
    np.testing.assert_array_equal(got.words, data.astype(np.float32))
    assert [set(map(int, t)) for t in got.tags] == [set(np.flatnonzero(row)) for row in labels]
