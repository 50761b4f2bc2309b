"""The vectoriser against scikit-learn's over odd texts and settings."""

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from tagcore.text import Vectoriser
from tagcore.text.parameters import PythonAnalyserWarning
from tests.bench.bench_tfidf import read_texts
from tests.tagcore.text.peers import assert_same_rows, assert_same_vectoriser
from tests.tagcore.text.strategies import documents, texts

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

LETTERS = ["the cat sat on the mat", "The dog and the cat", "", "a dog's day ΑΣ", "cats, dogs; mats", "sat sat sat"]

weightings = st.fixed_dictionaries(
    {},
    optional={
        "norm": st.sampled_from(["l1", "l2", None]),
        "use_idf": st.booleans(),
        "smooth_idf": st.booleans(),
        "sublinear_tf": st.booleans(),
        "binary": st.booleans(),
        "dtype": st.sampled_from([np.float32, np.float64]),
    },
)
vocabularies = st.fixed_dictionaries(
    {},
    optional={
        "min_df": st.integers(1, 4) | st.floats(0, 1),
        "max_df": st.integers(1, 6) | st.floats(0, 1),
        "max_features": st.integers(1, 8),
        "stop_words": st.sampled_from(["english", ["aa", "ab"], ["bé", "not_there"]]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 3), (1, 4)]),
        "lowercase": st.booleans(),
    },
)


@relaxed
@given(st.lists(texts, min_size=1, max_size=8), st.lists(texts, min_size=1, max_size=4), weightings)
def test_odd_texts(learn, apply, params):
    assert_same_vectoriser(Vectoriser(**params), learn, apply)


@relaxed
@given(documents, documents, weightings, vocabularies)
def test_settings(learn, apply, weighting, vocabulary):
    assert_same_vectoriser(Vectoriser(**weighting, **vocabulary), learn, apply)


@relaxed
@given(
    documents,
    st.lists(st.sampled_from(["aa", "ab", "aa ab", "bé", "b", "ab aa bé", "x  y", ""]), min_size=1, unique=True),
    st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    st.sampled_from([None, ["aa"]]),
)
def test_a_given_vocabulary(learn, vocabulary, ngram_range, stop_words):
    ours = Vectoriser(vocabulary=vocabulary, ngram_range=ngram_range, stop_words=stop_words, dtype=np.float64)
    assert_same_vectoriser(ours, learn, learn)
    columns = {term: len(vocabulary) - 1 - i for i, term in enumerate(vocabulary)}
    assert_same_vectoriser(ours.set_params(vocabulary=columns), learn, learn)


def test_the_most_frequent_of_many_ties_are_scikit_learns():
    random = np.random.default_rng(0)
    learn = [" ".join(f"w{i}" for i in random.integers(0, 3000, 40)) for _ in range(300)]
    for dtype in (np.float32, np.float64):
        for limit in (1, 17, 500, 2000):
            assert_same_vectoriser(Vectoriser(max_features=limit, dtype=dtype), learn, learn[:10])


@pytest.mark.parametrize(
    "params",
    [
        {"analyzer": "char", "ngram_range": (1, 3)},
        {"analyzer": "char_wb", "ngram_range": (2, 3), "strip_accents": "ascii"},
        {"analyzer": str.split, "stop_words": None},
        {"token_pattern": r"(?u)\b\w+\b", "stop_words": "english"},
        {"token_pattern": r"\b(\w)\w+", "ngram_range": (1, 2)},
        {"strip_accents": "unicode"},
        {"strip_accents": "ascii", "ngram_range": (1, 2)},
    ],
)
def test_what_has_no_fast_path_falls_back_to_python_and_says_so(params):
    learn = [*LETTERS, "Café déjà vu\x00 a\x00"]
    with pytest.warns(PythonAnalyserWarning, match="no fast path for ") as warned:
        ours = Vectoriser(**params).fit(learn)
    assert len([w for w in warned if w.category is PythonAnalyserWarning]) == 1
    assert warned[0].filename == __file__
    with pytest.warns(PythonAnalyserWarning):
        assert_same_vectoriser(ours, learn, ["cat Café", ""])


def test_an_analyser_must_give_strings():
    with pytest.warns(PythonAnalyserWarning), pytest.raises(ValueError, match="must give strings, got int 1"):
        Vectoriser(analyzer=lambda text: [1]).fit(["a"])


def test_the_fast_path_is_silent(recwarn):
    Vectoriser(stop_words="english", ngram_range=(1, 2), stem="english").fit(LETTERS)
    assert not recwarn.list


@pytest.mark.parametrize(
    "make",
    [list, tuple, iter, np.array, pa.array, lambda rows: pa.chunked_array([rows[:2], [], rows[2:]])],
    ids=["list", "tuple", "iterator", "numpy", "arrow", "chunked"],
)
def test_any_container_of_texts(make):
    ours = Vectoriser(dtype=np.float64)
    wanted = TfidfVectorizer().fit_transform(LETTERS)
    assert_same_rows(ours.fit_transform(make(LETTERS)), wanted)
    assert_same_rows(ours.fit(make(LETTERS)).transform(make(LETTERS)), wanted)


def test_an_iterable_of_several_blocks():
    learn = [LETTERS[i % 6] + f" w{i % 97}" for i in range(25_000)]
    assert_same_rows(Vectoriser().fit_transform(iter(learn)), TfidfVectorizer(dtype=np.float32).fit_transform(learn))


@pytest.mark.data
def test_real_questions(shared_data):
    questions = read_texts(shared_data, "crypto")[:1500]
    for params in ({"stop_words": "english", "min_df": 2}, {"ngram_range": (1, 2), "max_features": 5000}):
        assert_same_vectoriser(Vectoriser(**params), questions[:1000], questions[1000:])


def test_no_texts_make_no_rows():
    assert Vectoriser().fit(LETTERS).transform([]).shape == (0, 12)


@relaxed
@given(documents, st.integers(1, 5), vocabularies)
def test_blocks_equal_the_whole(learn, size, params):
    blocks = [pa.array(learn[i : i + size]) for i in range(0, len(learn), size)]
    try:
        whole = Vectoriser(**params).fit(learn)
    except ValueError as error:
        complaint = str(error)
        with pytest.raises(ValueError, match=f"^{re.escape(complaint)}$"):
            Vectoriser(**params).fit_blocks(blocks)
        return
    ours = Vectoriser(**params).fit_blocks(iter(blocks))
    assert ours.terms_.tolist() == whole.terms_.tolist()
    assert ours.idf_.tolist() == whole.idf_.tolist()
    assert ours.df_.tolist() == whole.df_.tolist()
    assert ours.n_documents_ == len(learn)
    rows = whole.transform(learn).toarray()
    assert np.array_equal(np.vstack([ours.transform(block).toarray() for block in blocks]), rows)


def test_an_unknown_document_is_an_empty_row():
    rows = Vectoriser().fit(["known words"]).transform(["strange things", "", None, "known"])
    assert np.diff(rows.indptr).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("learn", "params", "complaint"),
    [
        ([], {}, r"empty vocabulary; .* \(0 documents, no term in any\)"),
        (["the and", "a"], {"stop_words": "english"}, r"empty vocabulary; .* \(2 documents, no term in any\)"),
        (["aa", "bb"], {"min_df": 2}, r"no terms remain.*None of 2 terms is in 2 to 2 of 2 documents"),
        (["aa", "bb"], {"min_df": 2, "max_df": 1}, "max_df corresponds to < documents than min_df: 1 < 2"),
        ([], {"vocabulary": ["aa"]}, "no documents"),
        (["bb"], {"vocabulary": ["bb", "aa"], "smooth_idf": False}, "term 1 of the vocabulary is in no document"),
        (["aa"], {"vocabulary": []}, "empty vocabulary passed to fit"),
        (["aa"], {"vocabulary": ["aa", "bb", "aa"]}, "Duplicate term in vocabulary: 'aa' at 0 and 2"),
        (["aa"], {"vocabulary": ["aa", 3]}, "term 1: expected a str, got int 3"),
        (["aa"], {"vocabulary": {"aa": 0, "bb": 0}}, "repeated indices"),
        (["aa"], {"vocabulary": {"aa": 0, "bb": 2}}, "doesn't contain index 1"),
    ],
)
def test_nothing_to_learn_is_said_with_counts(learn, params, complaint):
    with pytest.raises(ValueError, match=complaint):
        Vectoriser(**params).fit(learn)


def test_conventions_of_scikit_learn():
    ours = Vectoriser(min_df=2, stop_words=["the"], stem="english")
    assert clone(ours).get_params() == ours.get_params()
    with pytest.raises(NotFittedError):
        ours.transform(["a"])
    with pytest.raises(NotFittedError):
        _ = ours.vocabulary_
    with pytest.raises(NotFittedError):
        check_is_fitted(ours)
    assert ours.fit(LETTERS) is ours
    check_is_fitted(ours)
    assert ours.get_feature_names_out().tolist() == ours.terms_.tolist()
    assert ours.get_params() == clone(ours).get_params()


def test_a_fitted_one_travels_to_other_processes():
    ours = Vectoriser(stem="english", ngram_range=(1, 2)).fit(LETTERS)
    wanted = ours.transform(LETTERS)
    for other in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):  # noqa: S301
        assert_same_rows(other.transform(LETTERS), wanted)


@pytest.mark.parametrize("stem", [None, "english"])
def test_threads_share_a_fitted_one(stem):
    learn = [f"word{i % 50}s running w{i}ing" for i in range(400)]
    ours = Vectoriser(stem=stem, ngram_range=(1, 2)).fit(learn)
    wanted = ours.transform(learn).toarray()
    fresh = pickle.loads(pickle.dumps(ours))  # noqa: S301
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(fresh.transform, [learn] * 12):
            assert np.array_equal(rows.toarray(), wanted)


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"min_df": 0}, "min_df=0: expected a number of documents from 1"),
        ({"max_df": 1.5}, "max_df=1.5: "),
        ({"min_df": True}, "min_df=True: "),
        ({"max_features": 0}, "max_features=0: "),
        ({"ngram_range": (2, 1)}, r"ngram_range=\(2, 1\): "),
        ({"ngram_range": 2}, "ngram_range=2: "),
        ({"stop_words": "german"}, "stop_words='german': "),
        ({"stop_words": iter(["the"])}, "stop_words=<list_iterator .*: expected None, 'english' or a list of words"),
        ({"stop_words": [1]}, r"stop_words=\[1\]: "),
        ({"token_pattern": "(a"}, r"token_pattern='\(a': "),
        ({"token_pattern": "(a)(b)"}, "at most one group"),
        ({"strip_accents": "all"}, "strip_accents='all': "),
        ({"analyzer": "line"}, "analyzer='line': "),
        ({"norm": "max"}, "norm='max': "),
        ({"dtype": np.int64}, "expected float32 or float64"),
        ({"dtype": "float"}, None),
        ({"lowercase": "yes"}, "lowercase='yes': "),
        ({"stem": "klingon"}, "stem='klingon': expected None or a Snowball language: .*english"),
        ({"stem": "english", "analyzer": "char"}, "stem='english': expected analyzer='word'"),
    ],
)
def test_wrong_parameters_are_named(params, complaint):
    if complaint is None:
        Vectoriser(**params).fit(LETTERS)
        return
    with pytest.raises(ValueError, match=complaint):
        Vectoriser(**params).fit(LETTERS)
