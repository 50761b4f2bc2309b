"""Character n-grams within words against scikit-learn's `char_wb`."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from tagcore.text import Vectoriser
from tagcore.text.characters import character_grams
from tagcore.text.terms import TermTable
from tests.tagcore.text.peers import assert_same_rows, assert_same_vectoriser
from tests.tagcore.text.strategies import documents, texts

RANGES = st.sampled_from([(1, 1), (1, 3), (2, 4), (3, 3), (3, 5), (4, 20)])


def grams_of(rows, ngram_range, *, lowercase=True):
    table = TermTable()
    ids, indptr = character_grams(pa.array(rows, pa.string()), table, ngram_range, lowercase=lowercase, grow=True)
    grams = np.array(table.strings(np.arange(len(table))).to_pylist(), object)
    return [sorted(grams[ids[a:b]]) for a, b in pairwise(indptr)]


def expected(rows, ngram_range, *, lowercase=True):
    analyse = CountVectorizer(analyzer="char_wb", ngram_range=ngram_range, lowercase=lowercase).build_analyzer()
    return [sorted(analyse(row)) for row in rows]


@given(st.lists(texts, max_size=8), RANGES, st.booleans())
def test_grams_of_odd_texts(rows, ngram_range, lowercase):
    assert grams_of(rows, ngram_range, lowercase=lowercase) == expected(rows, ngram_range, lowercase=lowercase)


def test_every_character_of_the_first_planes():
    codes = [code for code in range(0x21000) if not 0xD800 <= code < 0xE000]
    rows = [f"x{chr(code)}Y{chr(code)}" for code in codes]
    assert grams_of(rows, (2, 2)) == expected(rows, (2, 2))


@given(documents, documents, RANGES, st.sampled_from([{}, {"min_df": 2}, {"max_features": 5}, {"binary": True}]))
def test_rows_are_scikit_learns(learn, apply, ngram_range, params):
    assert_same_vectoriser(Vectoriser(analyzer="char_wb", ngram_range=ngram_range, **params), learn, apply)


def test_many_long_words_make_the_table_grow():
    rows = [" ".join(f"{i:07d}é{i * i:x}" for i in range(9_000)), "y" * 70_000, "y"]
    for ngram_range in ((3, 5), (9, 9)):
        assert grams_of(rows, ngram_range) == expected(rows, ngram_range)


def test_fields_have_grams_of_their_own():
    documents = [{"title": "apple", "text": "pear"}, {"title": "pear", "text": "apple"}]
    params = {"analyzer": "char_wb", "ngram_range": (3, 3), "use_idf": False, "norm": None}
    rows = Vectoriser(fields={"title": 2, "text": 1}, own_columns=["title"], **params).fit(documents)
    assert "title: ap" in rows.vocabulary_
    got = rows.transform(documents).toarray()
    assert got[:, rows.vocabulary_["title: ap"]].tolist() == [2, 0]
    assert got[:, rows.vocabulary_[" ap"]].tolist() == [0, 1]


def test_the_fast_path_is_silent_whatever_the_pattern_of_words(recwarn):
    ours = Vectoriser(analyzer="char_wb", ngram_range=(2, 3), token_pattern=r"\w+")
    learn = ["one two", "Two three"]
    peer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), dtype=np.float32)
    assert_same_rows(ours.fit_transform(learn), peer.fit_transform(learn))
    assert not recwarn.list


@pytest.mark.parametrize("name", ["stop_words", "stem"])
def test_what_is_of_words_is_refused(name):
    with pytest.raises(ValueError, match=f"{name}='english': expected analyzer='word', got 'char_wb'"):
        Vectoriser(analyzer="char_wb", **{name: "english"}).fit(["a"])
