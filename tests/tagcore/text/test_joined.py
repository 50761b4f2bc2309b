"""Several vectorisers as one: rows and terms side by side, texts and counts alike."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from tagcore.text import Vectoriser
from tagcore.text.joined import JoinedVectoriser

TEXTS = ["red apple pie", "green apple", "", "red red car"]
DOCUMENTS = [{"title": text, "text": text[::-1]} for text in TEXTS]


def test_rows_and_terms_are_side_by_side():
    words, pairs = Vectoriser().fit(TEXTS), Vectoriser(ngram_range=(2, 2), norm=None).fit(TEXTS)
    joined = JoinedVectoriser([words, pairs])
    expected = sp.hstack([words.transform(TEXTS), pairs.transform(TEXTS)])
    assert (joined.transform(TEXTS) != expected).nnz == 0
    assert (joined.transform(iter(TEXTS)) != expected).nnz == 0  # read once for each, though it can be only once
    assert (joined.transform(pa.array(TEXTS)) != expected).nnz == 0
    assert joined.terms_.tolist() == [*words.terms_, *pairs.terms_]
    assert joined.idf_.size == joined.terms_.size == expected.shape[1]
    assert joined.field_names is None
    assert words.views == (words,)


def test_each_reads_its_own_fields():
    titles = Vectoriser(fields={"title": 1}).fit(DOCUMENTS)
    joined = JoinedVectoriser([titles, Vectoriser().fit(DOCUMENTS)])
    assert joined.field_names == ("text", "title")  # one of them reads both as one text
    rows = joined.transform(DOCUMENTS)
    assert (rows[:, : titles.idf_.size] != titles.transform(DOCUMENTS)).nnz == 0
    assert JoinedVectoriser([titles, titles]).field_names == ("title",)


def test_counts_go_to_the_inputs_of_each():
    counts = sp.csr_matrix(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    one = Vectoriser().fit_counts([counts], ["a", "b", "c"])
    other = Vectoriser(min_df=1, use_idf=False).fit_counts([counts], ["d", "e", "f"])
    joined = JoinedVectoriser([one, other])
    assert joined.n_features_in_ == 6
    assert joined.columns_.tolist() == [0, 1, 2, 3, 4, 5]
    rows = joined.transform_counts(sp.hstack([counts, 2 * counts], format="csr"))
    assert (rows != sp.hstack([one.transform_counts(counts), other.transform_counts(2 * counts)])).nnz == 0


def test_there_is_one_or_more():
    with pytest.raises(ValueError, match="no vectoriser to join"):
        JoinedVectoriser([])


def test_a_document_may_have_the_fields_of_any():
    documents = [{"title": "red", "abstract": "apple pie"}, {"title": "blue"}, {"abstract": ["green", "pear"]}]
    both = Vectoriser(fields={"title": 1, "abstract": 1}).fit(documents)
    titles = Vectoriser(fields={"title": 1}).fit([{"title": text} for text in ("red", "blue")])
    joined = JoinedVectoriser([both, titles])
    alone = titles.transform([{"title": "red"}, {"title": "blue"}, {}])
    expected = sp.hstack([both.transform(documents), alone])
    assert (joined.transform(documents) != expected).nnz == 0
    assert (joined.transform(iter(documents)) != expected).nnz == 0
    mixed = joined.transform(["red", documents[0]])  # a mere text is to each what it takes one for
    assert (mixed[0, both.idf_.size :] != titles.transform(["red"])).nnz == 0
    with pytest.raises(ValueError, match="text 1: there is no field 'names', expected some of abstract, text, title"):
        joined.transform([{"title": "red"}, {"names": "ann"}])


def test_one_document_is_no_list_of_them():
    joined = JoinedVectoriser([Vectoriser().fit(DOCUMENTS)])
    with pytest.raises(ValueError, match=r"texts is the one document .*expected a list"):
        joined.transform(DOCUMENTS[0])
