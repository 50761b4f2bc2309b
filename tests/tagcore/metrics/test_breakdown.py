"""Head, torso and tail against a plain walk down the tags, and their quality against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from tagcore.metrics.breakdown import breakdown_table, frequency_groups
from tagcore.metrics.label_quality import label_counts


@given(st.lists(st.integers(0, 12), min_size=1, max_size=20))
def test_groups_by_walking_down(counts):
    total = sum(counts)
    for tag, group in enumerate(frequency_groups(np.array(counts))):
        above = sum(c for c in counts if c > counts[tag])
        if counts[tag] == 0:
            assert group == 3
        else:
            assert group == (0 if 3 * above < total else 1 if 3 * above < 2 * total else 2)


def test_each_group_has_about_a_third_of_the_taggings():
    counts = (10_000 / np.arange(1, 2000)).astype(int)
    groups = frequency_groups(counts)
    shares = [counts[groups == g].sum() / counts.sum() for g in range(3)]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.1)
    assert (np.diff(groups) >= 0).all()
    assert frequency_groups(np.zeros(2)).tolist() == [3, 3]


@pytest.fixture
def tagged():
    rng = np.random.default_rng(0)
    train_counts = np.array([40, 25, 20, 9, 9, 8, 5, 5, 4, 3, 2, 1, 0, 0])
    truth = (rng.random((60, 14)) < 0.2).astype(int)
    truth[:, 9] = 0
    return truth, (rng.random(truth.shape) < 0.3).astype(int), train_counts


def test_quality_of_groups_equals_scikit_learn(tagged):
    truth, predicted, train_counts = tagged
    groups = frequency_groups(train_counts)
    rows = breakdown_table(label_counts(truth, predicted), train_counts).to_pylist()
    assert [r["group"] for r in rows] == ["head", "torso", "tail", "unseen"]
    for number, row in enumerate(rows):
        tags = np.flatnonzero(groups == number)
        tested = tags[truth[:, tags].any(axis=0)]
        assert (row["tags"], row["tags_in_test"]) == (tags.size, tested.size)
        assert (row["lowest"], row["highest"]) == (train_counts[tags].min(), train_counts[tags].max())
        assert (row["trained"], row["tested"]) == (train_counts[tags].sum(), truth[:, tags].sum())
        assert row["predicted"] == predicted[:, tags].sum()
        for average, of in (("micro", tags), ("macro", tested)):
            expected = precision_recall_fscore_support(truth[:, of], predicted[:, of], average=average)[:3]
            found = [row[f"{average}_{name}"] for name in ("precision", "recall", "f1")]
            assert found == pytest.approx(expected, abs=1e-14)


def test_groups_without_tags_and_tags_without_tests():
    counts = label_counts(np.zeros((2, 2)), np.eye(2))
    table = breakdown_table(counts, np.array([5, 5]))
    assert table["group"].to_pylist() == ["head"]
    assert table["macro_recall"].to_pylist() == [None]
    assert table["micro_precision"].to_pylist() == [0]
    unknown = breakdown_table(counts, None)
    assert unknown.num_rows == 0
    assert unknown.schema == table.schema


def test_bad_counts_are_named():
    with pytest.raises(ValueError, match="none of them negative"):
        frequency_groups(np.array([1, -1]))
    with pytest.raises(ValueError, match=r"train_counts has shape \(3,\), expected one for each of 2 tags"):
        breakdown_table(label_counts(np.eye(2), np.eye(2)), np.ones(3))
