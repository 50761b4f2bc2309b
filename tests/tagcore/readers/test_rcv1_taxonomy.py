"""The tree that the topics of RCV1 form, in both of its spellings."""

from pathlib import Path

import numpy as np
import pytest

from tagcore.readers.bad_rows import ReadError
from tagcore.readers.rcv1.taxonomy import read_taxonomy


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_taxonomy(tmp_path: Path) -> None:
    expected = ["Root", "C", "E", "C1", "C2", "C11"]
    short = write(tmp_path / "a", b"Root\tC\tE\nC\tC1 C2\r\n\nC1\tC11\n")
    long = b"".join(
        b"parent: %s child: %s child-description: SOME words\n" % pair
        for pair in [
            (b"None", b"Root"),
            (b"Root", b"C"),
            (b"Root", b"E"),
            (b"C", b"C1"),
            (b"C", b"C2"),
            (b"C1", b"C11"),
        ]
    )
    for path in (short, write(tmp_path / "b", long)):
        names, parents = read_taxonomy(path)
        assert names == expected
        np.testing.assert_array_equal(parents, [-1, 0, 0, 1, 1, 3])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"Root A\nRoot B\nB A\n", "line 3: found 'A', expected one parent for each topic; line 1 has another"),
        (b"Root A\nB\n", "line 2: found 'B', expected a parent and its children"),
        (b"A B\nB A\n", "'A' is above itself or below such a topic"),
        (b"Root C\nA B\nB D\nD A\n", "'A' is above itself or below such a topic"),
        (b"A B\nC D\n", "'A' and 'C' have no parent, expected one root"),
        (b"parent: A\n", "line 1: found 'parent: A', expected parent: NAME child: NAME"),
        (b"\n", "no topics"),
    ],
)
def test_what_is_no_tree(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read_taxonomy(write(tmp_path / "a", data))
    assert str(tmp_path / "a") in str(caught.value)
