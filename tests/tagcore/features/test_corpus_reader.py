"""Row groups of a stored corpus: damaged, missing and odd files are named, and a copy is read where one is given."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tagcore.features.build import make_features
from tagcore.features.split import Split
from tagcore.shards import InProcess
from tagcore.store.datasets import Dataset, StoreError
from tagcore.store.storage import Folder
from tagcore.text import Vectoriser
from tests.tagcore.features.test_build import contents, counted_corpus, features_of, text_corpus


@pytest.fixture(scope="module")
def corpus():
    return text_corpus()


def damage(file: Path, group: int, column: str) -> None:
    """Zeros in one column of a row group; the size of the file stays."""
    metadata = pq.ParquetFile(file).metadata.row_group(group)
    chunk = next(c for c in map(metadata.column, range(metadata.num_columns)) if c.path_in_schema.startswith(column))
    content = bytearray(file.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("table", "column"), [("documents", "text"), ("documents", "id"), ("taggings", "tag"), ("bags", "values")]
)
def test_a_damaged_row_group_is_named(corpus, tmp_path, table, column):
    made = counted_corpus() if table == "bags" else corpus
    made.save(tmp_path / "corpus", rows_per_group=9)
    damage(tmp_path / "corpus" / f"{table}.parquet", 2, column)
    stored = Dataset.open(tmp_path / "corpus", "corpus", verify=False)
    with pytest.raises(StoreError, match=rf"corpus/{table}\.parquet: row group 2 is damaged"):
        make_features(stored, tmp_path / "features", Vectoriser(), Split(), executor=InProcess(2))
    assert not (tmp_path / "features").exists()


def test_files_that_are_gone_cut_or_of_other_row_groups_are_named(corpus, tmp_path):
    corpus.save(tmp_path / "corpus", rows_per_group=50)
    corpus.save(tmp_path / "other", rows_per_group=60)
    stored = Dataset.open(tmp_path / "corpus", "corpus")
    copy = tmp_path / "copy"
    shutil.copytree(stored.folder, copy)

    def complaint() -> str:
        with pytest.raises(StoreError) as caught:
            make_features(stored, tmp_path / "features", Vectoriser(), Split(), storage=Folder(copy))
        return str(caught.value)

    shutil.copy(tmp_path / "other/taggings.parquet", copy)
    assert complaint() == f"{copy}/taggings.parquet: 5 row groups, documents.parquet has 6"
    (copy / "taggings.parquet").write_bytes((stored.folder / "taggings.parquet").read_bytes()[:-9])
    assert complaint().startswith(f"{copy}/taggings.parquet: not a parquet file")
    (copy / "taggings.parquet").unlink()
    assert complaint() == f"{copy}/taggings.parquet: is missing"
    shutil.copy(stored.folder / "taggings.parquet", copy / "documents.parquet")
    shutil.copy(stored.folder / "taggings.parquet", copy)
    assert complaint().endswith("rows, the manifest says 300")


def test_a_copy_is_read_where_one_is_given(corpus, tmp_path):
    expected = features_of(corpus, tmp_path, rows_per_group=50)
    stored = Dataset.open(tmp_path / "corpus", "corpus")
    shutil.copytree(stored.folder, tmp_path / "copy")
    damage(stored.folder / "documents.parquet", 2, "text")
    parameters = {"split": vars(Split(test=0.3))}
    copy = Folder(tmp_path / "copy")
    make_features(stored, tmp_path / "f", Vectoriser(), Split(test=0.3), storage=copy, parameters=parameters)
    assert contents(tmp_path / "f") == contents(expected.folder)
