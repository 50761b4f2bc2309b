"""Splits: fair, and the same while the corpus grows."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.corpus import documents_table
from tagcore.features.split import Split, uniform_hashes


def test_a_document_stays_on_its_side_while_the_corpus_grows():
    ids = [f"doc-{i}" for i in range(500)]
    early = Split(seed=3).held_out(documents_table(id=ids[:100]))
    late = Split(seed=3).held_out(documents_table(id=ids))
    np.testing.assert_array_equal(early, late[:100])


@given(st.lists(st.text(max_size=20), min_size=1, max_size=30), st.integers(0, 2**31), st.data())
def test_hashes_depend_on_the_id_alone(ids, seed, data):
    whole = uniform_hashes(pa.array(ids), seed)
    assert ((whole >= 0) & (whole < 1)).all()
    start = data.draw(st.integers(0, len(ids) - 1))
    np.testing.assert_array_equal(uniform_hashes(pa.chunked_array([ids]).slice(start), seed), whole[start:])
    assert all(whole[i] == whole[j] for i in range(len(ids)) for j in range(i) if ids[i] == ids[j])


def test_hashes_are_uniform_and_differ_by_seed():
    ids = pa.array([str(i) for i in range(20_000)])
    one, other = uniform_hashes(ids, 0), uniform_hashes(ids, 1)
    counts = np.histogram(one, bins=20, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-square, 19 degrees, p = 0.001
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03


def test_an_official_split_must_be_whole():
    table = documents_table(id=["a", "b", "c"], split=["train", None, "test"])
    with pytest.raises(ValueError, match="'b' has no official split"):
        Split("official").held_out(table)
    whole = documents_table(id=["a", "b"], split=["train", "test"])
    assert Split("official").held_out(whole).tolist() == [False, True]


@pytest.mark.parametrize("test", [0, 0.0, 1.0, -0.1, -3, 2.0])
def test_neither_a_share_nor_a_number_of_documents_is_refused(test):
    with pytest.raises(ValueError, match="a share between 0 and 1 or a number of documents"):
        Split(test=test)


@pytest.mark.parametrize("setting", ["train_documents", "test_documents"])
def test_a_side_keeps_at_least_one_document(setting):
    with pytest.raises(ValueError, match=f"{setting} must be at least 1, got 0"):
        Split(**{setting: 0})


def sides(split, table, parts=3):
    """learnt from and measured on, as a corpus of several row groups sees them."""
    step = -(-table.num_rows // parts)
    cuts = split.cuts(lambda: (table.slice(start, step) for start in range(0, table.num_rows, step)))
    held_out, left_out = split.held_out(table, cuts), split.left_out(table, cuts)
    assert not (held_out & left_out).any()
    return ~held_out & ~left_out, held_out


@given(st.integers(1, 49), st.integers(0, 5))
def test_a_number_of_test_documents_is_those_of_lowest_hash(number, seed):
    table = documents_table(id=[f"doc {i}" for i in range(50)])
    learnt, measured = sides(Split(test=number, seed=seed), table)
    expected = np.argsort(uniform_hashes(table["id"], seed))[:number]
    assert set(np.flatnonzero(measured)) == set(expected)
    assert (learnt == ~measured).all()


@given(
    st.sampled_from(["official", "drawn"]), st.integers(1, 60), st.integers(1, 40), st.sampled_from([0.0, 0.3]),
    st.integers(0, 3),
)  # fmt: skip
def test_so_many_of_each_side_are_kept_and_fewer_are_a_part_of_more(kind, train, test, validation, seed):
    table = documents_table(id=[str(i) for i in range(200)], split=["test", "train"] * 100)
    whole = Split(kind, 80, seed)
    everyone, tested = sides(whole, table)
    less = Split(kind, 80, seed, validation, train, test)
    learnt, measured = sides(less, table)
    if validation:
        assert not (measured & tested).any()
        assert (learnt | measured).sum() == train
    else:
        assert (learnt.sum(), measured.sum()) == (train, test)
        assert not (measured & ~tested).any()
    assert not (learnt & ~everyone).any()
    more, _ = sides(Split(kind, 80, seed, validation, train + 5, test + 5), table)
    assert not (learnt & ~more).any()


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (Split(test=11), "split.test = 11: there are 10 documents"),
        (Split(test=4, train_documents=7), "split.train_documents = 7: there are 6 documents"),
        (Split(test=4, test_documents=5), "split.test_documents = 5: there are 4 documents"),
    ],
)
def test_more_documents_than_there_are_is_refused(split, message):
    with pytest.raises(ValueError, match=message):
        sides(split, documents_table(id=[str(i) for i in range(10)]))


def test_numbers_need_a_corpus():
    with pytest.raises(ValueError, match="needs the cuts of its corpus"):
        Split(test=3).held_out(documents_table(id=["a"]))


@pytest.mark.parametrize("kind", ["official", "drawn"])
def test_validation_documents_come_from_the_training_side_alone(kind):
    sides = ["test" if i % 3 == 0 else "train" for i in range(300)]
    table = documents_table(id=[str(i) for i in range(300)], split=sides)
    final, search = Split(kind, 0.3), Split(kind, 0.3, validation=0.25)
    tested, held_out, left_out = final.held_out(table), search.held_out(table), search.left_out(table)
    np.testing.assert_array_equal(left_out, tested)
    assert not (held_out & tested).any()
    assert 0.15 < held_out.sum() / (~tested).sum() < 0.35
    assert not final.left_out(table).any()


@pytest.mark.parametrize("kind", ["official", "drawn"])
def test_validation_documents_of_one_seed_are_no_ones_test(kind):
    table = documents_table(id=[str(i) for i in range(4000)], split=["train"] * 4000)
    validated = {seed: Split(kind, 0.3, seed, validation=0.2).held_out(table) for seed in range(4)}
    for seed, tested in ((seed, Split("drawn", 0.3, seed).held_out(table)) for seed in range(6)):
        for other, validation in validated.items():
            if other != seed or kind == "official":
                assert (validation & tested).sum() / validation.sum() == pytest.approx(0.3, abs=0.06)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_may_be_anothers_hash_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be from 0 to below 4294967296"):
        Split(seed=seed)


def test_labels_of_validation_documents_are_hidden_as_those_that_are_learnt_from():
    tags = sp.csr_matrix(np.ones((500, 20), np.int64))
    documents = documents_table(id=[f"d{i}" for i in range(500)])
    search = Split(revealed=0.2, seed=3, validation=0.25)
    held_out = search.held_out(documents)
    shown = search.revealed_tags(documents, tags, held_out)
    for side in (held_out, ~held_out):
        assert shown[side].nnz / tags[side].nnz == pytest.approx(0.2, abs=0.03)
    final = Split(revealed=0.2, seed=3)
    learnt = final.revealed_tags(documents, tags, np.zeros(500, bool))
    assert (shown != learnt).nnz == 0  # the search knows the labels that the final model learns from, and no other


def test_hidden_labels_are_drawn_by_document_and_tag():
    rng = np.random.default_rng(0)
    tags = sp.csr_matrix((rng.random((400, 30)) < 0.3).astype(np.int64) * 3)
    documents = pa.table({"id": [f"d{i}" for i in range(400)]})
    held_out = np.arange(400) % 4 == 0
    revealed = Split(revealed=0.2, seed=7).revealed_tags(documents, tags, held_out)
    assert (revealed[held_out] != tags[held_out]).nnz == 0
    assert revealed[~held_out].nnz / tags[~held_out].nnz == pytest.approx(0.2, abs=0.03)
    assert set(revealed.data) == {3}
    more = Split(revealed=0.5, seed=7).revealed_tags(documents, tags, held_out)
    assert (more.multiply(revealed) > 0).nnz == revealed.nnz  # fewer are a part of more
    late = slice(300, 400)
    again = Split(revealed=0.2, seed=7).revealed_tags(documents[late], tags[late], held_out[late])
    assert (again != revealed[late]).nnz == 0
    assert Split().revealed_tags(documents, tags, held_out) is tags
    with pytest.raises(ValueError, match="revealed must be a share"):
        Split(revealed=0.0)
