"""Corpora: what goes to disk comes back, and arrow lists and CSR rows are the same thing."""

import datetime as dt
import itertools

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.corpus import (
    Block,
    Corpus,
    Names,
    append_block,
    csr_from_lists,
    documents_table,
    fields_table,
    lists_from_csr,
    tag_matrix,
    taggings_table,
)
from tagcore.store.datasets import Dataset, StoreError, write_dataset
from tagcore.store.schemas import DOCUMENTS, TAGGINGS

NOON = dt.datetime(2026, 11, 16, 12, tzinfo=dt.UTC)
WIDTH = 7

rows_of_cells = st.lists(
    st.dictionaries(st.integers(0, WIDTH - 1), st.floats(-100, 100, width=32), max_size=WIDTH), max_size=12
)


def rich_corpus():
    """users, counts, times and counted words; the second document has none of them."""
    documents = documents_table(id=["a", "b", "c"], title=["A", None, "Ö"], fetched_at=[NOON, None, NOON])
    taggings = taggings_table(
        [0, 0, 0, 2],
        [1, 0, 1, 2],
        user=["ann", "ann", "bob", None],
        count=[1, 2, 3, 9],
        time=[NOON, NOON, None, NOON + dt.timedelta(microseconds=1)],
    )
    words = sp.csr_matrix(np.array([[1, 0, 2.5], [0, 0, 0], [0, 4, 0]], np.float32))
    return Corpus(documents, taggings, ["x", "y", "z"], words, ["p", "q", "r"])


def csr_of(rows):
    indptr = np.cumsum([0, *(len(r) for r in rows)])
    indices = [i for r in rows for i in r]
    data = [v for r in rows for v in r.values()]
    return sp.csr_matrix((np.array(data, np.float32), np.array(indices, np.int32), indptr), shape=(len(rows), WIDTH))


def test_names_are_numbered_as_first_seen():
    names = Names(["b", "a", "b"])
    assert [names.id("b"), names.id("c"), names.id("a")] == [0, 2, 1]
    assert (list(names), len(names)) == (["b", "a", "c"], 3)
    assert (names.find("c"), names.find("d")) == (2, None)
    assert len(names) == 3


def test_from_texts_counts_a_tag_once():
    corpus = Corpus.from_texts(["one", "two"], [["t", "t", "u"], []])
    np.testing.assert_array_equal(corpus.tags.toarray(), [[1, 1], [0, 0]])
    with pytest.raises(ValueError, match="1 texts, but tags for 2 documents"):
        Corpus.from_texts(["one"], [[], []])
    assert Corpus.from_texts([], []).tags.shape == (0, 0)


@pytest.mark.parametrize("rows_per_group", [1, 2, 3, 100])
def test_round_trip(tmp_path, rows_per_group):
    corpus = rich_corpus()
    corpus.save(tmp_path / "set", rows_per_group=rows_per_group)
    loaded = Corpus.load(tmp_path / "set")
    assert loaded.documents.equals(corpus.documents)
    assert loaded.documents.schema.equals(DOCUMENTS)
    order = [("document", "ascending"), ("tag", "ascending"), ("user", "ascending")]
    assert loaded.taggings.sort_by(order).equals(corpus.taggings.sort_by(order))
    assert (loaded.tag_names, loaded.word_names) == (corpus.tag_names, corpus.word_names)
    np.testing.assert_array_equal(loaded.words.toarray(), corpus.words.toarray())
    np.testing.assert_array_equal(loaded.tags.toarray(), [[2, 4, 0], [0, 0, 0], [0, 0, 9]])
    data = Dataset.open(tmp_path / "set", "corpus")
    groups = -(-3 // rows_per_group)
    assert {data.n_row_groups(t) for t in ("documents", "taggings", "bags")} == {groups}


def test_text_and_bags_may_be_missing(tmp_path):
    Corpus.from_texts(["one", ""], [["t"], []]).save(tmp_path / "set")
    loaded = Corpus.load(tmp_path / "set")
    assert loaded.words is None
    assert loaded.word_names is None
    assert loaded.documents["text"].to_pylist() == ["one", ""]


def test_empty_corpus(tmp_path):
    Corpus.from_texts([], []).save(tmp_path / "set")
    loaded = Corpus.load(tmp_path / "set")
    assert len(loaded) == 0
    assert loaded.tags.shape == (0, 0)


def test_blocks_number_their_own_documents():
    blocks = list(rich_corpus().blocks(2))
    assert [b.documents["id"].to_pylist() for b in blocks] == [["a", "b"], ["c"]]
    assert [b.taggings["document"].to_pylist() for b in blocks] == [[0, 0, 0], [0]]
    assert [b.words.shape for b in blocks] == [(2, 3), (1, 3)]


@pytest.mark.parametrize(("where", "at"), [([-1, 1], 0), ([1, 0], 1), ([0, 2], 1)])
def test_taggings_out_of_order_are_not_lost(where, at):
    corpus = Corpus(documents_table(id=["a", "b"]), taggings_table(where, [0, 0]), ["t"])
    with pytest.raises(ValueError, match=f"tagging {at} names document {where[at]}, expected ascending"):
        list(corpus.blocks(1))


@pytest.mark.parametrize("count", [0, -3])
def test_counts_below_one_are_refused(tmp_path, count):
    corpus = Corpus(documents_table(id=list("abc")), taggings_table([0, 2], [0, 0], count=[1, count]), ["t"])
    with pytest.raises(ValueError, match=f"document 2: a tag count of {count}, expected at least 1"):
        corpus.save(tmp_path / "set", rows_per_group=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("document", [-1, 2])
def test_taggings_outside_their_block_are_refused(tmp_path, document):
    block = Block(documents_table(id=["a", "b"]), taggings_table([0, document], [0, 0]))
    message = rf"names document {document} of a block of 2, expected 0\.\.1"
    with pytest.raises(ValueError, match=message), write_dataset(tmp_path / "set", "corpus") as writer:
        append_block(writer, block)


def test_words_of_other_documents_are_refused(tmp_path):
    block = Block(documents_table(id=["a", "b"]), taggings_table([], []), sp.csr_matrix((1, 4)))
    with (
        pytest.raises(ValueError, match="counted words of 1 documents in a block of 2"),
        write_dataset(tmp_path / "set", "corpus") as writer,
    ):
        append_block(writer, block)


def test_stored_taggings_are_in_order(tmp_path):
    with write_dataset(tmp_path / "set", "corpus") as writer:
        for _ in range(2):
            append_block(writer, Block(documents_table(id=["a", "b"]), taggings_table([1, 0, 1], [2, 1, 0])))
    stored = Dataset.open(tmp_path / "set", "corpus").read("taggings")
    pairs = list(zip(stored["document"].to_pylist(), stored["tag"].to_pylist(), strict=True))
    assert pairs == [(0, 1), (1, 0), (1, 2), (2, 1), (3, 0), (3, 2)]


def test_tables_take_lists_and_arrays():
    listed = taggings_table([0, 1], [1, 0], ["a", "b"], [1, 2], [NOON, None])
    arrays = taggings_table(
        np.array([0, 1]),
        np.array([1, 0]),
        np.array(["a", "b"], object),
        np.array([1, 2]),
        np.array([NOON.replace(tzinfo=None), "NaT"], "datetime64[us]"),
    )
    assert listed.schema.equals(TAGGINGS)
    assert arrays.equals(listed)
    assert taggings_table([0, 1], [1, 0])["count"].to_pylist() == [1, 1]


def test_tags_are_added_over_users_and_chunks():
    part = taggings_table([5, 5, 6], [1, 1, 0], count=[2, 3, 1])
    matrix = tag_matrix(pa.concat_tables([part, part.slice(0, 1)]), 2, 3, first=5)
    np.testing.assert_array_equal(matrix.toarray(), [[0, 7, 0], [1, 0, 0]])
    assert matrix.nnz == 2
    assert matrix.has_canonical_format


@given(rows=rows_of_cells, cut=st.tuples(st.integers(0, 12), st.integers(0, 12)), chunks=st.integers(1, 4))
def test_lists_and_csr_are_the_same(rows, cut, chunks):
    matrix = csr_of(rows)
    words, values = lists_from_csr(matrix)
    words.validate(full=True)
    assert words.to_pylist() == [list(r) for r in rows]
    assert values.to_pylist() == [list(r.values()) for r in rows]

    start, length = cut
    sliced = csr_from_lists(words.slice(start, length), values.slice(start, length), WIDTH)
    np.testing.assert_array_equal(sliced.toarray(), matrix.toarray()[start : start + length])

    edges = np.linspace(0, len(rows), chunks + 1).astype(int)
    parts = [slice(a, b) for a, b in itertools.pairwise(edges)]
    chunked = [pa.chunked_array([column[p] for p in parts]) for column in (words, values)]
    np.testing.assert_array_equal(csr_from_lists(*chunked, WIDTH).toarray(), matrix.toarray())

    parts_of_csr = [lists_from_csr(matrix[p]) for p in parts]
    assert [row for w, _ in parts_of_csr for row in w.to_pylist()] == [list(r) for r in rows]


def test_lists_that_were_cut_apart_differently_still_fit():
    words = pa.array([[9], [0, 2], []], pa.list_(pa.int32())).slice(1)
    values = pa.array([[1.0, 2.0], []], pa.list_(pa.float32()))
    np.testing.assert_array_equal(csr_from_lists(words, values, 3).toarray(), [[1, 0, 2], [0, 0, 0]])


@pytest.mark.parametrize("bad", [-1, 3])
def test_ids_outside_the_width_are_named(bad):
    words = pa.array([[0, bad]], pa.list_(pa.int32()))
    values = pa.array([[1.0, 1.0]], pa.list_(pa.float32()))
    with pytest.raises(StoreError, match=rf"column id {bad} outside 0\.\.2"):
        csr_from_lists(words, values, 3)


@pytest.mark.parametrize(
    ("texts", "tags", "message"),
    [
        (["x", "y"], ["a b", "c"], "tags of document 0 are the text 'a b', expected a list such as"),
        (["x", "y"], [["a"], "cd"], "tags of document 1 are the text 'cd', expected a list such as"),
        (["x", "y"], "ab", "tags is the text 'ab', expected a list with an entry for each document"),
        ("xy", [["a"], ["b"]], "texts is the text 'xy', expected a list with an entry for each document"),
    ],
)
def test_a_text_is_no_list_of_tags_or_texts(texts, tags, message):
    with pytest.raises(ValueError, match=message):
        Corpus.from_texts(texts, tags)


def test_fields_are_stored_beside_documents(tmp_path):
    corpus = Corpus.from_texts(["a", {"title": "t", "names": "Ann"}, {"text": "c", "url": "u"}], [["x"], ["y"], []])
    corpus.save(tmp_path / "c", rows_per_group=2)
    loaded = Corpus.load(tmp_path / "c")
    assert loaded.fields.to_pylist() == [{"fields": []}, {"fields": [("names", "Ann")]}, {"fields": []}]
    assert loaded.documents["title"].to_pylist() == [None, "t", None]
    assert loaded.documents["url"].to_pylist() == [None, None, "u"]
    assert Dataset.open(tmp_path / "c", "corpus").n_row_groups("fields") == 2
    Corpus.from_texts(["a"], [["x"]]).save(tmp_path / "plain")
    assert not Dataset.open(tmp_path / "plain", "corpus").has("fields")


def test_blocks_all_have_fields_or_none(tmp_path):
    first = Block(documents_table(id=["a"]), taggings_table([], []), None, fields_table([{"n": "x"}]))
    second = Block(documents_table(id=["b"]), taggings_table([], []))
    wrong = Block(documents_table(id=["a", "b"]), taggings_table([], []), None, fields_table([{}]))
    for name, blocks, expected in (
        ("c", [first, second], "the block from document 1 on differs"),
        ("d", [second, first], "the block from document 1 on differs"),
        ("e", [wrong], "fields of 1 documents in a block of 2"),
    ):
        with pytest.raises(ValueError, match=expected), write_dataset(tmp_path / name, "corpus") as writer:
            [append_block(writer, block) for block in blocks]
