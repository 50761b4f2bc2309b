"""The topics view: first tags, weights, matching across runs."""

from types import SimpleNamespace

import numpy as np
import pytest

from tagcore.models import BMLPL
from tagcore.models.topics import match_topics, topic_weights, topics
from tests.tagcore.models.bmlpl.problems import planted

MODEL = SimpleNamespace(
    topics_=np.array([[0.5, 0.1], [0.2, 0.6], [0.3, 0.3]]),
    label_counts_=np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 1.0]]),
)


def test_topics_come_by_weight_with_their_first_tags():
    second, first = topics(MODEL, ["music", "art", "film"], top=2)[::-1]
    assert (first.number, first.tags, first.shares) == (1, ("art", "film"), (0.6, 0.3))
    assert (second.number, second.tags, second.shares) == (0, ("music", "film"), (0.5, 0.3))
    assert first.weight == pytest.approx(0.8)
    assert topics(MODEL)[0].tags == ("1", "2", "0")


def test_weights_are_shares_even_of_nothing():
    assert topic_weights(MODEL).tolist() == [0.2, 0.8]
    assert topic_weights(SimpleNamespace(label_counts_=np.zeros((3, 2)))).tolist() == [0.5, 0.5]


def test_bad_questions_are_named():
    with pytest.raises(ValueError, match="2 names for 3 tags"):
        topics(MODEL, ["a", "b"])
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        topics(MODEL, top=0)
    with pytest.raises(ValueError, match="over 3 and over 4 tags"):
        match_topics(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="1 topics cannot be matched to 2"):
        match_topics(np.ones((3, 2)), np.ones((3, 1)))


def test_a_permutation_is_undone():
    rng = np.random.default_rng(0)
    V = rng.dirichlet(np.full(30, 0.1), 8).T
    order = rng.permutation(8)
    found, affinity = match_topics(V, V[:, order])
    assert np.array_equal(order[found], np.arange(8))
    np.testing.assert_allclose(affinity, 1.0)
    wider, _ = match_topics(V, np.hstack([rng.dirichlet(np.ones(30), 3).T, V[:, order]]))
    assert np.array_equal(wider - 3, found)


def test_runs_of_a_planted_problem_agree_once_matched():
    X, Y = planted(n=1500, labels=30, seed=4)
    one, two = (BMLPL(n_topics=4, random_state=seed).fit(X, Y) for seed in (0, 1))
    order, affinity = match_topics(one.topics_, two.topics_)
    assert affinity.mean() > 0.85
    unmatched = (np.sqrt(one.topics_) * np.sqrt(two.topics_[:, np.roll(order, 1)])).sum(axis=0)
    assert affinity.mean() > unmatched.mean() + 0.2
    assert len(topics(one)) == 4
