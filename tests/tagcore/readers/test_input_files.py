"""Files that are cut off, damaged, hostile or not there: one clear message that names them."""

import gzip
import os
import threading
import zipfile
from pathlib import Path

import pytest

from tagcore.readers import input_files, open_source
from tagcore.readers.bad_rows import ReadError
from tagcore.readers.input_files import Chunk, InputFile, ReadLimits, line_chunks, zip_members
from tests.tagcore.readers.helpers import gzipped, read, zipped

ROWS = b"".join(b'{"text": "row %d %d", "tags": ["t"]}\n' % (i, i * i * 7919) for i in range(3000))


@pytest.mark.parametrize("keep", [10, 200, -4, -9])
def test_gzip_cut_off(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(ROWS)[:keep])
    with pytest.raises(ReadError, match=r"a.jsonl.gz: cut off or damaged"):
        read(path, skip_bad_rows=tmp_path / "rejected")
    assert not (tmp_path / "rejected").exists()


def test_gzip_damaged_or_none_at_all(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(ROWS))
    data[len(data) // 2] ^= 255
    (tmp_path / "a.jsonl.gz").write_bytes(data)
    with pytest.raises(ReadError, match="cut off or damaged"):
        read(tmp_path / "a.jsonl.gz")
    (tmp_path / "b.jsonl.gz").write_bytes(ROWS)
    with pytest.raises(ReadError, match="cut off or damaged"):
        read(tmp_path / "b.jsonl.gz")


def test_gzip_by_its_content_and_in_several_members(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(ROWS) + gzip.compress(ROWS))
    assert len(read(tmp_path / "a.jsonl").documents) == 6000


@pytest.mark.parametrize("keep", [10, 500, -10])
def test_zip_cut_off(tmp_path: Path, keep: int) -> None:
    path = zipped(tmp_path / "a.zip", a__jsonl=ROWS)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ReadError, match=r"a.zip: cut off or damaged"):
        read(path)


def test_zip_damaged(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", a__jsonl=ROWS)
    data = bytearray(path.read_bytes())
    data[2000] ^= 255
    path.write_bytes(data)
    with pytest.raises(ReadError, match=r"a.zip!a.jsonl: cut off or damaged"):
        read(path)


def test_zip_with_a_member_without_a_name(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", a__jsonl=ROWS, b__jsonl=ROWS)
    path.write_bytes(path.read_bytes().replace(b"a.jsonl", b"\0.jsonl"))
    assert zip_members(path) == ["b.jsonl"]


def test_zip_with_several_members(tmp_path: Path) -> None:
    row = b'{"text": "x", "tags": []}\n'
    path = zipped(tmp_path / "a.zip", train__jsonl=row, test__jsonl=row, README=b"words", __MACOSX__x=b"{}")
    got = read(path)
    assert got.ids == ["train:1", "test:1"]
    assert [d["split"] for d in got.documents] == ["train", "test"]


def test_names_in_a_zip_never_become_paths(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../../outside.jsonl", '{"text": "x", "tags": []}')
        archive.writestr("/etc/absolute.jsonl", '{"text": "y", "tags": []}')
        archive.writestr(".hidden.jsonl", "nonsense")
        archive.writestr("__MACOSX/a.jsonl", "nonsense")
    before = sorted(p.name for p in tmp_path.parent.rglob("*"))
    assert read(tmp_path / "a.zip").ids == ["outside:1", "absolute:1"]
    assert sorted(p.name for p in tmp_path.parent.rglob("*")) == before
    assert zip_members(tmp_path / "a.zip") == ["../../outside.jsonl", "/etc/absolute.jsonl"]


def test_other_zip_methods(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.jsonl", ROWS)
    with pytest.raises(ReadError, match="zip method 14, expected stored or deflated"):
        read(tmp_path / "a.zip")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blank = b" " * 3_000_000 + b"\n"
    monkeypatch.setattr(input_files, "_FREE_EXPANSION", 1 << 20)
    for path in (gzipped(tmp_path / "a.jsonl.gz", blank), zipped(tmp_path / "b.zip", a__jsonl=blank)):
        with pytest.raises(ReadError, match=r"expand to .*, the limit expansion is 300 times"):
            read(path)
        with pytest.raises(ReadError, match=r"expands to .*, the limit expanded_bytes is 1000000"):
            read(path, expanded_bytes=1_000_000)
        with pytest.raises(ReadError, match="no documents"):
            read(path, expansion=2000)


def test_a_zip_that_lies_about_its_size(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", a__jsonl=b" " * 100_000 + b"\n")
    honest = (100_001).to_bytes(4, "little")
    data = path.read_bytes()
    assert data.count(honest) == 2
    path.write_bytes(data.replace(honest, (10).to_bytes(4, "little")))
    with pytest.raises(ReadError, match=r"a.zip"):
        read(path)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.arff", "a.jsonl.gz"])
def test_empty_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / "a.xml").write_text("<labels><label name='x'/></labels>")
    with pytest.raises(ReadError, match=f"{name}.*: no documents"):
        read(tmp_path / name)


def test_what_is_not_there_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"nowhere.csv: there is no such file or folder"):
        open_source(tmp_path / "nowhere.csv")
    with pytest.raises(ReadError, match="not recognised; expected a known data set"):
        open_source(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(ReadError, match="neither a file nor a folder"):
        open_source(tmp_path / "pipe.jsonl")
    with pytest.raises(ReadError, match="not recognised"):
        open_source(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(ROWS)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ReadError, match=r"a.jsonl: cannot be read \(Permission denied\)"):
        open_source(tmp_path / "a.jsonl")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
def test_lines_are_whole_whatever_the_size_of_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    lines = [b"a", b"", b"bb", b"ccccccccc", b"", b"dd", b"eeeeeeee", b"f"]
    (tmp_path / "a").write_bytes(b"\n".join(lines))
    monkeypatch.setattr(input_files, "CHUNK", size)
    chunks = list(line_chunks(InputFile(tmp_path / "a"), ReadLimits(row_bytes=4)))
    assert [c.line for c in chunks if c.too_long] == [4, 7]
    good = {c.line + i: text for c in chunks if not c.too_long for i, text in enumerate(c.data.split(b"\n")) if text}
    assert good == {1: b"a", 3: b"bb", 6: b"dd", 8: b"f"}
    assert all(isinstance(c, Chunk) for c in chunks)


def test_who_stops_reading_leaves_no_thread_and_no_open_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "CHUNK", 64)
    path = gzipped(tmp_path / "a.jsonl.gz", ROWS)
    assert b"".join(input_files.read_chunks(InputFile(path), ReadLimits())) == ROWS
    threads, opened = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    chunks = input_files.read_chunks(InputFile(path), ReadLimits())
    assert next(chunks) == ROWS[:64]
    chunks.close()
    for thread in set(threading.enumerate()) - threads:
        thread.join(60)  # it is told to end, and not waited for
        assert not thread.is_alive()
    assert len(os.listdir("/proc/self/fd")) <= opened
