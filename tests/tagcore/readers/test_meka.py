"""MEKA's ARFF: labels and split by the name of the relation, equal to Mulan's form of the same rows."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.readers import open_source
from tagcore.readers.bad_rows import ReadError
from tests.tagcore.readers.helpers import read

FIRST = "@attribute x {0,1}\n@attribute y {0,1}\n@attribute a numeric\n@attribute 'b c' real\n@data\n"
LAST = "@attribute a numeric\n@attribute 'b c' real\n@attribute x {0,1}\n@attribute y {0,1}\n@data\n"


def write(folder: Path, relation: str, rows: str, header: str = FIRST, name: str = "m.arff") -> Path:
    path = folder / name
    path.write_text(f"@relation {relation}\n\n{header}{rows}", encoding="utf-8")
    return path


def test_the_first_attributes_are_tags_and_the_first_rows_are_for_training(tmp_path: Path) -> None:
    rows = "{0 1,2 -2.5}\n\n% no row\n0,1,0,3\n{1 1,0 1}\n"
    got = read(write(tmp_path, "'Small: -C 2 -split-number 2' %50", rows))
    assert got.tags == [["x"], ["y"], ["y", "x"]]
    np.testing.assert_array_equal(got.words, [[-2.5, 0], [0, 3], [0, 0]])
    assert [d["split"] for d in got.documents] == ["train", "train", "test"]
    assert list(got.source.words or ()) == ["a", "b c"]
    assert {p.name for p in got.source.inputs} == {"m.arff"}


def test_a_negative_number_takes_the_last_attributes(tmp_path: Path) -> None:
    got = read(write(tmp_path, "'Small: -C -2'", "{0 7,3 1}\n1,2,1,0\n", LAST))
    assert got.tags == [["y"], ["x"]]
    np.testing.assert_array_equal(got.words, [[7, 0], [1, 2]])
    assert [d["split"] for d in got.documents] == [None, None]


def test_an_xml_file_beside_it_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path, "'Small: -C 1 -split-number 1'", "{1 1}\n{0 1}\n")
    (tmp_path / "m.xml").write_text("<labels><label name='y'/></labels>")
    got = read(path)
    assert (list(got.source.tags), [d["split"] for d in got.documents]) == (["y"], [None, None])


def test_a_pair_of_files_is_a_split_whatever_the_relation_says(tmp_path: Path) -> None:
    write(tmp_path, "'m: -C 2 -split-number 1'", "{0 1}\n{1 1}\n", name="m-train.arff")
    write(tmp_path, "'m: -C 2 -split-number 1'", "{0 1}\n", name="m-test.arff")
    assert [d["split"] for d in read(tmp_path).documents] == ["train", "train", "test"]


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        ("'m: -C 0'", "-C 0 in the name of its relation, expected from 1 to 3, or the negative"),
        ("'m: -C 4'", "-C 4 in the name"),
        ("'m: -C -4'", "-C -4 in the name"),
        ("'m: -C 99999999999'", "no -C in the name"),
        ("'m-C 2'", "no -C in the name"),
        ("m", "no -C in the name"),
        ("'m: -C 2 -split-number 3'", "3 rows, expected more than -split-number 3: cut off"),
        ("'m: -C 2 -split-number 9'", "3 rows, expected more than -split-number 9: cut off"),
    ],
)
def test_relations_that_do_not_hold(tmp_path: Path, relation: str, message: str) -> None:
    path = write(tmp_path, relation, "{0 1}\n{1 1}\n{}\n")
    with pytest.raises(ReadError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_rejected_rows_count_for_the_split(tmp_path: Path) -> None:
    rows = "{0 1}\n{9 1}\n{1 1}\n{1 1\n{0 1}\n"
    path = write(tmp_path, "'m: -C 2 -split-number 3'", rows)
    got = read(path, skip_bad_rows=tmp_path / "rejected")
    assert [d["split"] for d in got.documents] == ["train", "train", "test"]
    long = "{0 1" + " " * 200 + "}\n"
    write(tmp_path, "'m: -C 2 -split-number 3'", "{0 1}\n" + long + rows)
    got = read(path, skip_bad_rows=tmp_path / "rejected", row_bytes=100)
    assert [(d["id"], d["split"]) for d in got.documents] == [
        ("8", "train"),
        ("10", "train"),
        ("12", "test"),
        ("14", "test"),
    ]


cells = st.tuples(st.booleans(), st.booleans(), st.integers(-3, 3), st.floats(-1e6, 1e6, width=32))


@given(rows=st.lists(cells, min_size=2, max_size=8), sparse=st.booleans(), number=st.integers(1, 7))
def test_whatever_is_written_is_read(tmp_path_factory, rows: list, sparse: bool, number: int) -> None:
    number = min(number, len(rows) - 1)
    lines = []
    for x, y, a, b in rows:
        values = [int(x), int(y), a, b]
        pairs = ",".join(f"{i} {v!r}" for i, v in enumerate(values) if v)
        lines.append(f"{{{pairs}}}" if sparse else ",".join(map(repr, values)))
    folder = tmp_path_factory.mktemp("written")
    meka = read(write(folder, f"'m: -C 2 -split-number {number}'", "\n".join(lines)))
    assert [d["split"] for d in meka.documents] == ["train"] * number + ["test"] * (len(rows) - number)
    np.testing.assert_array_equal(meka.words, np.array([row[2:] for row in rows], np.float32))
    (folder / "mulan.xml").write_text("<labels><label name='x'/><label name='y'/></labels>")
    mulan = read(write(folder, "m", "\n".join(lines), name="mulan.arff"))
    assert meka.tags == mulan.tags
    np.testing.assert_array_equal(meka.words, mulan.words)


def test_it_can_be_read_again(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "'m: -C 2 -split-number 1'", "{0 1}\n{1 1}\n"))
    for _ in range(2):
        assert [b.documents["split"].to_pylist() for b in source.blocks(1)] == [["train"], ["test"]]
