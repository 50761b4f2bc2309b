"""Spellings of one tag."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.corpus import Corpus, Names, documents_table, taggings_table
from tagcore.readers.merged_tags import RULES, MergedTags, tag_key


class Given:
    """A source of one block."""

    words = None

    def __init__(self, taggings, names):
        self.tags = Names(names)
        documents, tags, users, counts = zip(*taggings, strict=True)
        table = documents_table(id=[str(i) for i in range(max(documents) + 1)])
        self._corpus = Corpus(table, taggings_table(documents, tags, users, counts), names)

    def blocks(self, rows=8192):
        return self._corpus.blocks(rows)


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        ("Bread", "bread", "case"),
        ("machine learning", "machine_learning", "separators"),
        ("machine-learning", "machinelearning", "separators"),
        ("recipes", "recipe", "plurals"),
        ("berries", "berry", "plurals"),
        ("boxes", "box", "plurals"),
        ("organisation", "organization", "spelling"),
        ("behaviour", "behavior", "spelling"),
        ("visualise", "visualize", "spelling"),
        ("theatre", "theater", "spelling"),
    ],
)
def test_each_rule_merges_its_own_kind_alone(first, second, rule):
    assert tag_key(first, [rule]) == tag_key(second, [rule])
    others = [other for other in RULES if other != rule]
    assert tag_key(first, others) != tag_key(second, others)
    assert tag_key(first) == tag_key(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("news", "new"), ("physics", "physic"), ("c++", "c"), ("c#", "c"), (".net", "net"), ("bus", "bu")],
)
def test_what_only_looks_alike_stays_apart(first, second):
    assert tag_key(first) != tag_key(second)


@given(st.text(min_size=1, max_size=20))
def test_a_key_is_its_own_and_never_empty(tag):
    assert tag_key(tag, ["case", "separators"])
    assert tag_key(tag) == tag_key(tag.upper().lower()) or tag.upper().lower().casefold() != tag.casefold()


def test_merges_are_counted_listed_and_called_as_most_people_do():
    names = ["Recipe", "recipes", "soup", "spam"]
    source = Given([(0, 0, "ann", 1), (0, 1, "ann", 1), (0, 3, "ann", 1), (1, 1, "ben", 1), (1, 2, None, 3)], names)
    merged = MergedTags(source, RULES, exclude=["SPAM"])
    (block,) = merged.blocks()
    assert list(merged.tags) == ["recipes", "soup"]
    assert merged.merges == {"recipes": {"recipes": 2, "Recipe": 1}}
    assert merged.left_out == ["spam"]
    rows = [tuple(row.values())[:4] for row in block.taggings.to_pylist()]
    assert rows == [(0, 0, "ann", 1), (1, 0, "ben", 1), (1, 1, None, 3)]
    again = [b.taggings for b in merged.blocks(1)]
    assert list(merged.tags) == ["recipes", "soup"]
    assert sum(t.num_rows for t in again) == 3


def test_nameless_counts_are_added_and_only_included_tags_stay():
    merged = MergedTags(Given([(0, 0, None, 2), (0, 1, None, 3), (0, 2, None, 1)], ["A", "a", "b"]), ["case"], ["a"])
    (block,) = merged.blocks()
    assert [tuple(row.values())[:4] for row in block.taggings.to_pylist()] == [(0, 0, None, 5)]
    assert merged.left_out == ["b"]
