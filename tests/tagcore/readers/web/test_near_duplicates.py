"""Texts that are all but the same, against a comparison of all pairs."""

import numpy as np
import pytest

from tagcore.readers.web.near_duplicates import SAME, find_duplicates, fingerprint, similarity

WORDS = [f"word{i}" for i in range(300)]


def text(rng, n=200):
    return " ".join(rng.choice(WORDS, n))


def test_copies_with_a_word_changed_are_found_and_nothing_else():
    rng = np.random.default_rng(0)
    originals = [text(rng) for _ in range(40)]
    copies = []
    for original in originals[:20]:
        words = original.split()
        words[int(rng.integers(len(words)))] = "other"
        copies.append(" ".join(words))
    texts = originals + copies
    found = find_duplicates([fingerprint(t) for t in texts], texts.__getitem__)
    every_pair = {
        j: i for j in range(len(texts)) for i in range(j - 1, -1, -1) if similarity(texts[i], texts[j]) >= SAME
    }
    assert set(found) <= set(every_pair)
    assert all(every_pair[j] == i for j, i in found.items())
    assert len(found) >= 0.8 * len(every_pair) > 0


def test_the_first_of_many_stays():
    same = ["a b c d e f g"] * 4 + ["x y z"]
    assert find_duplicates([fingerprint(t) for t in same], same.__getitem__) == {1: 0, 2: 0, 3: 0}


def test_a_text_that_repeats_one_which_repeats_another_is_told_under_the_first_that_stays():
    """a kept text is found by any of its bands, and one that was not kept by none."""
    prints = ["0" * 8 + f"{i:08x}" * 5 for i in range(1, 60)]  # one band alike, the others not
    texts = [f"a b c d {i}" for i in range(len(prints))]
    texts[57] = texts[58] = texts[3]
    assert find_duplicates(prints, texts.__getitem__) == {57: 3, 58: 3}


def test_no_texts_have_no_duplicates():
    assert find_duplicates([], [].__getitem__) == {}


@pytest.mark.parametrize(
    ("first", "second", "expected"), [("", "", 1.0), ("a", "", 0.0), ("a b c d", "A, b c: d!", 1.0)]
)
def test_similarity_of_odd_texts(first, second, expected):
    assert similarity(first, second) == expected
