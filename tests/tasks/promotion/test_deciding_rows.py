"""Which held-out documents decide, and what is said of them."""

import numpy as np
import pyarrow as pa
import pytest

from tagcore.corpus import Corpus
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tasks.promotion.deciding_rows import choose_deciding_rows, find_unlearnt
from tasks.registry.tracking import read_split

FIXED = np.array([True] * 6 + [False] * 4)
UNLEARNT = np.arange(10) % 2 == 0


@pytest.mark.parametrize(
    ("fixed", "unlearnt", "least", "decide", "told"),
    [
        (None, None, 3, np.ones(10, bool), "documents"),
        (FIXED, None, 3, FIXED, "documents"),
        (
            FIXED,
            None,
            7,
            np.ones(10, bool),
            "documents, later ones among them: of those that the first",
        ),
        (FIXED, UNLEARNT, 3, FIXED & UNLEARNT, "documents that the champion's own split held out, too"),
        (FIXED, UNLEARNT, 4, FIXED, "documents, some of which the champion may have learnt: it was made with another"),
        (None, UNLEARNT, 5, UNLEARNT, "documents that the champion's own split held out, too"),
    ],
)
def test_as_many_decide_as_can_be_asked_without_favour(fixed, unlearnt, least, decide, told):
    rows, said = choose_deciding_rows(10, fixed, unlearnt, least)
    np.testing.assert_array_equal(rows, decide)
    assert said.startswith(told)


def test_the_same_sides_need_no_look_at_the_documents():
    split = Split("newest", 0.2, after=1, until=5)
    assert find_unlearnt(None, split, Split("newest", 0.2, after=1, until=5, exceptions=("a",), min_tag_df=3)) is None


def test_what_another_split_held_out_is_found_where_it_can_be_told(tmp_path):
    Corpus.from_texts(["words"] * 40, [["tag"]] * 40).save(tmp_path / "corpus")
    stored, split = Dataset.open(tmp_path / "corpus", "corpus"), Split("drawn", 0.5, 1)
    ids = stored.read("documents", ["id"])["id"].to_pylist()
    tested = [name for name, held in zip(ids, split.held_out(pa.table({"id": ids})), strict=True) if held]
    before = Split("drawn", 0.5, 2)
    expected = before.held_out(pa.table({"id": tested}))
    assert 0 < expected.sum() < len(tested)
    np.testing.assert_array_equal(find_unlearnt(stored, split, before), expected)
    for unknown in (Split("official"), Split("drawn", 7, 2)):
        np.testing.assert_array_equal(find_unlearnt(stored, split, unknown), np.zeros(len(tested), bool))


def test_a_split_is_read_from_what_a_version_tells():
    told = '{"kind": "drawn", "test": 0.3, "seed": 4}'
    assert read_split({"made.split": told}) == Split("drawn", 0.3, 4)
    for tags in ({}, {"made.split": '{"kind": "dra'}, {"made.split": '{"users": 3}'}):
        assert read_split(tags) is None
