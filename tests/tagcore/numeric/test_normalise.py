"""Rows of unit length: scikit-learn's, bit for bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from tagcore.numeric.normalise import normalise_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_those_of_scikit_learn_to_the_last_bit(dtype):
    rng = np.random.default_rng(0)
    X = sp.random(300, 50, 0.2, format="csr", dtype=dtype, rng=rng)
    X.data *= 10.0 ** rng.integers(-12, 12, X.nnz).astype(dtype)
    X.data[:5] = 0
    kept = X.copy()
    ours, theirs = normalise_rows(X, True), normalize(X)
    assert ours.data.tobytes() == theirs.data.tobytes()
    assert ours.dtype == theirs.dtype
    assert ours.indices.tolist() == theirs.indices.tolist()
    assert ours.has_canonical_format
    assert X.data.tobytes() == kept.data.tobytes()
    assert normalise_rows(X, False) is X
    assert normalise_rows(sp.csr_matrix((3, 4), dtype=dtype), True).nnz == 0
