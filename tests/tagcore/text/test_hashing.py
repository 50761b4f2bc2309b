"""Hashed columns against scikit-learn's HashingVectorizer, and a cap by document frequency against its parts."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.utils.murmurhash import murmurhash3_bytes_u32

from tagcore.kernels.text.hashing import columns_of, murmur
from tagcore.text import Vectoriser
from tests.tagcore.text.peers import assert_same_rows
from tests.tagcore.text.strategies import documents, texts

KINDS = st.sampled_from(
    [
        {},
        {"ngram_range": (1, 2)},
        {"ngram_range": (2, 2), "stop_words": ["ab", "aa"]},
        {"analyzer": "char_wb", "ngram_range": (1, 3)},
        {"lowercase": False, "binary": True},
    ]
)


@given(st.binary(max_size=40), st.integers(0, 3))
def test_the_hash_is_murmur(data, begin):
    array = np.frombuffer(data, np.uint8)
    begin = min(begin, len(data))
    assert murmur(array, begin, len(data)) == murmurhash3_bytes_u32(data[begin:], 0)


def test_the_one_hash_without_a_positive_counterpart():
    """The four bytes whose hash is -2**31, by inverting it: scikit-learn's rule for it is abs(-2**31) % n."""
    data = np.frombuffer(b"\x55\x07\x6f\x83", np.uint8)
    assert murmur(data, 0, 4) == 2**31
    for n_columns in (7, 1000, 2**20, 2**31 - 1):
        assert columns_of(data, np.array([0, 4]), n_columns).tolist() == [2**31 % n_columns]


@given(st.lists(texts, min_size=1, max_size=8), KINDS, st.sampled_from([1, 7, 1000, 2**12]))
def test_columns_are_scikit_learns(rows, params, n_columns):
    peer = HashingVectorizer(n_features=n_columns, alternate_sign=False, dtype=np.float32, **params)
    ours = Vectoriser(hashed_columns=n_columns, use_idf=False, **params).fit(rows)
    assert_same_rows(ours.transform(rows), peer.transform(rows))


@given(documents, documents, KINDS)
def test_idf_of_columns(learn, apply, params):
    counts = HashingVectorizer(n_features=50, alternate_sign=False, norm=None, dtype=np.float64, **params)
    idf = TfidfTransformer().fit(counts.transform(learn))
    ours = Vectoriser(hashed_columns=50, dtype=np.float64, **params)
    assert_same_rows(ours.fit_transform(learn), idf.transform(counts.transform(learn)))
    parts = [Vectoriser(hashed_columns=50, **params).count_terms([pa.array([text])]) for text in learn]
    in_parts = Vectoriser(hashed_columns=50, dtype=np.float64, **params).fit_frequencies(reversed(parts))
    assert in_parts.idf_.tolist() == ours.idf_.tolist()
    assert_same_rows(in_parts.transform(apply), idf.transform(counts.transform(apply)))


def test_fields_stems_and_names():
    documents = [{"title": "apples", "text": "apple apple"}]
    options = {"hashed_columns": 2**16, "use_idf": False, "norm": None, "stem": "english"}
    ours = Vectoriser(fields={"title": 3, "text": 1}, own_columns=["title"], **options).fit(documents)
    hashed = HashingVectorizer(n_features=2**16, alternate_sign=False, norm=None, analyzer=str.split)
    wanted = 3 * hashed.transform(["title:appl"]) + 2 * hashed.transform(["appl"])
    assert_same_rows(ours.transform(documents), wanted.astype(np.float32))
    assert ours.terms_[[0, 65_535]].tolist() == ["#0", "#65535"]


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"hashed_columns": 0}, "hashed_columns=0: expected None or a number from 1"),
        ({"hashed_columns": 2**31}, "hashed_columns=2147483648: "),
        ({"hashed_columns": 8, "min_df": 2}, "min_df=2: expected 1 with hashed_columns"),
        ({"hashed_columns": 8, "max_features": 3}, "max_features=3: expected None with hashed_columns"),
        ({"hashed_columns": 8, "vocabulary": ["a"]}, r"vocabulary=\['a'\]: expected None with hashed_columns"),
        ({"hashed_columns": 8, "smooth_idf": False}, "smooth_idf=False: expected True with hashed_columns"),
        ({"max_features_by": "idf"}, "max_features_by='idf': expected 'tf'"),
    ],
)
def test_what_does_not_go_together_is_named(params, complaint):
    with pytest.raises(ValueError, match=complaint):
        Vectoriser(**params).fit(["one text"])


def test_counted_words_have_columns_already():
    with pytest.raises(ValueError, match="counts take their terms from `names`: expected hashed_columns=None"):
        Vectoriser(hashed_columns=4).fit_counts([sp.csr_matrix([[1.0, 2]])], ["a", "b"])


@given(documents, st.integers(1, 6), st.sampled_from([(1, 1), (1, 2)]), st.booleans())
def test_the_terms_of_most_documents_are_kept(learn, limit, ngram_range, in_parts):
    by_documents = CountVectorizer(binary=True, max_features=limit, ngram_range=ngram_range)
    ours = Vectoriser(max_features=limit, max_features_by="df", ngram_range=ngram_range)
    try:
        terms = by_documents.fit(learn).get_feature_names_out().tolist()
    except ValueError:
        return
    peer = TfidfVectorizer(vocabulary=terms, ngram_range=ngram_range, dtype=np.float32)
    ours.fit_frequencies([ours.count_terms([learn])]) if in_parts else ours.fit(learn)
    assert ours.terms_.tolist() == terms
    assert_same_rows(ours.transform(learn), peer.fit_transform(learn))
