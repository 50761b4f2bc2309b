"""Choices in turn, on qualities that are made up."""

import numpy as np

from tagcore.stepwise_choice import choose_in_turn

RNG = np.random.default_rng(0)
DOCUMENTS = RNG.random(400)


def told(gains):
    """quality by which each setting adds its gain, with a little noise that is the same whenever it is asked for."""

    def one(changes):
        shift = sum(gains[name, value] for name, value in changes.items())
        return DOCUMENTS + shift + 0.01 * np.random.default_rng(len(changes)).normal(size=400)

    return lambda kept, option: (one(kept), one(kept | option))


def test_what_is_surely_better_is_kept_in_turn():
    gains = {("title", 4): 0.1, ("idf", True): 0.0, ("C", 0.2): 0.02, ("C", 1.0): 0.05, ("C", 5.0): -0.1}
    options = [{"title": 4}, {"idf": True}, {"C": 0.2}, {"C": 1.0}, {"C": 5.0}]
    chosen = choose_in_turn(options, told(gains))
    assert chosen.changes == {"title": 4, "C": 1.0}
    assert [trial.kept for trial in chosen.trials] == [True, False, True, True, False]
    assert chosen.trials[3].after - chosen.trials[3].before > 0.02  # against C = 0.2, which stood then
    assert chosen.untried == []


def test_no_option_is_tried_when_time_is_over():
    ticks = iter([0, 1, 5, 12, 13])
    options = [{"a": 1}, {"b": 1}, {"c": 1}]
    chosen = choose_in_turn(options, told({("a", 1): 0.1, ("b", 1): 0.1, ("c", 1): 0.1}), 10, lambda: next(ticks))
    assert chosen.changes == {"a": 1, "b": 1}
    assert chosen.untried == [{"c": 1}]


def test_one_document_decides_nothing():
    chosen = choose_in_turn([{"a": 1}], lambda kept, option: (np.zeros(1), np.ones(1)))
    assert chosen.changes == {}
