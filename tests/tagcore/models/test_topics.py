"""The topics view: first tags and weights."""

from types import SimpleNamespace

import numpy as np
import pytest

from tagcore.models.topics import topic_weights, topics

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
