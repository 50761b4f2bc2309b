"""Topics to be read, and explanations whose parts add up to what the model says."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.models import PMM
from tagcore.models.pmm.topics import NO_NEIGHBOURS, NO_TOPIC, NO_WORDS
from tests.problems import noisy

NAMES, TERMS = [f"tag{i}" for i in range(20)], [f"word{i}" for i in range(40)]


@pytest.fixture(scope="module")
def problem():
    X, Y = noisy(200)
    return sp.csr_matrix(np.ceil(X.toarray())), Y


def _fitted(problem, **params):
    return PMM(**({"n_classes": 6, "n_components": 12, "n_word_clusters": 5, "max_iter": 5} | params)).fit(*problem)


@pytest.mark.parametrize("length", ["raw", "exposure"])
@pytest.mark.parametrize("prior", ["uniform", "empirical"])
def test_words_and_bias_make_the_ratio_of_the_two_most_probable_topics(problem, length, prior):
    model = _fitted(problem, scoring="soft", length=length, prior=prior, temper=0.3)
    for row in (1, 2, 5, 9):
        X = problem[0][row]
        choice, posterior = model.explain_topic(X), model.class_posterior(X)[0]
        assert choice.topic == posterior.argmax()
        assert choice.probability == posterior.max()
        assert choice.push.sum() + choice.bias == pytest.approx(
            np.log(posterior[choice.topic] / posterior[choice.runner_up]), abs=1e-3
        )
        assert posterior[choice.runner_up] == np.sort(posterior)[-2]
        assert choice.words.tolist() == X.indices.tolist()
        assert choice.fallback == ""


def test_a_word_pushes_a_topic_as_much_as_its_rates_say(problem):
    """With one component a class, by the definition of the mixture."""
    model = _fitted(problem, n_components=6, scoring="soft", length="raw", temper=1.0)
    X = problem[0][5]
    choice = model.explain_topic(X)
    for word, count, push in zip(X.indices, X.data, choice.push, strict=True):
        rates = [model.rates_[k, model.word_clusters_[word, k]] for k in (choice.topic, choice.runner_up)]
        assert push == pytest.approx(count * np.log(rates[0] / rates[1]))


@pytest.mark.parametrize("n_words", [None, 9])
@pytest.mark.parametrize("scoring", ["rerank", "soft", "hard", "mix"])
def test_words_and_bias_make_the_score(problem, scoring, n_words):
    X, _ = problem
    model = _fitted(problem, scoring=scoring, n_searched=3, n_neighbors=9, n_words=n_words)
    ((_, scores),) = model.score_blocks(X[:12])
    moved = 0
    for row in range(1, 12):
        for tag in (0, 7, 12, 19):
            told = model.explain(X[row], tag)
            total = told.push.sum() + told.bias
            if scoring == "soft" or (scoring == "hard" and told.fallback):
                expected = np.log(scores[row, tag]) if scores[row, tag] > 0 else -np.inf
                expected = -np.inf if scoring == "hard" else expected
            else:
                expected = scores[row, tag]
            assert total == pytest.approx(expected, abs=2e-3, rel=1e-3)
            moved += bool(told.push.any())
    assert moved > 10


def test_votes_of_a_word_are_its_part_of_the_similarity():
    """Two documents of one topic, one neighbour: the word that both share decides alone."""
    X = sp.csr_matrix(np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0]]))
    model = PMM(n_classes=1, n_neighbors=1).fit(X, np.eye(2))
    told = model.explain(sp.csr_matrix([[1.0, 0.0, 0.0]]), 0)
    assert told.push.tolist() == [1.0]
    assert told.bias == 0.0
    both = model.explain(sp.csr_matrix([[1.0, 1.0, 0.0]]), 0)
    weights = np.array([1.0, 1.0]) * model.idf_[:2] * ((1 + np.log([2.0, 1.0])) * model.idf_[:2])
    np.testing.assert_allclose(both.push, weights / weights.sum(), rtol=1e-5)


def test_what_no_word_decided_is_said_so(problem):
    nothing, model = sp.csr_matrix((1, problem[0].shape[1])), _fitted(problem)
    assert model.explain_topic(nothing).fallback == NO_WORDS
    told = model.explain(nothing, 3)
    assert (told.fallback, told.push.size, told.bias) == (NO_WORDS, 0, model.popular_[3])
    assert _fitted(problem, scoring="soft").explain(nothing, 3).fallback == NO_WORDS
    hard = _fitted(problem, scoring="hard")
    unranked = np.flatnonzero(hard.tag_classes_ == hard.n_classes_)
    if unranked.size:
        assert hard.explain(problem[0][1], int(unranked[0])).fallback == NO_TOPIC
    X = sp.csr_matrix(np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    far = PMM(n_classes=1).fit(X, np.eye(2)).explain(sp.csr_matrix([[0.0, 0.0, 1.0]]), 0)
    assert (far.fallback, far.bias) == (NO_NEIGHBOURS, 0.5)


def test_one_topic_has_no_runner_up():
    model = PMM(scoring="soft").fit([[3.0, 0.0], [0.0, 2.0]], np.eye(2))
    choice = model.explain_topic([[1.0, 0.0]])
    assert (choice.topic, choice.probability, choice.runner_up, choice.bias) == (0, 1.0, None, 0.0)
    assert choice.tags.tolist() == [0, 1]


def test_topics_are_listed_with_tags_words_documents_and_the_cut_that_bounds_them():
    rng = np.random.default_rng(0)
    topic = np.repeat([0, 1], [30, 50])
    X = rng.poisson(np.where(np.arange(10) // 5 == topic[:, None], 3.0, 0.05)).astype(float)
    Y = (rng.random((80, 4)) < np.where(np.arange(4) // 2 == topic[:, None], [0.9, 0.3, 0.9, 0.3], 0.0)).astype(float)
    model = PMM(n_classes=2, scoring="soft").fit(X, Y)
    large, small = model.list_topics(list("abcd"), TERMS, top=2)
    assert (large.documents, small.documents) == (50, 30)
    assert (large.weight, small.weight) == (0.625, 0.375)
    assert (large.tags, small.tags) == (("c", "d"), ("a", "b"))
    assert {int(word[4:]) for word in large.words} <= set(range(5, 10))
    assert {int(word[4:]) for word in small.words} <= set(range(5))
    assert large.ncut == small.ncut == model.splits_[0, 4]
    chosen = PMM(n_classes=2, scoring="soft", n_words=3).fit(X, Y)
    told = {word for topic in chosen.list_topics(list("abcd"), TERMS) for word in topic.words}
    assert told <= {TERMS[word] for word in np.flatnonzero(chosen.used_words_)}
    tree = model.split_tree()
    assert sorted(half["documents"] for half in tree["halves"]) == [30, 50]
    assert model.split_tree(0) == {"cluster": 0}
