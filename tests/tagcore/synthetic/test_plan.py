"""The plan of a planted corpus: distinct words, every tag with words and topic, truth that follows from the lists."""

import numpy as np

from tagcore.synthetic.plan import FEWEST_WORDS, invented_plan, pseudo_words, themed_plan


def test_invented_words_are_distinct_also_when_short_ones_run_out():
    words = pseudo_words(52**3 + 1000)
    assert len(set(words)) == len(words)
    assert {len(w) for w in words} == {6, 8}


def test_invented_tags_are_spread_over_the_topics():
    plan = invented_plan(n_topics=7, n_words=400, n_tags=30, polysemy=0.5, seed=0)
    assert np.all(np.diff(plan.slot_topics) >= 0)
    np.testing.assert_array_equal(plan.slot_topics, plan.slot_tags % 7)
    assert sorted(plan.slot_tags) == list(range(30))
    for slot, tag in enumerate(plan.slot_tags):
        assert plan.word_names[plan.slot_words[plan.slot_starts[slot]]] == plan.tag_names[tag]


def test_tags_with_few_words_borrow_from_their_topic():
    plan = invented_plan(n_topics=3, n_words=900, n_tags=600, polysemy=0, seed=0)
    sizes = np.diff(plan.slot_starts)
    assert FEWEST_WORDS - 1 <= np.median(sizes) <= FEWEST_WORDS
    assert sizes.min() > 1
    slots = np.repeat(np.arange(600), sizes)
    assert np.unique(slots * 900 + plan.slot_words).size == slots.size
    np.testing.assert_array_equal((plan.slot_words - plan.n_common) % 600 % 3, plan.slot_topics[slots])
    assert [plan.word_names[w] for w in plan.slot_words[plan.slot_starts[:-1]]] == [
        plan.tag_names[t] for t in plan.slot_tags
    ]
    assert plan.truth.polysemous.size == 0


def test_themes_may_share_a_tag():
    plan = themed_plan({"a": {"x": "one two", "y": "three"}, "b": {"y": "four", "z": "one"}}, "the and")
    assert plan.tag_names == ["x", "y", "z"]
    assert plan.n_common == 2
    np.testing.assert_array_equal(plan.truth.topic_tags.toarray() > 0, [[1, 1, 0], [0, 1, 1]])
    assert [plan.word_names[w] for w in plan.truth.polysemous] == ["one"]
