"""Small valid files with bytes changed, cut, doubled: read or refused with a message that names the file."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagcore.readers import open_source

JSONL = b"""{"id": "a", "title": "T", "text": "red <b>apples</b>", "tags": ["x", {"tag": "y", "count": 2}]}
{"id": 2, "text": "caf\xc3\xa9 \\u00e9", "tags": [], "fetched_at": "2024-05-01T12:00:00Z", "split": "test"}
"""
CSV = b'id,title,text,tags,fetched_at\n1,"a ""b""","two\nlines",x y,2024-01-01\r\n2,,caf\xc3\xa9,,\n'
ARFF = b"""@relation r
@attribute 'a b' numeric
@attribute x {0,1}
@attribute c {0,1}
@data
{0 1.5e3,2 1}
-0.25,1,0
"""
XML = b"<?xml version='1.0'?><labels xmlns='m'><label name='x'></label></labels>"
XC = b"2 3 4\n0,3 0:1.5 2:-2e-3\n 1:7\n"


def _zip(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


FILES = {
    "a.jsonl": JSONL,
    "a.jsonl.gz": gzip.compress(JSONL, mtime=0),
    "a.csv": CSV,
    "a.csv.zip": _zip("a.csv", CSV),
    "a.arff": ARFF,
    "a.xml": XML,
    "a.txt": XC,
}

edits = st.lists(
    st.tuples(
        st.sampled_from(["change", "cut", "double", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(b'\x00\n\r\t ",:{}[]\\-.0129eE+?%\xff\xc3') | st.integers(0, 255),
        st.integers(1, 8),
    ),
    min_size=1,
    max_size=4,
)


def mutated(data: bytes, changes: list[tuple[str, float, int, int]]) -> bytes:
    for how, where, byte, length in changes:
        at = int(where * len(data))
        if how == "change":
            data = data[:at] + bytes([byte]) + data[at + 1 :]
        elif how == "insert":
            data = data[:at] + bytes([byte]) * length + data[at:]
        elif how == "cut":
            data = data[:at] + data[at + length :]
        else:
            data = data[:at] + data[at : at + length] * 2 + data[at + length :]
    return data


@pytest.mark.parametrize("name", FILES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=75)
@given(changes=edits, skip=st.booleans())
def test_no_change_of_a_few_bytes_does_harm(tmp_path: Path, name: str, changes: list, skip: bool) -> None:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    (folder / "a.xml").write_bytes(XML)
    (folder / "a.arff").write_bytes(ARFF)
    (folder / name).write_bytes(mutated(FILES[name], changes))
    opened = folder / ("a.arff" if name == "a.xml" else name)
    side = tmp_path / "rejected"
    message = None
    try:
        source = open_source(opened, skip_bad_rows=side if skip else None)
        documents = sum(block.documents.num_rows for block in source.blocks(1))
    except ValueError as error:
        message = str(error)
    if message is None:
        assert documents > 0
        assert source.rejected == 0 or skip
    else:
        assert str(folder) in message, "the message does not name the file"
        assert len(message) < 1500
        assert not list(tmp_path.glob(".rejected*"))
