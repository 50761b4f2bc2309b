"""The demo and the tagging site: what a user would find in them."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from tagcore.corpus import tag_matrix
from tagcore.synthetic.corpus import delicious_shaped, demo_corpus
from tagcore.synthetic.themes import COMMON, THEMES
from tests.tagcore.synthetic.helpers import whole


def test_a_tagging_site_has_a_long_tail_and_its_topics_show():
    corpus = delicious_shaped(6000, n_tags=4000)
    blocks = list(corpus.blocks())
    tags = tag_matrix(blocks[0].taggings, 6000, 4000)
    popular = np.sort(np.bincount(tags.indices, minlength=4000))[::-1]
    assert popular[0] > 100
    assert popular[:40].sum() > 0.15 * tags.nnz
    assert popular[2000] < 5
    assert np.mean(np.diff(tags.indptr)) == pytest.approx(6, rel=0.05)
    truth, topics = corpus.truth, corpus.topics(0, 6000)
    log_words = np.log(0.6 * truth.topic_words.toarray() + 0.4 * truth.any_word)  # naive Bayes with the truth
    recovered = np.argmax(blocks[0].words @ log_words.T, axis=1)
    assert 0.8 < np.mean(recovered == topics) < 1


def test_a_tagging_site_of_any_size_begins_alike():
    few, more = (next(delicious_shaped(n, n_tags=500, seed=5, counted=False).blocks(30)) for n in (30, 60))
    assert few.documents == more.documents
    assert few.taggings == more.taggings
    with pytest.raises(ValueError, match="n_tags = 1, expected a whole number from 2"):
        delicious_shaped(n_tags=1)


def test_demo_reads_like_notes():
    corpus = demo_corpus(200)
    assert set(COMMON.split()).isdisjoint(
        w for tags in THEMES.values() for words in tags.values() for w in words.split()
    )
    names = {corpus.truth.word_names[w] for w in corpus.truth.polysemous}
    assert {"bass", "crane", "jaguar"} <= names
    assert len(THEMES) == 12
    documents, taggings = whole(corpus)
    about = corpus.topics(0, 200)
    tags = list(corpus.tags)
    inside = [
        tags[t] in THEMES[corpus.truth.topic_names[about[d]]]
        for d, t in zip(taggings["document"].to_pylist(), taggings["tag"].to_pylist(), strict=True)
    ]
    assert np.mean(inside) > 0.6
    assert documents["language"].to_pylist() == ["en"] * 200


def test_demo_is_neither_trivial_nor_hopeless():
    corpus = demo_corpus()
    documents, taggings = whole(corpus)
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(documents["text"].to_pylist())
    y = tag_matrix(taggings, len(corpus), len(corpus.tags)).toarray() > 0
    train, test = np.arange(len(corpus)) % 5 > 0, np.arange(len(corpus)) % 5 == 0
    linear = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(X[train], y[train].astype(int))
    best = linear.predict_proba(X[test]).argmax(axis=1)
    assert y[test][:, y[train].sum(axis=0).argmax()].mean() < 0.3
    assert 0.75 < y[test][np.arange(best.size), best].mean() < 0.92
