"""Data sets on disk: the same input gives the same bytes, and whatever is wrong with a folder is named."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.corpus import Corpus, documents_table, names_table
from tagcore.store.datasets import MANIFEST, Dataset, StoreError, content_key, file_hash, is_complete, write_dataset
from tagcore.store.schemas import KINDS, VERSION

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def corpus():
    return Corpus.from_texts(["red apples", "green pears", ""], [["apple"], ["pear", "green"], []])


@pytest.fixture
def folder(tmp_path):
    corpus().save(tmp_path / "fruit", parameters={"rows": 2}, inputs={"source": "abc"})
    return tmp_path / "fruit"


def rewrite(folder, change):
    """the manifest after `change`, with nothing else altered."""
    manifest = json.loads((folder / MANIFEST).read_text())
    change(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))


def forge(folder, table, changed):
    """another parquet file in place of a table, with a manifest that fits its bytes."""
    path = folder / f"{table}.parquet"
    pq.write_table(changed, path)
    facts = {"bytes": path.stat().st_size, "sha256": file_hash(path)}
    rewrite(folder, lambda m: m["files"].update({path.name: facts}))


def assert_refused(folder, message, kind="corpus"):
    with pytest.raises(StoreError, match=message) as caught:
        Dataset.open(folder, kind)
    assert str(folder) in str(caught.value)


def test_a_stored_set_opens(folder):
    data = Dataset.open(folder, "corpus")
    assert data.counts == {"documents": 3, "taggings": 3, "tags": 3}
    assert data.key == content_key("corpus", {"rows": 2}, {"source": "abc"})
    assert data.names("tags") == ["apple", "pear", "green"]
    assert data.read("documents", ["text"])["text"].to_pylist() == ["red apples", "green pears", ""]


def test_same_input_same_bytes(tmp_path, folder):
    corpus().save(tmp_path / "again", parameters={"rows": 2}, inputs={"source": "abc"})
    names = sorted(p.name for p in folder.iterdir())
    assert names == sorted(p.name for p in (tmp_path / "again").iterdir())
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4))
def test_key_survives_json(parameters):
    assert content_key("corpus", parameters, {}) == content_key("corpus", json.loads(json.dumps(parameters)), {})


def test_key_depends_on_everything():
    keys = [
        content_key("corpus", {"a": 1}, {"x": "1"}),
        content_key("ratings", {"a": 1}, {"x": "1"}),
        content_key("corpus", {"a": 2}, {"x": "1"}),
        content_key("corpus", {"b": 1}, {"x": "1"}),
        content_key("corpus", {"a": 1}, {"x": "2"}),
        content_key("corpus", {"a": 1}, {}),
    ]
    assert len(set(keys)) == len(keys)
    assert content_key("corpus", {"a": 1, "b": 2}, {}) == content_key("corpus", {"b": 2, "a": 1}, {})


def test_numbered_parameters_come_back(tmp_path):
    """JSON turns keys into text, and 10 before 2."""
    with write_dataset(tmp_path / "set", "model", parameters={"by_round": {2: "a", 10: "b"}}):
        pass
    assert Dataset.open(tmp_path / "set", "model").manifest["parameters"] == {"by_round": {"2": "a", "10": "b"}}


def test_row_groups_are_the_blocks_that_were_appended(tmp_path):
    corpus().save(tmp_path / "set", rows_per_group=2)
    data = Dataset.open(tmp_path / "set", "corpus")
    assert data.n_row_groups("documents") == data.n_row_groups("taggings") == 2
    assert [t.num_rows for t in data.blocks("documents")] == [2, 1]
    assert [t["document"].to_pylist() for t in data.blocks("taggings", ["document"])] == [[0, 1, 1], []]


def test_tables_that_must_be_there_are_written_empty(tmp_path):
    with write_dataset(tmp_path / "set", "corpus") as writer:
        writer.append("documents", documents_table(id=["a"]))
    data = Dataset.open(tmp_path / "set", "corpus")
    assert data.counts == {"documents": 1, "taggings": 0, "tags": 0}
    assert data.read("taggings").schema.equals(KINDS["corpus"]["taggings"][0])
    assert not data.has("bags")


def test_other_files_belong_to_the_set(tmp_path):
    with write_dataset(tmp_path / "set", "model") as writer:
        (writer.folder / "deep").mkdir()
        (writer.folder / "deep" / "weights").write_bytes(b"1234")
    Dataset.open(tmp_path / "set", "model")
    (tmp_path / "set" / "deep" / "weights").write_bytes(b"1235")
    assert_refused(tmp_path / "set", "weights: sha256 .* altered", "model")


def test_failure_in_the_middle_leaves_nothing(tmp_path):
    def broken():
        with write_dataset(tmp_path / "set", "corpus") as writer:
            writer.append("documents", documents_table(id=["a"]))
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        broken()
    assert list(tmp_path.iterdir()) == []


def test_what_stands_is_kept(folder):
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    with pytest.raises(FileExistsError, match="fruit"):
        corpus().save(folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_missing_values_are_refused(tmp_path):
    with pytest.raises(StoreError, match=r"corpus\.documents: .*'id' with null values"):
        Corpus(documents_table(id=["a", None]), corpus().taggings.slice(0, 0), []).save(tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_wrong_columns_are_refused(tmp_path):
    words = pa.table({"user": ["a"], "item": ["b"], "value": ["c"], "time": pa.nulls(1)})
    with pytest.raises(StoreError, match=r"corpus\.tags: .*names"), write_dataset(tmp_path / "set", "corpus") as writer:
        writer.append("tags", pa.table({"label": ["a"]}))
    with (
        pytest.raises(StoreError, match=r"ratings\.ratings: .*parse"),
        write_dataset(tmp_path / "set", "ratings") as writer,
    ):
        writer.append("ratings", words)
    with pytest.raises(StoreError, match=r"corpus\.tags: "), write_dataset(tmp_path / "set", "corpus") as writer:
        writer.append("tags", pa.table({"name": [[1]]}))
    assert list(tmp_path.iterdir()) == []


def test_no_folder_and_no_manifest(tmp_path):
    assert_refused(tmp_path / "nowhere", "not a stored corpus: there is no such folder")
    assert_refused(tmp_path, "not a stored corpus: it has no manifest.json")
    (tmp_path / "file").write_text("x")
    assert_refused(tmp_path / "file", "manifest.json: cannot be read")


def test_another_kind(folder):
    assert_refused(folder, "manifest.json: a data set of kind 'corpus', expected 'ratings'", "ratings")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"tagflow"', '{"format": "other"}', "\x00"])
def test_a_manifest_that_is_none(folder, text):
    (folder / MANIFEST).write_text(text)
    assert_refused(folder, r"manifest.json: (cannot be read|not a manifest of tagflow)")


def test_a_manifest_in_another_encoding(folder):
    (folder / MANIFEST).write_bytes(b"\xff\xfe\x00")
    assert_refused(folder, "manifest.json: cannot be read")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(schema=VERSION + 1), "manifest.json: schema version 2, this version reads 1"),
        (lambda m: m.pop("schema"), "manifest.json: schema version None"),
        (lambda m: m["parameters"].update(rows=3), "manifest.json: its key does not follow"),
        (lambda m: m["inputs"].clear(), "manifest.json: its key does not follow"),
        (lambda m: m.update(key="0" * 64), "manifest.json: its key does not follow"),
        (lambda m: m.pop("key"), "manifest.json: its key does not follow"),
        (lambda m: m.pop("parameters"), "manifest.json: 'parameters' is None, expected an object"),
        (lambda m: m.pop("files"), "manifest.json: 'files' is None, expected an object"),
        (lambda m: m.update(files=[1]), r"manifest.json: 'files' is \[1\], expected an object"),
        (lambda m: m.pop("counts"), "manifest.json: 'counts' is None, expected an object"),
        (lambda m: m["counts"].update(documents=4), "documents.parquet: 3 rows, the manifest says 4"),
        (lambda m: m["counts"].pop("tags"), "tags.parquet: 3 rows, the manifest says None"),
        (lambda m: m["files"].pop("taggings.parquet"), "taggings.parquet is missing"),
        (lambda m: m["files"]["tags.parquet"].pop("sha256"), "tags.parquet: the manifest says .* expected its bytes"),
        (lambda m: m["files"].update({"tags.parquet": 7}), "tags.parquet: the manifest says 7 of it"),
        (lambda m: m["files"]["tags.parquet"].update(sha256="0" * 64), "tags.parquet: sha256 .* says 000000000000…"),
        (lambda m: m["files"]["tags.parquet"].update(sha256=None), "tags.parquet: sha256 .* says None…"),
    ],
)
def test_an_altered_manifest(folder, change, message):
    rewrite(folder, change)
    assert_refused(folder, message)


def test_a_missing_file(folder):
    (folder / "tags.parquet").unlink()
    assert_refused(folder, "tags.parquet: the manifest lists this file, but it is missing")


def test_a_cut_file(folder):
    path = folder / "documents.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    assert_refused(folder, f"documents.parquet: {len(whole) - 100} bytes, the manifest says {len(whole)}: cut off")


def test_an_altered_file(folder):
    path = folder / "documents.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert_refused(folder, "documents.parquet: sha256 .* altered")


def test_hashes_are_compared_while_a_set_is_read(folder):
    with Dataset.open_and_verify_beside(folder, "corpus") as data:
        assert data.names("tags") == ["apple", "pear", "green"]
    path = folder / "documents.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    altered = pytest.raises(StoreError, match=r"documents\.parquet: sha256 .* altered")
    with altered, Dataset.open_and_verify_beside(folder, "corpus"):
        pass
    with altered as caught, Dataset.open_and_verify_beside(folder, "corpus"):
        raise IndexError("what such content leads to")
    assert isinstance(caught.value.__context__, IndexError)


def test_without_verification_the_foot_of_a_file_is_still_read(folder):
    path = folder / "documents.parquet"
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(StoreError, match=r"documents\.parquet: not a parquet file"):
        Dataset.open(folder, "corpus", verify=False)


def test_a_missing_column(folder):
    forge(folder, "documents", pq.read_table(folder / "documents.parquet").drop_columns(["title"]))
    assert_refused(folder, r"documents.parquet: column 'title' \(string\) is missing")


def test_a_column_of_another_type(folder):
    forge(folder, "tags", pa.table({"name": [1, 2, 3]}))
    assert_refused(folder, "tags.parquet: column 'name' is int64, expected string")


def test_a_file_that_is_no_parquet(folder):
    path = folder / "tags.parquet"
    path.write_text("name\napple\n")
    facts = {"bytes": path.stat().st_size, "sha256": file_hash(path)}
    rewrite(folder, lambda m: m["files"].update({path.name: facts}))
    assert_refused(folder, "tags.parquet: not a parquet file")


def test_stands_only_if_whole_and_of_that_key(folder):
    key = Dataset.open(folder, "corpus").key
    assert is_complete(folder, key, "corpus")
    assert not is_complete(folder, "0" * 64, "corpus")
    assert not is_complete(folder, key, "ratings")
    assert not is_complete(folder.parent / "nowhere", key, "corpus")
    (folder / "tags.parquet").unlink()
    assert not is_complete(folder, key, "corpus")


def test_names_keep_their_order(tmp_path):
    names = ["b", "a", "ä", "", "a b"]
    with write_dataset(tmp_path / "set", "corpus") as writer:
        writer.append("tags", names_table(names))
    assert Dataset.open(tmp_path / "set", "corpus").names("tags") == names


def test_a_corpus_of_an_earlier_version_lacks_what_came_later(tmp_path, monkeypatch):
    documents, always = KINDS["corpus"]["documents"]
    earlier = pa.schema([field for field in documents if field.name != "vanished_at"])
    monkeypatch.setitem(KINDS["corpus"], "documents", (earlier, always))
    replace(corpus(), documents=corpus().documents.select(earlier.names)).save(tmp_path / "corpus")
    monkeypatch.undo()
    assert Dataset.open(tmp_path / "corpus", "corpus").read("documents").column_names == earlier.names
