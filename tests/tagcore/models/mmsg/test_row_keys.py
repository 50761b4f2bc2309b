"""Keys of rows: what a row holds decides, not where it stands or how it is stored."""

import numpy as np
import scipy.sparse as sp

from tagcore.models.mmsg.row_keys import row_keys

ROWS = np.array([[1.0, 0.0, 2.0], [2.0, 0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])


def test_rows_have_the_same_key_where_they_hold_the_same():
    keys = row_keys(sp.csr_matrix(ROWS))
    assert keys[0] == keys[4]
    assert len(set(keys.tolist())) == 4
    assert row_keys(sp.csr_matrix(ROWS[1:2])).tolist() == [keys[1]]


def test_types_and_stored_zeros_do_not_matter():
    keys = row_keys(sp.csr_matrix(ROWS))
    assert np.array_equal(row_keys(sp.csr_matrix(ROWS, dtype=np.float32)), keys)
    stored = sp.csr_matrix((ROWS.ravel(), np.tile(np.arange(3, dtype=np.int64), 5), np.arange(0, 16, 3)), shape=(5, 3))
    assert stored.nnz == 15
    assert np.array_equal(row_keys(stored), keys)
