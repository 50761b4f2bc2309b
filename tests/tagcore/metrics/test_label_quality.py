"""Precision, recall and F1 of labels against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import multilabel_confusion_matrix, precision_recall_fscore_support

from tagcore.metrics.label_quality import label_counts, label_counts_at, per_tag_table
from tests.tagcore.metrics.problems import messy_csr, ranking, truth_and_scores


@st.composite
def two_labellings(draw):
    shape = draw(st.integers(1, 10)), draw(st.integers(2, 6))  # scikit-learn takes a single column for binary labels
    return tuple(draw(arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 2]))) for _ in range(2))


@given(two_labellings())
def test_equal_to_scikit_learn(pair):
    truth, predicted = ((m > 0).astype(int) for m in pair)
    label_totals = label_counts(*(messy_csr(m) for m in pair))
    confusion = multilabel_confusion_matrix(truth, predicted)
    assert label_totals.tp.tolist() == confusion[:, 1, 1].tolist()
    assert label_totals.fp.tolist() == confusion[:, 0, 1].tolist()
    assert label_totals.fn.tolist() == confusion[:, 1, 0].tolist()
    for average, quality in (
        (None, label_totals.per_label()),
        ("micro", label_totals.micro()),
        ("macro", label_totals.macro()),
    ):
        expected = precision_recall_fscore_support(truth, predicted, average=average, zero_division=0)[:3]
        np.testing.assert_allclose(quality, expected, atol=1e-14)


@given(truth_and_scores(), st.data())
def test_the_first_k_of_a_ranking(problem, data):
    counts, scores = problem
    k = data.draw(st.integers(1, counts.shape[1]))
    top = ranking(scores, counts.shape[1])
    chosen = np.zeros(counts.shape)
    np.put_along_axis(chosen, top[:, :k], 1, axis=1)
    label_totals = label_counts_at(messy_csr(counts), top, k)
    assert label_totals.tp.tolist() == ((counts > 0) & (chosen > 0)).sum(axis=0).tolist()
    assert (label_totals.tp + label_totals.fp).tolist() == chosen.sum(axis=0).tolist()
    assert (label_totals.tp + label_totals.fn).tolist() == (counts > 0).sum(axis=0).tolist()


def test_one_label_and_no_label():
    one = label_counts([[1], [0], [1]], [[1], [1], [0]])
    assert one.macro() == one.micro() == (0.5, 0.5, 0.5)
    assert label_counts(sp.csr_matrix((3, 2)), sp.csr_matrix((3, 2))).micro() == (0, 0, 0)


def test_table_per_tag():
    truth, predicted = np.array([[1, 0, 1], [0, 0, 1]]), np.array([[1, 1, 0], [0, 0, 1]])
    table = per_tag_table(label_counts(truth, predicted), np.array([7, 0, 2]), ["a", "b", "ç"])
    assert table.to_pydict() == {
        "tag": ["a", "b", "ç"],
        "train_count": [7, 0, 2],
        "test_count": [1, 0, 2],
        "predicted": [1, 1, 1],
        "precision": [1, 0, 1],
        "recall": [1, 0, 0.5],
        "f1": [1, 0, pytest.approx(2 / 3)],
    }
    bare = per_tag_table(label_counts(truth, predicted))
    assert bare["tag"].to_pylist() == ["0", "1", "2"]
    assert bare["train_count"].null_count == 3
    assert bare.schema == table.schema


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"truth has shape \(2, 2\), the prediction \(2, 3\)"):
        label_counts(np.eye(2), np.eye(2, 3))
    with pytest.raises(ValueError, match="k is 2, expected 1 to 1"):
        label_counts_at(np.eye(2), np.array([[0], [1]]), 2)
    with pytest.raises(ValueError, match="names has 1 entries, expected one for each of 2 tags"):
        per_tag_table(label_counts(np.eye(2), np.eye(2)), None, ["a"])
    with pytest.raises(ValueError, match="train_counts has 3 entries"):
        per_tag_table(label_counts(np.eye(2), np.eye(2)), np.ones(3), ["a", "b"])
