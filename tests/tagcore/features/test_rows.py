"""Rows are the same bits from memory and from row groups, and a damaged group is named."""

import gc
import pickle
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.corpus import Corpus
from tagcore.features import rows as feature_rows
from tagcore.features.build import make_features
from tagcore.features.rows import InMemory, StoredRows, load_all, load_part, load_part_once, shards_of
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset, StoreError
from tagcore.synthetic.corpus import demo_corpus
from tagcore.text import Vectoriser
from tests.problems import stored_side


def features(folder: Path, rows_per_group: int = 32) -> Path:
    """A features data set of some 200 training rows in about ten row groups."""
    source = demo_corpus(300)
    (block,) = source.blocks(rows=300)
    Corpus(block.documents, block.taggings, list(source.tags)).save(folder / "corpus", rows_per_group=rows_per_group)
    corpus = Dataset.open(folder / "corpus", "corpus")
    make_features(corpus, folder / "features", Vectoriser(min_df=2), Split(test=0.3))
    return folder / "features"


def matrices(folder: Path) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    return stored_side(Dataset.open(folder, "features"), "train")


def stored_features(folder: Path) -> StoredRows:
    return StoredRows.open(features(folder), "train")


def damage(folder: Path, group: int) -> None:
    """Zeros in the middle of the words of one row group; the size of the file stays."""
    file = folder / "train.parquet"
    column = pq.ParquetFile(file).metadata.row_group(group).column(1)
    content = bytearray(file.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    file.write_bytes(content)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return features(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def both(folder):
    return InMemory(*matrices(folder)), StoredRows.open(folder, "train")


def same(one: sp.csr_matrix, other: sp.csr_matrix) -> bool:
    arrays = [[m.data, m.indices, m.indptr] for m in (one, other)]
    return one.shape == other.shape and all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(*arrays, strict=True)
    )


@given(data=st.data())
def test_any_part_is_the_same_bits_from_memory_and_from_row_groups(both, data):
    held, stored = both
    assert (held.n_rows, held.n_features, held.n_labels) == (stored.n_rows, stored.n_features, stored.n_labels)
    start = data.draw(st.integers(0, held.n_rows))
    part = slice(start, data.draw(st.integers(start, held.n_rows)))
    for rows in both:
        X, Y = load_part(rows.part(part))
        assert same(X, held.X[part])
        assert same(Y, held.Y[part])
        assert same(rows.labels(part), held.Y[part])


def test_only_the_row_groups_that_a_part_overlaps_are_read(folder, tmp_path):
    """so a damaged one is met only by those who need it, and is named to them."""
    copy = features(tmp_path)
    rows = StoredRows.open(copy, "train")
    damage(copy, 3)
    rows.load(slice(0, rows.edges[3]))
    rows.load(slice(rows.edges[4], rows.n_rows))
    for part in (slice(rows.edges[3], rows.edges[4]), slice(rows.edges[4] - 1, rows.n_rows)):
        with pytest.raises(StoreError, match=r"train\.parquet: row group 3 is damaged"):
            rows.load(part)


def test_a_file_that_is_gone_cut_or_another_is_named(folder, tmp_path):
    copy = features(tmp_path)
    rows = StoredRows.open(copy, "train")
    content = rows.storage.read(rows.files[0])
    everything = slice(0, rows.n_rows)
    rows.storage.write(rows.files[0], content[:-100])
    with pytest.raises(StoreError, match=r"train\.parquet: not a parquet file"):
        rows.load(everything)
    rows.storage.write(rows.files[0], rows.storage.read("test.parquet"))
    with pytest.raises(StoreError, match=r"train\.parquet: row groups of .* rows, expected"):
        rows.load(everything)
    rows.storage.remove(rows.files[0])
    with pytest.raises(StoreError, match=r"train\.parquet: is missing"):
        rows.load(everything)
    with pytest.raises(StoreError, match=r"train\.parquet: the manifest lists this file"):
        StoredRows.open(copy, "train")


@pytest.mark.parametrize("part", [slice(-1, 3), slice(5, 4), slice(0, 10_000), slice(0, 4, 2)])
def test_a_part_that_is_no_run_of_rows_is_refused(both, part):
    for rows in both:
        with pytest.raises(ValueError, match="expected a run of rows within"):
            rows.load(part)


@pytest.mark.parametrize("run_rows", [7, 50, 32_768])
@settings(max_examples=25)
@given(data=st.data())
def test_selected_rows_are_the_same_bits_from_memory_and_from_row_groups(both, run_rows, data):
    held, _ = both
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=held.n_rows, max_size=held.n_rows)))
    numbers = np.flatnonzero(wanted)
    start = data.draw(st.integers(0, numbers.size))
    part = slice(start, data.draw(st.integers(start, numbers.size)))
    X, Y = held.X[numbers[part]], held.Y[numbers[part]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_rows, "_RUN_ROWS", run_rows)
        for rows in both:
            selected = rows.select(numbers)
            assert (selected.n_rows, selected.n_features, selected.n_labels) == (numbers.size, *X.shape[1:], Y.shape[1])
            sent = pickle.loads(pickle.dumps(selected.part(part)))  # noqa: S301  as it goes to another process
            for loaded in (selected.load(part), load_part(sent)):
                assert same(loaded[0], X)
                assert same(loaded[1], Y)
            assert same(selected.labels(part), Y)


def test_rows_may_be_selected_from_selected_ones(both):
    held, _ = both
    for rows in both:
        selected = rows.select(np.arange(1, held.n_rows, 2)).select(np.array([0, 3, 4]))
        assert same(selected.load(slice(0, 3))[0], held.X[[1, 7, 9]])


def test_selected_rows_are_read_a_run_at_a_time(both, monkeypatch):
    held, stored = both
    monkeypatch.setattr(feature_rows, "_RUN_ROWS", 40)
    load, read = StoredRows.load, []
    monkeypatch.setattr(StoredRows, "load", lambda self, part: read.append(part) or load(self, part))
    X, _ = stored.select(np.array([3, 38, 41, 45, held.n_rows - 1])).load(slice(0, 5))
    assert same(X, held.X[[3, 38, 41, 45, held.n_rows - 1]])
    assert read == [slice(3, 39), slice(41, 46), slice(held.n_rows - 1, held.n_rows)]


def test_a_selected_part_is_small_to_send_and_can_be_shared(both):
    """a bit a row, not a number; and those of one process that ask for the same get it once."""
    held, stored = both
    selected = stored.select(np.arange(0, held.n_rows, 2))
    part = slice(10, selected.n_rows)
    assert len(selected.part(part).wanted) <= held.n_rows // 8 + 1
    first = load_part_once(selected.part(part), doubled)
    assert load_part_once(selected.part(part), doubled) is first
    assert load_part_once(selected.part(slice(11, selected.n_rows)), doubled) is not first


@pytest.mark.parametrize("numbers", [[3, 2], [3, 3], [-1, 4], [0, 10_000]])
def test_numbers_of_selected_rows_must_rise(both, numbers):
    _, stored = both
    with pytest.raises(ValueError, match="the numbers of selected rows must rise within 0"):
        stored.select(np.array(numbers))


def test_all_rows_come_with_counts_in_float64_and_without_a_copy(both):
    held, stored = both
    X, Y = load_all(stored)
    assert same(X, held.X)
    assert Y.dtype == np.float64
    assert np.array_equal(Y.toarray(), held.Y.toarray())
    whole = InMemory(X, Y)
    assert all(one is other for one, other in zip(load_all(whole), (X, Y), strict=True))


def test_rows_in_memory_must_fit_together():
    with pytest.raises(ValueError, match="X has 2 rows, Y has 3"):
        InMemory(sp.csr_matrix((2, 4)), sp.csr_matrix((3, 4)))


def test_shards_hold_the_rows_in_order(both):
    held, _ = both
    for rows in both:
        shards = shards_of(rows, 4, tuple).collect(lambda shard, state: (shard.first, *shard.data))
        assert same(sp.vstack([X for _, X, _ in shards], format="csr"), held.X)
        assert [first for first, *_ in shards] == np.cumsum([0, *(X.shape[0] for _, X, _ in shards[:-1])]).tolist()


def doubled(XY):
    return InMemory(2 * XY[0], XY[1])


def test_rows_that_several_ask_for_are_loaded_once_while_someone_holds_them(both, monkeypatch):
    held, stored = both
    part = slice(3, 50)
    first = load_part_once(stored.part(part), doubled)
    assert same(first.X, 2 * held.X[part])
    assert load_part_once(stored.part(part), doubled) is first
    other = load_part_once(stored.part(slice(3, 51)), doubled)
    assert other.n_rows == 48
    del first
    gc.collect()
    monkeypatch.setattr(StoredRows, "load", lambda *_: pytest.fail("read again"))
    assert load_part_once(stored.part(slice(3, 51)), doubled) is other
    with pytest.raises(pytest.fail.Exception, match="read again"):
        load_part_once(stored.part(part), doubled)


def test_rows_that_a_part_holds_are_prepared_each_time(both):
    held, _ = both
    part = slice(0, 5)
    assert same(load_part_once(held.part(part), doubled).X, 2 * held.X[part])
