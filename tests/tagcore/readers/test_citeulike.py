"""CiteULike, both forms: papers, their tags, and users' libraries; and folders whose files do not fit together."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagcore.readers import input_files, open_source
from tagcore.readers.bad_rows import BadRow, ReadError
from tagcore.readers.citeulike import read_libraries
from tagcore.readers.open import source_fingerprint
from tests.tagcore.readers.helpers import read, whole

FILES = {
    "mult.dat": b"2 0:1 3:2\n0\n1 2:5",
    "vocabulary.dat": "ant\nbee\n\u2028\ncat\u2009\n".encode(),
    "tags.dat": b"x\ny\nz",
    "tag-item.dat": b"2 2 0\n1 1\n0\n",
    "users.dat": b"1 2\n2 0 1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


def read_t(folder: Path, **options: object):
    return read(folder, format="citeulike", **options)


def test_papers_with_the_tags_that_list_them(folder: Path) -> None:
    got = read_t(folder)
    assert got.ids == ["0", "1", "2"]
    assert got.tags == [["x"], ["y"], ["x"]]
    np.testing.assert_array_equal(got.words, [[1, 0, 0, 2], [0, 0, 0, 0], [0, 0, 5, 0]])
    assert list(got.source.words or ()) == ["ant", "bee", "\u2028", "cat\u2009"]
    assert list(got.source.tags) == ["x", "y", "z"]
    assert got.source.counts.wordless == 1
    assert {d["split"] for d in got.documents} == {None}


def test_papers_that_list_their_tags(folder: Path) -> None:
    (folder / "tag-item.dat").unlink()
    (folder / "item-tag.dat").write_bytes(b"1 2\n0\n2 1 0\n")
    assert read(folder / "mult.dat").tags == [["z"], [], ["x", "y"]]
    assert open_source(folder).format == "citeulike"
    (folder / "item-tag.dat").write_bytes(b"1 2\n0\n")
    with pytest.raises(ReadError, match=r"item-tag.dat: 2 rows, expected 3: cut off\?"):
        read(folder)


def test_in_a_zip(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "citeulike.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in FILES.items():
            archive.writestr(f"citeulike-t/{name}", data)
    assert read(path).tags == read_t(folder).tags
    assert open_source(path).inputs == [path]


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        (b"1 4:1", "4:1", "a word number from 0 to 3"),
        (b"2 1:1", "2", "as many pairs word:count as this number says"),
        (b"0 1:1", "0", "as many pairs word:count as this number says"),
        (b"2 1:1 1:1", "1:1", "every word once in a row"),
        (b"1 1", "1", "a pair word:count"),
        (b"1 1:?", "1:?", "a finite number as count"),
        (b"1:1", "1:1", "a whole number first"),
        (b"", "", "a whole number first"),
    ],
)
def test_bad_bags_are_named_and_keep_their_numbers(folder: Path, row: bytes, value: str, expected: str) -> None:
    path = folder / "mult.dat"
    path.write_bytes(b"1 0:1\n" + row + b"\n1 2:5\n")
    with pytest.raises(BadRow, match=expected) as caught:
        read_t(folder)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 2, value)
    got = read_t(folder, skip_bad_rows=folder.parent / "rejected")
    assert (got.ids, got.tags, got.source.rejected) == (["0", "2"], [["x"], ["x"]], 1)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("tag-item.dat", b"2 2 0\n1 3\n0\n", "tag-item.dat, line 2: found '3', expected a paper number from 0 to 2"),
        ("tag-item.dat", b"2 2 0\n2 1\n0\n", "line 2: found '2', expected as many papers as this number says"),
        ("tag-item.dat", b"2 2 2\n1 1\n0\n", "line 1: found '2', expected every paper once in a row"),
        ("tag-item.dat", b"2 2 0\nx\n0\n", "line 2: found 'x', expected a whole number first, how many papers"),
        ("tag-item.dat", b"2 2 0\n1 -1\n0\n", "line 2: found '-1', expected a paper number"),
        ("tag-item.dat", b"2 2 0\n1 1\n", r"tag-item.dat: 2 rows, expected 3: cut off\?"),
        ("mult.dat", b"1 0:1\n", "tag-item.dat, line 1: found '2', expected a paper number from 0 to 0"),
        ("tags.dat", b"x\nx\nz", "tags.dat: 3 names, 2 of them different"),
        ("vocabulary.dat", b"\xff", "vocabulary.dat: not UTF-8 text"),
    ],
)
def test_files_that_do_not_fit_are_refused_even_when_bad_rows_are_skipped(
    folder: Path, name: str, data: bytes, message: str
) -> None:
    (folder / name).write_bytes(data)
    with pytest.raises(ReadError, match=message) as caught:
        read_t(folder, skip_bad_rows=folder.parent / "rejected")
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("name", ["vocabulary.dat", "tags.dat", "tag-item.dat"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ReadError, match=f"mult.dat: no .*{name}.* beside it"):
        read(folder / "mult.dat")


def test_fingerprints_follow_every_file(folder: Path) -> None:
    prints = {source_fingerprint(folder, format="citeulike")}
    for name in ("mult.dat", "vocabulary.dat", "tags.dat", "tag-item.dat"):
        (folder / name).write_bytes(FILES[name] + b"\n1")
        prints.add(source_fingerprint(folder, format="citeulike"))
    assert len(prints) == 5


def test_libraries(folder: Path) -> None:
    for path in (folder, folder / "users.dat"):
        kept = read_libraries(path)
        assert kept.matrix.toarray().tolist() == [[0, 0, 1], [1, 1, 0]]
        assert (kept.user_names, kept.item_names) == (["0", "1"], ["0", "1", "2"])
    (folder / "users.dat").write_bytes(b"1 3\n")
    with pytest.raises(BadRow, match=r"users.dat, line 1: found '3', expected a paper number from 0 to 2"):
        read_libraries(folder)


papers = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 3), st.integers(1, 99)), st.sets(st.integers(0, 2))),
    min_size=1,
    max_size=7,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(papers=papers, rows=st.integers(1, 8), chunk=st.integers(1, 60))
def test_both_forms_say_the_same(folder: Path, papers: list[tuple[dict, set]], rows: int, chunk: int) -> None:
    bags = [f"{len(bag)}" + "".join(f" {w}:{n}" for w, n in bag.items()) for bag, _ in papers]
    by_paper = [f"{len(tags)}" + "".join(f" {t}" for t in tags) for _, tags in papers]
    of = [[i for i, (_, tags) in enumerate(papers) if t in tags] for t in range(3)]
    by_tag = [" ".join(map(str, [len(some), *some])) for some in of]
    (folder / "mult.dat").write_text("\n".join(bags) + "\n")
    expected = np.zeros((len(papers), 4))
    for row, (bag, _) in enumerate(papers):
        for word, n in bag.items():
            expected[row, word] = n
    for name, lines in (("tag-item.dat", by_tag), ("item-tag.dat", by_paper)):
        (folder / "tag-item.dat").unlink(missing_ok=True)
        (folder / "item-tag.dat").unlink(missing_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(input_files, "CHUNK", chunk)
            got = whole(open_source(folder / "mult.dat"), rows)
        np.testing.assert_array_equal(got.words, expected)
        assert [set(tags) for tags in got.tags] == [{"xyz"[t] for t in tags} for _, tags in papers]
