"""Splits: fair, and the same while the corpus grows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.corpus import documents_table
from tagcore.split import Split, shares


def test_a_document_stays_on_its_side_while_the_corpus_grows():
    ids = [f"doc-{i}" for i in range(500)]
    early = Split(seed=3).held_out(documents_table(id=ids[:100]))
    late = Split(seed=3).held_out(documents_table(id=ids))
    np.testing.assert_array_equal(early, late[:100])


@given(st.lists(st.text(max_size=20), min_size=1, max_size=30), st.integers(0, 2**31), st.data())
def test_shares_depend_on_the_id_alone(ids, seed, data):
    whole = shares(pa.array(ids), seed)
    assert ((whole >= 0) & (whole < 1)).all()
    start = data.draw(st.integers(0, len(ids) - 1))
    np.testing.assert_array_equal(shares(pa.chunked_array([ids]).slice(start), seed), whole[start:])
    assert all(whole[i] == whole[j] for i in range(len(ids)) for j in range(i) if ids[i] == ids[j])


def test_shares_are_uniform_and_differ_by_seed():
    ids = pa.array([str(i) for i in range(20_000)])
    one, other = shares(ids, 0), shares(ids, 1)
    counts = np.histogram(one, bins=20, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-square, 19 degrees, p = 0.001
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03


def test_an_official_split_must_be_whole():
    table = documents_table(id=["a", "b", "c"], split=["train", None, "test"])
    with pytest.raises(ValueError, match="'b' has no official split"):
        Split("official").held_out(table)
    whole = documents_table(id=["a", "b"], split=["train", "test"])
    assert Split("official").held_out(whole).tolist() == [False, True]


@pytest.mark.parametrize("test", [0, 1, -0.1, 2])
def test_a_share_outside_0_and_1_is_refused(test):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Split(test=test)


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
