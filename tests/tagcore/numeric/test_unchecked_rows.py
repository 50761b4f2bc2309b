"""A flat copy shares arrays and lets go of those that are set anew."""

import numpy as np
import scipy.sparse as sp

from tagcore.numeric.unchecked_rows import flat_copy


def test_arrays_are_shared_until_they_are_set():
    X = sp.csr_matrix([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    before = X.toarray()
    rows = flat_copy(X)
    assert type(rows) is type(X)
    assert rows.data is X.data
    assert np.array_equal(rows.toarray(), before)
    rows.data = rows.data * 2
    assert np.array_equal(X.toarray(), before)
    assert np.array_equal(rows.toarray(), 2 * before)
