"""Sets of several files with bytes of one changed, cut, doubled: read or refused with a message that names the file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tagcore.corpus import append_block, append_names
from tagcore.readers import open_source
from tagcore.readers.citeulike import read_libraries
from tagcore.readers.rcv1.taxonomy import read_taxonomy
from tagcore.store.datasets import write_dataset
from tests.tagcore.readers.test_mutated import edits, mutated
from tests.tagcore.readers.test_sgml import DOCTYPE, story

SETS: dict[str, tuple[str, dict[str, bytes]]] = {
    "sgml": ("a.sgm", {"a.sgm": (DOCTYPE + story(1) + story(2, ("a", "b"), lewis="TEST")).encode()}),
    "qrels": ("a.qrels", {"a.qrels": b"E11 7 1\nECAT 7 1\nC1 3 1\n"}),
    "rcv1": (
        "lyrl2004_vectors_train.dat",
        {"lyrl2004_vectors_train.dat": b"7  1:0.5 3:1e-2\n3  2:-1\n", "rcv1-v2.topics.qrels": b"E11 7 1\nC1 3 1\n"},
    ),
    "citeulike": (
        "mult.dat",
        {
            "mult.dat": b"2 0:1 2:2\n0\n1 1:5",
            "vocabulary.dat": b"ant\nbee\ncat",
            "tags.dat": b"x\ny\n",
            "tag-item.dat": b"2 2 0\n1 1\n",
        },
    ),
}
CASES = [(kind, name) for kind, (_, files) in SETS.items() for name in files]


@pytest.mark.parametrize(("kind", "name"), CASES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(changes=edits, skip=st.booleans())
def test_no_change_of_a_few_bytes_does_harm(tmp_path: Path, kind: str, name: str, changes: list, skip: bool) -> None:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    opened, files = SETS[kind]
    for other, data in files.items():
        (folder / other).write_bytes(mutated(data, changes) if other == name else data)
    side = tmp_path / "rejected"
    message = None
    try:
        source = open_source(folder / opened, skip_bad_rows=side if skip else None, format=kind)
        with write_dataset(tmp_path / "corpus", "corpus") as writer:
            for block in source.blocks(1):
                append_block(writer, block)
            append_names(writer, source.tags, source.words)
    except ValueError as error:
        message = str(error)
    if message is None:
        assert source.counts.documents > 0
        assert source.rejected == 0 or skip
        for file in (tmp_path / "corpus").iterdir():
            file.unlink()
        (tmp_path / "corpus").rmdir()
    else:
        assert str(folder) in message, "the message does not name the file"
        assert len(message) < 1500
        assert not list(tmp_path.glob(".rejected*"))
        assert {p.name for p in tmp_path.iterdir()} <= {"data", "rejected"}, "part of a corpus was written"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | st.text("<>/REUTS DAT\n").map(str.encode), kind=st.sampled_from(sorted(SETS)))
@example(b"<REUTERS" * 1000, "sgml")
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes, kind: str) -> None:
    opened, files = SETS[kind]
    for other, valid in files.items():
        (tmp_path / other).write_bytes(data if other == opened else valid)
    message = None
    try:
        list(open_source(tmp_path / opened, format=kind).blocks())
    except ValueError as error:
        message = str(error)
    assert message is None or str(tmp_path) in message


@pytest.mark.parametrize(
    ("read", "name", "data"),
    [(read_taxonomy, "tree", b"Root\tA\tB\nA\tA1\n"), (read_libraries, "users.dat", b"1 2\n2 0 1\n")],
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=edits)
def test_side_files(tmp_path: Path, read, name: str, data: bytes, changes: list) -> None:
    (tmp_path / "mult.dat").write_bytes(b"0\n0\n0\n")
    path = tmp_path / name
    path.write_bytes(mutated(data, changes))
    message = None
    try:
        read(path)
    except ValueError as error:
        message = str(error)
    assert message is None or str(path) in message
