"""The tokeniser against Python's own `lower` and `re`."""

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.text.string_arrays import text_blocks
from tagcore.text.terms import TermTable
from tagcore.text.tokens import RUNS, TOKEN_PATTERN, WORDS, folding, tokenise
from tests.tagcore.text.strategies import texts


def words_of(array: pa.Array, *, lowercase: bool = True) -> list[list[str]]:
    table = TermTable()
    ids, indptr = tokenise(array, table, lowercase=lowercase, grow=True)
    words = table.strings(np.arange(len(table))).to_pylist()
    assert len(set(words)) == len(words)
    return [[words[i] for i in ids[a:b]] for a, b in pairwise(indptr)]


def expected(rows: list[str | None], *, lowercase: bool = True) -> list[list[str]]:
    folded = [(row or "").lower() if lowercase else row or "" for row in rows]
    return [re.findall(TOKEN_PATTERN, row) for row in folded]


@given(st.lists(texts | st.none()), st.booleans(), st.sampled_from([pa.string(), pa.large_string()]))
def test_words_are_those_of_the_pattern(rows, lowercase, kind):
    assert words_of(next(text_blocks(pa.array(rows, kind))), lowercase=lowercase) == expected(rows, lowercase=lowercase)


@pytest.mark.parametrize("lowercase", [True, False])
def test_every_character_of_the_first_planes(lowercase):
    codes = [code for code in range(0x21000) if not 0xD800 <= code < 0xE000]
    rows = [f"x{chr(code)}Y {chr(code)}{chr(code)}" for code in codes]
    assert words_of(pa.array(rows), lowercase=lowercase) == expected(rows, lowercase=lowercase)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize(
    ("rule", "takes"), [(WORDS, lambda one: one.isalnum() or one == "_"), (RUNS, lambda one: not one.isspace())]
)
def test_every_character_is_folded_as_python_does_or_left_to_it(rule, takes, lowercase):
    table = folding(lowercase, rule)
    for code in (*range(0xD800), *range(0xE000, table.size)):
        folded = chr(code).lower() if lowercase else chr(code)
        if len(folded) > 1 or (lowercase and folded == "σ" and code != ord("σ")):
            assert table[code] == -1
        else:
            assert table[code] == ((code and ord(folded)) or -1 if takes(folded) else 0)
    assert (table[0xD800:0xE000] == -1).all()


def test_folding_at_most_doubles_a_character():
    """The kernel's buffer for one word is twice the text."""
    table = folding(True)
    for code in np.flatnonzero(table > 0):
        assert len(chr(table[code]).encode()) <= 2 * len(chr(code).encode())


@given(st.lists(texts, min_size=1), st.data())
def test_slices(rows, data):
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    for kind in (pa.string(), pa.large_string()):
        assert words_of(pa.array(rows, kind)[start:stop]) == expected(rows[start:stop])


def test_a_null_hides_what_lies_below_it():
    array = pa.array(["one two", "three four", None])
    _, offsets, data = array.buffers()
    hidden = pa.Array.from_buffers(array.type, 3, [pa.py_buffer(b"\x05"), offsets, data])
    assert hidden.to_pylist() == ["one two", None, ""]
    assert words_of(next(text_blocks(hidden))) == [["one", "two"], [], []]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_other_kinds_of_strings(kind):
    rows = ["one two", None, "two"]
    array = pa.array(rows, pa.string()).cast(kind)
    assert words_of(next(text_blocks(array))) == expected(rows)


def test_long_words_and_many_words_make_the_table_grow():
    rows = ["x" * 1_000_000, "é" * 100_000, " ".join(f"w{i}" for i in range(50_000)), "x" * 999_999]
    assert words_of(pa.array(rows)) == expected(rows)


@given(st.lists(texts), st.lists(texts))
def test_a_table_that_may_not_grow_knows_no_new_words(known, rows):
    table = TermTable()
    tokenise(pa.array(known, pa.string()), table, grow=True)
    size = len(table)
    ids, _ = tokenise(pa.array(rows, pa.string()), table, grow=False)
    old = {word for row in expected(known) for word in row}
    assert [i >= 0 for i in ids] == [word in old for row in expected(rows) for word in row]
    assert len(table) == size


@pytest.mark.parametrize(
    "damage", [b"ab \xff cd", b"ab\xc3", b"\xe2\x82", b"\xc0\xafab", b"\xed\xa0\x80 x", b"\xf0\x9f\x99"]
)
def test_malformed_utf8_is_named(damage):
    offsets = np.array([0, 0, len(damage)], np.int32)
    array = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(damage)])
    with pytest.raises(ValueError, match="text 1 of the block is no valid UTF-8"):
        words_of(array)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ("one string", "string object received"),
        (["a", 3], "text 1: expected a str, got int 3"),
        (["a", float("nan")], "text 1: expected a str, got float nan"),
        (["a", b"\xff"], "text 1: expected a str, got bytes"),
        (["a", "b\ud800"], "text 1: no valid Unicode"),
        (pa.array([1, 2]), "expected an arrow array of strings, got one of int64"),
    ],
)
def test_what_is_no_text_is_named(bad, complaint):
    with pytest.raises(ValueError, match=complaint):
        list(text_blocks(bad))


def test_rows_are_numbered_over_the_blocks_of_an_iterable():
    with pytest.raises(ValueError, match="text 10005: "):
        list(text_blocks(text if text != 10_005 else 7 for text in ["a"] * 10_005 + [10_005]))
