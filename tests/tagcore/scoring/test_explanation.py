"""Explanations: pushes and bias add up to the score, and are told by name, strongest first."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.baselines import KNN, OneVsRestLinear, OneVsRestLogistic, PassiveAggressive, Ridge
from tagcore.corpus import Corpus
from tagcore.scoring.explanation import Explanation, WordPush, pushes
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tests.problems import noisy

TEXTS = ["red apple pie", "green pear tart", "apple and pear", "fast red car", "blue car wheel", "car engine"] * 4
TAGS = [["fruit"], ["fruit"], ["fruit"], ["cars"], ["cars"], ["cars", "repair"]] * 4


@pytest.mark.parametrize("model", [OneVsRestLinear(), OneVsRestLogistic(), PassiveAggressive(), Ridge()])
@pytest.mark.parametrize("normalise", [False, True])
def test_pushes_and_bias_add_up_to_the_score(model, normalise):
    X, Y = noisy()
    model = type(model)(normalise=normalise).fit(X, Y)
    ((_, scores),) = model.score_blocks(X)
    for row in (0, 1, 2, 5):  # row 0 has no word
        for tag in (0, 7, 19):  # nothing has tag 19
            explanation = model.explain(X[row], tag)
            assert set(explanation.words) == set(X[row].indices)
            assert explanation.push.shape == explanation.words.shape
            assert explanation.bias + explanation.push.sum() == pytest.approx(scores[row, tag], abs=1e-5)


def tagger_of(model):
    corpus, vectoriser = Corpus.from_texts(TEXTS, TAGS), Vectoriser()
    model.fit(vectoriser.fit_transform(TEXTS), corpus.tags)
    return Tagger(vectoriser, model, corpus.tag_names)


def test_words_are_named_strongest_first_and_the_bias_comes_last():
    tagger = tagger_of(OneVsRestLinear())
    *words, bias = tagger.explain("<p>the <b>car</b> and an apple, zeppelin</p>", "cars")
    assert [w.word for w in words[:2]] == ["car", "apple"]
    assert words[0].push > 0 > words[1].push
    assert bias.word is None
    rows = tagger.vectoriser.transform(["the car and an apple"])
    ((_, scores),) = tagger.score_blocks(rows)
    assert sum(w.push for w in words) + bias.push == pytest.approx(scores[0, tagger.tag_names.index("cars")])


def test_what_cannot_be_explained():
    tagger = tagger_of(KNN())
    assert tagger.explain("a car", "cars") is None
    with pytest.raises(ValueError, match="no tag 'boats'"):
        tagger.explain("a car", "boats")


def test_spreads_go_with_their_words():
    terms = np.array(["a", "b", "c", "d"])
    named = pushes(Explanation(np.array([3, 0, 1]), np.array([0.5, -2.0, 0.5]), np.array([0.1, 0.2, 0.3]), -1.0), terms)
    assert named == [
        WordPush("a", -2.0, 0.2),
        WordPush("d", 0.5, 0.1),
        WordPush("b", 0.5, 0.3),
        WordPush(None, -1.0, None),
    ]
    empty = np.zeros(0)
    assert pushes(Explanation(empty.astype(int), empty, None, 0.5), terms) == [WordPush(None, 0.5, None)]


def test_a_weightless_word_pushes_nothing():
    model = OneVsRestLinear().fit(sp.csr_matrix(np.eye(4)), sp.csr_matrix(np.eye(4)[:, :2]))
    explanation = model.explain(sp.csr_matrix([[0.0, 0.0, 0.0, 1.0]]), 0)
    assert explanation.spread is None
    assert len(explanation.push) == 1
