"""Bags of words that come counted, against the same words as texts and against brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import normalize

from tagcore.text import Vectoriser
from tests.tagcore.text.peers import assert_same_rows
from tests.tagcore.text.strategies import documents


@given(
    documents,
    st.fixed_dictionaries(
        {"dtype": st.sampled_from([np.float32, np.float64])},
        optional={
            "min_df": st.sampled_from([1, 2, 0.3]),
            "max_df": st.sampled_from([4, 0.9]),
            "max_features": st.integers(1, 5),
            "sublinear_tf": st.booleans(),
            "norm": st.sampled_from(["l1", None]),
            "use_idf": st.booleans(),
            "binary": st.booleans(),
        },
    ),
    st.integers(1, 4),
)
def test_counted_words_weigh_the_same_as_texts(texts, params, size):
    theirs, counter = TfidfVectorizer(**params), CountVectorizer()
    try:
        wanted = theirs.fit_transform(texts)
    except ValueError:
        return
    counts = sp.csr_matrix(counter.fit_transform(texts))
    blocks = [counts[i : i + size] for i in range(0, len(texts), size)]
    ours = Vectoriser(**params).fit_counts(iter(blocks), counter.get_feature_names_out())
    assert ours.terms_.tolist() == theirs.get_feature_names_out().tolist()
    assert_same_rows(ours.transform_counts(counts), wanted)
    # the names are words, so raw text goes in as well
    assert_same_rows(ours.transform(texts), wanted)


def test_names_keep_their_order_and_real_values_count():
    counts = sp.csr_matrix([[0.5, 0, 2.0, 0], [1.5, 0, 0, 0], [0, 0, 1.0, 0]])
    ours = Vectoriser(dtype=np.float64, norm="l1").fit_counts([counts], ["zebra", "never", "ape", "none"])
    assert ours.terms_.tolist() == ["zebra", "ape"]
    assert ours.columns_.tolist() == [0, 2]
    assert ours.df_.tolist() == [2, 2]
    theirs = TfidfTransformer(norm="l1").fit_transform(counts[:, [0, 2]])
    assert_same_rows(ours.transform_counts(counts), theirs)


def test_zeros_duplicates_and_disorder_do_not_matter():
    tidy = sp.csr_matrix([[0, 3.0, 1.0], [2.0, 0, 0]])
    untidy = sp.csr_matrix(
        (np.array([1.0, 1.0, 2.0, 0.0, 2.0]), np.array([2, 1, 1, 0, 0]), np.array([0, 4, 5])), shape=(2, 3)
    )
    names = ["a", "b", "c"]
    one, other = (Vectoriser().fit_counts([rows], names) for rows in (tidy, untidy))
    assert one.df_.tolist() == other.df_.tolist() == [1, 1, 1]
    assert_same_rows(other.transform_counts(untidy), one.transform_counts(tidy))
    assert untidy.indices.tolist() == [2, 1, 1, 0, 0]


def test_counts_after_a_fit_on_texts_have_the_columns_of_its_terms():
    ours = Vectoriser().fit(["aa bb", "bb cc cc"])
    assert_same_rows(ours.transform_counts(sp.csr_matrix([[0, 1, 2]])), ours.transform(["bb cc cc"]))


@pytest.mark.parametrize(
    ("blocks", "names", "complaint"),
    [
        ([[[1, 0]], [[1, 0], [0, -2]]], "ab", "row 2, column 1: count -2, expected a number ≥ 0"),
        ([[[1.0, np.nan]]], "ab", "row 0, column 1: count nan"),
        ([[[1.0, np.inf]]], "ab", "row 0, column 1: count inf"),
        ([[[1, 0]]], "abc", "expected counts of 3 columns, got 2"),
        ([[[1, 0]]], "aa", "two columns have one name: 'a' at 0 and 1"),
        ([], "ab", r"empty vocabulary.*\(0 documents"),
        ([[[0, 0]]], "ab", r"empty vocabulary.*\(1 documents"),
    ],
)
def test_wrong_counts_are_named(blocks, names, complaint):
    with pytest.raises(ValueError, match=complaint):
        Vectoriser().fit_counts(map(sp.csr_matrix, blocks), list(names))


def test_a_dense_block_is_refused():
    with pytest.raises(ValueError, match="expected a sparse matrix of counts, got ndarray"):
        Vectoriser().fit_counts([np.ones((2, 2))], ["a", "b"])


def test_a_vocabulary_and_counts_exclude_each_other():
    with pytest.raises(ValueError, match="expected vocabulary=None"):
        Vectoriser(vocabulary=["a"]).fit_counts([sp.csr_matrix([[1]])], ["a"])


eighths = st.integers(-99, 99).map(lambda i: i / 8)
PLAIN = {"use_idf": False, "sublinear_tf": False, "binary": False}


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 6), st.just(4)), elements=eighths),
    st.sampled_from(["l1", "l2", None]),
)
def test_measured_values_below_zero_are_kept_without_weighting(values, norm):
    kept = np.flatnonzero(values.any(axis=0))
    if not kept.size:
        return
    ours = Vectoriser(norm=norm, dtype=np.float64, **PLAIN).fit_counts([sp.csr_matrix(values)], "abcd")
    assert ours.df_.tolist() == (values != 0).sum(axis=0)[kept].tolist()
    wanted = values[:, kept].astype(np.float64)
    if norm:
        wanted = normalize(wanted, norm)
    np.testing.assert_allclose(ours.transform_counts(sp.csr_matrix(values)).toarray(), wanted, rtol=1e-12)


def test_the_largest_columns_are_kept_whatever_their_sign():
    rows = sp.csr_matrix([[-5.0, 1.0, 0.0], [-4.0, 1.0, 2.0]])
    assert Vectoriser(max_features=1, **PLAIN).fit_counts([rows], "abc").terms_.tolist() == ["a"]


@pytest.mark.parametrize("weighting", PLAIN)
def test_measured_values_below_zero_have_no_weight_as_counts(weighting):
    rows = sp.csr_matrix([[1.0, -2.0]])
    needed = "row 0, column 1: count -2.0, .*use_idf=False, sublinear_tf=False and binary=False"
    with pytest.raises(ValueError, match=needed):
        Vectoriser(**PLAIN | {weighting: True}).fit_counts([rows], "ab")
    fitted = Vectoriser(**PLAIN | {weighting: True}).fit_counts([abs(rows)], "ab")
    with pytest.raises(ValueError, match=needed):
        fitted.transform_counts(rows)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused_under_any_settings(value):
    with pytest.raises(ValueError, match=r"row 0, column 1: count .*expected a number ≥ 0$"):
        Vectoriser(**PLAIN).fit_counts([sp.csr_matrix([[1.0, value]])], "ab")
