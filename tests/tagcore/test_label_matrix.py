"""Tags and observed cells as matrices: every form is taken, y is left alone, odd labels are named."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagcore.label_matrix import label_matrix, observed_cells, present_labels


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.coo_matrix, np.asarray])
def test_observed_cells_are_ones(form):
    given = np.array([[0.0, 2.0], [0.5, 0.0]])
    cells = observed_cells(form(given), (2, 2))
    np.testing.assert_array_equal(cells.toarray(), [[0, 1], [1, 0]])
    assert cells.nnz == 2
    assert given.max() == 2.0


def test_negative_observed_cells_are_named():
    with pytest.raises(ValueError, match=r"observed holds -1\.0, expected 0 or"):
        observed_cells([[1.0, -1.0]], (1, 2))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array, np.asarray])
def test_label_matrix_takes_every_form(form):
    counts = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0]])
    found = label_matrix(form(counts), 3)
    assert isinstance(found, sp.csr_matrix)
    assert found.dtype == np.float64
    assert found.nnz == 2
    np.testing.assert_array_equal(found.toarray(), counts)


def test_labels_to_read_are_copied_only_where_they_must_change():
    whole = sp.csr_matrix([[0, 2, 1], [1, 0, 0]])
    assert present_labels(whole, 2) is whole
    starts = np.array([0, 2, 3])
    for values, labels in (([1, 0, 3], [0, 2, 1]), ([1, 2, 3], [2, 0, 1]), ([1, 2, 3], [2, 2, 1])):
        messy = sp.csr_matrix((np.array(values), np.array(labels), starts), shape=(2, 3))
        found = present_labels(messy, 2)
        assert found.has_canonical_format
        assert (found.data > 0).all()
        np.testing.assert_array_equal(found.toarray(), messy.toarray())
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"negative count|NaN|infinity"):
            present_labels(sp.csr_matrix([[1.0, wrong]]), 1)
    with pytest.raises(ValueError, match="X has 3 rows, y has 2"):
        present_labels(whole, 3)


def test_label_matrix_leaves_y_alone():
    y = sp.csr_matrix((np.array([1.0, 2.0, 0.0, 3.0]), np.array([2, 2, 1, 0]), np.array([0, 3, 4])), shape=(2, 3))
    before = [part.copy() for part in (y.data, y.indices, y.indptr)]
    found = label_matrix(y, 2)
    for part, old in zip((y.data, y.indices, y.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old, strict=True)
    np.testing.assert_array_equal(found.toarray(), [[0, 0, 3], [3, 0, 0]])
    assert found.nnz == 2
    assert found.has_canonical_format
    found.data[:] = 9
    np.testing.assert_array_equal(y.data, before[0])


def test_label_matrix_takes_read_only_arrays():
    y = sp.csr_matrix(np.eye(3))
    for part in (y.data, y.indices, y.indptr):
        part.setflags(write=False)
    np.testing.assert_array_equal(label_matrix(y, 3).toarray(), np.eye(3))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([[1, 0]], "X has 2 rows, y has 1"),
        ([[1, 0], [0, -2]], r"negative count -2\.0 in row 1, tag 1"),
        (sp.csr_matrix([[0, 0], [0, -2]]), r"negative count -2\.0 in row 1, tag 1"),
        ([[1, np.nan], [0, 1]], "NaN"),
        ([["a", "b"], ["c", "d"]], "by name, expected rows × tags"),
        (np.zeros((2, 2, 2)), "dim 3"),
    ],
)
def test_odd_labels_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        label_matrix(y, 2)


@pytest.mark.parametrize("y", [[0, 1, 2], [3, 3, 3], ["a", "b", "a"], np.array([0.5, 1, 0]), [-1, 1, -1]])
def test_one_class_for_each_row_is_no_tag(y):
    with pytest.raises(ValueError, match=r"y has one dimension and holds .*: one class .*LabelBinarizer"):
        label_matrix(y, 3)


@pytest.mark.parametrize("y", [[0, 1, 1], [False, True, True], np.array([0.0, 1.0, 1.0])])
def test_one_tag_may_have_one_dimension(y):
    np.testing.assert_array_equal(label_matrix(y, 3).toarray(), [[0], [1], [1]])


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 5)),
        elements=st.sampled_from([0.0, 1.0, 2.0, -1.0, -3.0]),
    )
)
def test_the_named_negative_count_is_there(y):
    if y.min() >= 0:
        np.testing.assert_array_equal(label_matrix(y, len(y)).toarray(), y)
        return
    with pytest.raises(ValueError, match="negative count") as caught:
        label_matrix(sp.csr_matrix(y), len(y))
    words = str(caught.value).replace(",", "").split()
    row, tag = int(words[words.index("row") + 1]), int(words[words.index("tag") + 1])
    assert y[row, tag] == y.min()


@pytest.mark.parametrize("y", [[["bread"], ["cars", "bread"]], [[], {"bread"}], (("a", "b"), ("c", "d"))])
def test_names_of_tags_are_refused_with_what_was_expected(y):
    with pytest.raises(ValueError, match=r"y lists the tags of each row by name, expected rows × tags"):
        label_matrix(y, 2)
