"""Whole or not there: what stood before is kept, what failed leaves nothing."""

import os
import subprocess
import sys

import pytest

from tagcore.store.files import _sweep, new_folder, write_text


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_folder_appears_when_the_block_ends(tmp_path):
    with new_folder(tmp_path / "deep" / "made") as filling:
        (filling / "a").write_text("1")
        assert not (tmp_path / "deep" / "made").exists()
    assert names(tmp_path / "deep") == ["made"]
    assert (tmp_path / "deep" / "made" / "a").read_text() == "1"


def test_failure_leaves_nothing(tmp_path):
    def broken():
        with new_folder(tmp_path / "made") as filling:
            (filling / "a").write_text("1")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        broken()
    assert names(tmp_path) == []


def test_a_folder_that_stands_is_never_touched(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "old").write_text("kept")
    with pytest.raises(FileExistsError, match="made: already stands and is not empty"), new_folder(tmp_path / "made"):
        pytest.fail("the work must not begin")
    assert names(tmp_path / "made") == ["old"]


def test_a_folder_that_came_meanwhile_is_kept(tmp_path):
    def overtaken():
        with new_folder(tmp_path / "made") as filling:
            (filling / "mine").write_text("1")
            (tmp_path / "made").mkdir()
            (tmp_path / "made" / "theirs").write_text("2")

    with pytest.raises(OSError, match="not empty"):
        overtaken()
    assert names(tmp_path) == ["made"]
    assert names(tmp_path / "made") == ["theirs"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "made").mkdir()
    with new_folder(tmp_path / "made") as filling:
        (filling / "a").write_text("1")
    assert names(tmp_path / "made") == ["a"]


def test_a_file_in_the_way_is_named_before_the_work(tmp_path):
    (tmp_path / "made").write_text("kept")
    with pytest.raises(FileExistsError, match="made: a file stands there"), new_folder(tmp_path / "made"):
        pytest.fail("the work must not begin")
    assert (tmp_path / "made").read_text() == "kept"


def test_text_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / "note"
    write_text(path, "one")
    write_text(path, "zwei, drei: ä\n")
    assert path.read_bytes() == "zwei, drei: ä\n".encode()
    assert names(tmp_path) == ["note"]


def test_text_that_cannot_be_written_keeps_the_old(tmp_path, monkeypatch):
    path = tmp_path / "note"
    write_text(path, "one")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_text(path, "two")
    assert path.read_text() == "one"
    assert names(tmp_path) == ["note"]


def test_what_a_killed_process_left_is_swept_away(tmp_path):
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom tagcore.store.files import new_folder\n"
        "with new_folder(Path(sys.argv[1])) as filling:\n"
        "    (filling / 'half').touch()\n    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "result")], check=False, timeout=600)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".result.")
    with new_folder(tmp_path / "another"):  # the same may never be made again
        assert not left.exists()
    (tmp_path / "another").rmdir()
    with new_folder(tmp_path / "result") as mine:
        with new_folder(tmp_path / "other"):
            assert mine.is_dir()
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted([mine.name, "other"])
    assert names(tmp_path) == ["other", "result"]


def test_the_filling_of_a_living_process_is_left_alone(tmp_path):
    with new_folder(tmp_path / "result") as first, new_folder(tmp_path / "other"):
        _sweep(tmp_path)
        assert first.is_dir()
