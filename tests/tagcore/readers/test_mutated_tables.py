"""Small files of MEKA, svmlight, Vowpal Wabbit, MATLAB and UCI with bytes changed: read or refused as a whole."""

import io
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from tagcore.corpus import append_block, append_names
from tagcore.readers import open_source, svmlight
from tagcore.readers.matlab import reader as matlab
from tagcore.store.datasets import Dataset, write_dataset
from tests.tagcore.readers.test_mutated import edits, mutated


def _mat(compress: bool, sparse: bool) -> bytes:
    data, labels = np.arange(12.0).reshape(4, 3), np.array([[1.0, 0], [0, 1], [1, 1], [0, 0]])
    made = {"data": sp.csc_matrix(data), "target": sp.csc_matrix(labels)} if sparse else {"data": data, "y": labels}
    buffer = io.BytesIO()
    savemat(buffer, made, do_compression=compress)
    return buffer.getvalue()


FILES = {
    "m.arff": b"@relation 'r: -C 1 -split-number 1'\n@attribute x {0,1}\n@attribute a real\n@data\n{0 1,1 2}\n0,3\n",
    "a.svm": b"1,2 3:0.5 7:1 # c\n-1 qid:3 2:1\n 1:2 9:0\n",
    "a.vw": b"1,5 |a x:0.5 y y:-1e-1 |b x\n-1 'id | x y:0\n tag| caf\xc3\xa9\n",
    "a.data": b"x,1,2.5,-3e1\ny y,2,3,4\n",
    "keel.dat": b"@relation r\n@attribute a real [0,1]\n@attribute c {x,y}\n@outputs c\n@data\n1,x\n2,y\n",
    "dense.mat": _mat(False, False),
    "sparse.mat": _mat(False, True),
    "packed.mat": _mat(True, True),
}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """a changed byte can make a set of millions of words, which takes its time."""
    for module in (matlab, svmlight):
        monkeypatch.setattr(module, "MOST_COLUMNS", 5000)


@pytest.mark.parametrize("name", FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(changes=edits, skip=st.booleans())
def test_no_change_of_a_few_bytes_does_harm(tmp_path: Path, name: str, changes: list, skip: bool) -> None:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(mutated(FILES[name], changes))
    message = None
    try:
        source = open_source(folder / name, skip_bad_rows=tmp_path / "rejected" if skip else None)
        with write_dataset(tmp_path / "corpus", "corpus") as writer:
            for block in source.blocks(1):
                append_block(writer, block)
            append_names(writer, source.tags, source.words)
    except ValueError as error:
        message = str(error)
    if message is None:
        assert source.counts.documents > 0
        assert source.rejected == 0 or skip
        bags = Dataset.open(tmp_path / "corpus", "corpus").read("bags")
        assert np.isfinite(bags["values"].combine_chunks().values.to_numpy()).all()
        for file in (tmp_path / "corpus").iterdir():
            file.unlink()
        (tmp_path / "corpus").rmdir()
    else:
        assert str(folder) in message, "the message does not name the file"
        assert len(message) < 1500
        assert {p.name for p in tmp_path.iterdir()} <= {"data", "rejected"}, "something was half-written"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | st.text("01.:,|' \n").map(str.encode), name=st.sampled_from(sorted(FILES)))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes, name: str) -> None:
    kind = {"arff": "arff", "svm": "svmlight", "vw": "vw", "mat": "matlab"}.get(name.partition(".")[2], "uci")
    path = tmp_path / name
    path.write_bytes((FILES[name][:128] if kind == "matlab" else b"") + data)
    message = None
    try:
        list(open_source(path, format=kind).blocks())
    except ValueError as error:
        message = str(error)
    assert message is None or str(path) in message
