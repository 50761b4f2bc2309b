"""Labels of rankings and of thresholds against counting by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagcore.labelling.labels import top_k_labels
from tests.tagcore.metrics.problems import ranking, truth_and_scores


@given(truth_and_scores(), st.data())
def test_top_k_labels(problem, data):
    _, scores = problem
    k = data.draw(st.integers(0, scores.shape[1]))
    top = ranking(scores, k)
    expected = np.zeros(scores.shape, np.int8)
    np.put_along_axis(expected, top, 1, axis=1)
    labels = top_k_labels(top, scores.shape[1])
    assert labels.dtype == np.int8
    assert labels.has_canonical_format
    np.testing.assert_array_equal(labels.toarray(), expected)


@pytest.mark.parametrize("row", [[0, 0], [-1, 0], [0, 3]])
def test_bad_rankings_are_named(row):
    with pytest.raises(ValueError, match=r"row 1 of the ranking is .* expected ids from 0 to 2, each once"):
        top_k_labels(np.array([[0, 1], row]), 3)


def test_no_rows_have_no_labels():
    assert top_k_labels(np.zeros((0, 2), int), 3).shape == (0, 3)
