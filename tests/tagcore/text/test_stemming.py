"""Stemmed terms against a plain Python analyser inside scikit-learn's vectoriser."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.text import Vectoriser
from tagcore.text.parameters import PythonAnalyserWarning
from tests.tagcore.text.peers import assert_same_vectoriser

WORDS = ("running", "runs", "runner", "Cats", "cat", "the", "not", "happily", "happiness", "ÉTÉS", "été", "ΛΌΓΟΣ", "x")
documents = st.lists(st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join), min_size=1, max_size=8)


@given(
    documents,
    documents,
    st.sampled_from(["english", "porter", "french", "russian"]),
    st.sampled_from([None, "english", ["runs", "été"]]),
    st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    st.sampled_from([{}, {"min_df": 2}, {"max_features": 3}, {"binary": True}]),
)
def test_stems_are_counted_instead_of_words(learn, apply, language, stop_words, ngram_range, params):
    ours = Vectoriser(stem=language, stop_words=stop_words, ngram_range=ngram_range, dtype=np.float64, **params)
    assert_same_vectoriser(ours, learn, apply)


def test_a_word_never_seen_is_known_by_its_stem():
    ours = Vectoriser(stem="english").fit(["he runs", "she walks"])
    assert ours.terms_.tolist() == ["he", "run", "she", "walk"]
    assert ours.transform(["running"]).indices.tolist() == [1]


def test_stop_words_are_words_not_stems():
    """`running` stays although its stem is that of a stop word."""
    ours = Vectoriser(stem="english", stop_words=["runs"]).fit(["runs running"])
    assert ours.terms_.tolist() == ["run"]
    assert ours.df_.tolist() == [1]
    assert ours.transform(["runs"]).nnz == 0


def test_stemming_with_another_pattern_falls_back_to_python():
    ours = Vectoriser(stem="english", token_pattern=r"\w+", ngram_range=(1, 2), stop_words=["he"])
    with pytest.warns(PythonAnalyserWarning):
        ours.fit(["he runs a mile"])
    assert ours.terms_.tolist() == ["a", "a mile", "mile", "run", "run a"]
    assert ours.transform(["Running a mile"]).nnz == 5
