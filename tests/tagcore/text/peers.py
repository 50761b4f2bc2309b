"""scikit-learn's vectoriser as the oracle of ours."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import snowballstemmer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from tagcore.text import Vectoriser


def peer_of(vectoriser: Vectoriser) -> TfidfVectorizer:
    """TfidfVectorizer with the same settings; a stem becomes an analyser in plain Python."""
    params = vectoriser.get_params()
    language = params.pop("stem")
    for name in ("fields", "own_columns", "max_features_by", "hashed_columns"):
        del params[name]  # which the peer knows nothing of
    if language is None:
        return TfidfVectorizer(**params)
    stem = snowballstemmer.stemmer(language).stemWord
    words = CountVectorizer(stop_words=params["stop_words"], lowercase=params["lowercase"]).build_analyzer()
    shortest, longest = params["ngram_range"]

    def analyse(text):
        stems = [stem(word) for word in words(text)]
        lengths = range(shortest, longest + 1)
        return [" ".join(stems[i : i + n]) for n in lengths for i in range(len(stems) - n + 1)]

    return TfidfVectorizer(**params | {"analyzer": analyse, "stop_words": None, "ngram_range": (1, 1)})


def assert_same_rows(ours: sp.csr_matrix, theirs: sp.csr_matrix) -> None:
    theirs = sp.csr_matrix(theirs)
    theirs.sort_indices()
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert ours.has_sorted_indices
    assert ours.indptr.tolist() == theirs.indptr.tolist()
    assert ours.indices.tolist() == theirs.indices.tolist()
    np.testing.assert_allclose(ours.data, theirs.data, rtol=0, atol=1e-6 if ours.dtype == np.float32 else 1e-12)


def assert_same_vectoriser(ours: Vectoriser, learn: list[str], apply: list[str]) -> None:
    """Fit, fit_transform and transform all agree, or fail with the same words."""
    theirs = peer_of(ours)
    try:
        rows = theirs.fit_transform(learn)
    except ValueError as error:
        complaint = str(error)
        with pytest.raises(ValueError, match=f"^{re.escape(complaint)}"):
            ours.fit(learn)
        return
    assert_same_rows(ours.fit_transform(learn), rows)
    assert ours.terms_.tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == theirs.vocabulary_
    if ours.use_idf:
        np.testing.assert_allclose(ours.idf_, theirs.idf_, rtol=0, atol=1e-6)
    assert_same_rows(ours.transform(apply), theirs.transform(apply))
    assert_same_rows(ours.fit(learn).transform(apply), theirs.transform(apply))
