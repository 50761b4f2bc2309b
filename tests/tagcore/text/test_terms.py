"""The tables of strings and of n-grams against dictionaries."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tagcore.text.ngrams import GramTable
from tagcore.text.terms import TermTable
from tagcore.text.tokens import Sequences

# zero bytes pad the words of the table, and lengths around 8 change how a string is compared
strings = st.text(alphabet="ab\x00é", max_size=20)


@given(st.lists(st.lists(strings, max_size=30), max_size=5))
def test_ids_are_those_of_a_dictionary(blocks):
    table, known = TermTable(8), {}
    for block in blocks:
        wanted = [known.setdefault(string, len(known)) for string in block]
        assert table.add(pa.array(block, pa.large_string())).tolist() == wanted
    assert table.strings(np.arange(len(table))).to_pylist() == list(known)
    assert table.find(pa.array(["a", "new", "b\x00"], pa.string())).tolist() == [
        known.get(string, -1) for string in ("a", "new", "b\x00")
    ]


def test_a_table_of_many_strings_stays_half_empty():
    table = TermTable(8)
    block = pa.array([f"{i:x}" for i in range(100_000)])
    assert table.add(block).tolist() == list(range(100_000))
    assert table.find(block).tolist() == list(range(100_000))
    _, slots, *_ = table.arrays
    assert np.count_nonzero(slots[:, 1]) == 100_000 <= len(slots) // 2


def test_a_copy_grows_on_its_own():
    table = TermTable(8)
    table.add(pa.array(["a", "b"]))
    copy = table.copy()
    assert copy.add(pa.array(["b", *map(str, range(1000))])).tolist() == list(range(1, 1002))
    assert len(table) == 2
    assert table.find(pa.array(["a", "b", "0"])).tolist() == [0, 1, -1]
    assert table.add(pa.array(["0"])).tolist() == [2]


def test_every_table_hashes_in_its_own_way():
    """So no list of words collides in all of them."""
    one, other = TermTable(), TermTable()
    assert one.arrays[0].tolist() != other.arrays[0].tolist()


def test_long_strings_of_one_hash_are_told_apart():
    """A hash of two words is no proof: entries are compared."""
    table = TermTable()
    table.add(pa.array(["a" * 16]))
    *_, pool, _ = table.arrays
    pool[1] += np.uint64(1)  # the stored string is another one now, with the hash of the first
    assert table.find(pa.array(["a" * 16])).tolist() == [-1]


@given(st.lists(st.lists(st.integers(0, 4), max_size=8), max_size=6), st.integers(1, 3), st.integers(0, 2))
def test_grams_are_those_of_slices(rows, shortest, more):
    words = TermTable()
    words.add(pa.array(["v", "w", "x", "y", "z"]))
    sequences = Sequences(np.array([word for row in rows for word in row], np.int32), np.cumsum([0, *map(len, rows)]))
    table = GramTable()
    ids, indptr = table.extract(sequences, (shortest, shortest + more), grow=True)
    names = table.strings(ids, words).to_pylist()
    for i, row in enumerate(rows):
        wanted = sorted(
            " ".join("vwxyz"[word] for word in row[a : a + n])
            for n in range(shortest, shortest + more + 1)
            for a in range(len(row) - n + 1)
        )
        assert sorted(names[indptr[i] : indptr[i + 1]]) == wanted


def test_many_grams_make_the_table_grow():
    words = Sequences(np.arange(20_000, dtype=np.int32), np.array([0, 20_000]))
    table = GramTable()
    ids, _ = table.extract(words, (2, 2), grow=True)
    assert len(set(ids.tolist())) == 19_999
    again, _ = table.extract(words, (2, 2), grow=False)
    assert again.tolist() == ids.tolist()
