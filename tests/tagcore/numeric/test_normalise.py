"""Rows of unit length."""

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.normalise import normalise_rows


def test_rows_get_unit_length_and_rows_of_zeros_stay():
    X = sp.csr_matrix([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    expected = [[0.6, 0.8, 0.0], [0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    np.testing.assert_allclose(normalise_rows(X, True).toarray(), expected)
    assert X[0, 0] == 3.0  # the caller's rows are left as they were


def test_rows_stay_as_they_are_where_it_is_not_wanted():
    X = sp.csr_matrix([[3.0, 4.0]])
    assert normalise_rows(X, False) is X
