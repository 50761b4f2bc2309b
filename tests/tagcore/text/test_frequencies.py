"""Terms counted in parts, by vectorisers made of plain arrays, give the vocabulary of the whole to the last bit."""

import itertools
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.text import Vectoriser
from tagcore.text.parameters import PythonAnalyserWarning
from tests.tagcore.text.strategies import documents, texts

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "min_df": st.sampled_from([1, 2, 0.3]),
        "max_df": st.sampled_from([3, 0.8]),
        "max_features": st.integers(1, 6),
        "ngram_range": st.sampled_from([(1, 2), (2, 3)]),
        "stem": st.sampled_from(["english", "german"]),
        "stop_words": st.sampled_from(["english", ["ab", "ba"]]),
        "vocabulary": st.sampled_from([["ab", "never", "ba"], {"bb": 1, "aa": 0}]),
        "binary": st.booleans(),
        "smooth_idf": st.booleans(),
        "use_idf": st.booleans(),
        "dtype": st.sampled_from([np.float32, np.float64]),
        "lowercase": st.booleans(),
    },
)


def state(vectoriser):
    """All that a vectoriser has learnt, as bytes."""
    arrays = vectoriser.df_, vectoriser.idf_, vectoriser.columns_
    numbers = vectoriser.n_documents_, vectoriser.n_features_in_
    return vectoriser.terms_.tolist(), [(a.dtype, a.tobytes()) for a in arrays], numbers


def remade(vectoriser):
    """As another process gets it."""
    return Vectoriser.from_parts(vectoriser.parts())


def assert_same_fit(fit, expected):
    """`fit` learns what the fitted vectoriser or the error is that `expected` ends in."""
    try:
        whole = expected()
    except ValueError as error:
        with pytest.raises(ValueError, match=f"^{re.escape(str(error))}$"):
            fit()
        return
    assert state(fit()) == state(whole)


@given(documents | st.lists(texts, max_size=9), SETTINGS, st.lists(st.integers(0, 12), max_size=4), st.randoms())
def test_texts_counted_in_parts_are_those_of_the_whole(learn, params, cuts, random):
    edges = [0, *sorted(min(cut, len(learn)) for cut in cuts), len(learn)]
    runs = [learn[a:b] for a, b in itertools.pairwise(edges)]
    random.shuffle(runs)

    def by_parts():
        return Vectoriser(**params).fit_frequencies(remade(Vectoriser(**params)).count_terms([run]) for run in runs)

    assert_same_fit(by_parts, lambda: Vectoriser(**params).fit_blocks([pa.array(learn, pa.string())]))


reals = st.lists(st.sampled_from([0, 0, 1, 2.5, 0.1, 1 / 3, 1e9]), min_size=4, max_size=4)


@given(st.lists(st.lists(reals, min_size=1, max_size=3), min_size=1, max_size=6), SETTINGS)
def test_counts_counted_in_parts_are_those_of_the_whole(blocks, params):
    params.pop("vocabulary", None)
    rows = [sp.csr_matrix(np.array(block)) for block in blocks]

    def by_parts():
        counts = (remade(Vectoriser(**params)).count_bags(block, 4) for block in rows)
        return Vectoriser(**params).fit_frequencies(counts, "dabc")

    assert_same_fit(by_parts, lambda: Vectoriser(**params).fit_counts(rows, "dabc"))


@given(st.lists(st.lists(reals, min_size=1, max_size=3), min_size=1, max_size=6), st.integers(1, 4))
def test_real_values_are_summed_block_by_block(blocks, kept):
    dense = [np.array(block) for block in blocks]
    df = sum(np.count_nonzero(block, axis=0) for block in dense)
    tf = sum((sum(block, np.zeros(4)) for block in dense), np.zeros(4))
    columns = np.flatnonzero(df)
    if not columns.size:
        return
    largest = (-tf[columns]).argsort()[:kept]
    fitted = Vectoriser(max_features=kept, dtype=np.float64).fit_frequencies(
        (Vectoriser().count_bags(sp.csr_matrix(block), 4) for block in dense), "dabc"
    )
    assert fitted.columns_.tolist() == sorted(columns[largest])
    assert fitted.df_.tolist() == df[fitted.columns_].tolist()


def test_only_some_rows_are_counted_but_all_are_checked():
    counts = sp.csr_matrix([[1.0, 0, 2], [0, 3, 0], [4, 0, 0]])
    frequencies = Vectoriser().count_bags(counts, 3, np.array([True, False, True]))
    assert {name: values.tolist() for name, values in frequencies.items()} == {
        "ids": [0, 2],
        "df": [2, 1],
        "tf": [5.0, 2.0],
        "n_documents": 2,
    }
    counts.data[2] = -1
    with pytest.raises(ValueError, match="row 11, column 1: count -1"):
        Vectoriser().count_bags(counts, 3, np.array([True, False, True]), first=10)


@given(documents, SETTINGS, documents)
def test_a_vectoriser_made_of_its_parts_is_the_same(learn, params, apply):
    try:
        fitted = Vectoriser(**params).fit(learn)
    except ValueError:
        return
    other = remade(fitted)
    assert state(other) == state(fitted)
    one, two = other.transform(apply), fitted.transform(apply)
    assert (one.data.tobytes(), one.indices.tolist()) == (two.data.tobytes(), two.indices.tolist())
    assert_same_fit(lambda: other.fit(apply + learn), lambda: Vectoriser(**params).fit(apply + learn))


def test_parts_are_plain():
    fitted = Vectoriser(vocabulary={"bb": 1, "aa": 0}, stop_words=["cc"]).fit(["aa bb", "aa cc"])
    parts = fitted.parts()
    assert parts["params"]["vocabulary"] is None
    assert parts["given"]
    assert all(isinstance(value, np.ndarray | int) for value in (*parts["terms"], *parts["fitted"]))


def test_python_analysis_is_told_once_and_not_by_those_who_count():
    params = {"token_pattern": r"\w+"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = [Vectoriser(**params).count_terms([["a b", "b"]]) for _ in range(3)]
    with pytest.warns(PythonAnalyserWarning, match="token_pattern") as warned:
        fitted = Vectoriser(**params).fit_frequencies(counts)
    assert len(warned) == 1
    assert (fitted.terms_.tolist(), fitted.df_.tolist(), fitted.n_documents_) == (["a", "b"], [3, 6], 6)
