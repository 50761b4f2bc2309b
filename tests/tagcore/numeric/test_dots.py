"""Products of rows and their lengths, dense or CSR, against numpy and scipy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.numeric.dots import RightRows, dot_block, squared_distances, squared_lengths


@given(
    rows=st.integers(0, 8),
    columns=st.integers(1, 40),
    density=st.sampled_from([0.0, 0.1, 0.9]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 1000),
)
def test_lengths_are_those_of_scipy_bit_for_bit(rows, columns, density, dtype, seed):
    X = sp.random(rows, columns, density, format="csr", dtype=dtype, random_state=seed)
    X.data = np.concatenate([X.data, np.full(3, 7, dtype)])  # room behind the entries, as scipy leaves it at times
    lengths = squared_lengths(X)
    trimmed = sp.csr_matrix((X.data[: X.indptr[-1]], X.indices, X.indptr), X.shape)
    expected = np.asarray(trimmed.astype(np.float64).power(2).sum(axis=1)).ravel()
    assert lengths.tolist() == expected.tolist()


@pytest.mark.parametrize("left", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("right", [np.asarray, sp.csr_matrix])
def test_rows_that_were_made_ready_give_the_same_as_those_that_were_not(left, right):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(5, 7)), rng.normal(size=(4, 7))
    X[2], Z[1] = 0.0, 0.0
    ready = RightRows(right(Z))
    for first in range(5):
        part = left(X[first:])
        np.testing.assert_allclose(ready.dots(part), X[first:] @ Z.T, rtol=1e-12, atol=1e-12)
        assert np.array_equal(ready.dots(part), dot_block(part, right(Z)))
    np.testing.assert_allclose(ready.squares, (Z**2).sum(axis=1))
    brute = ((X[:, None] - Z) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(left(X), right(Z)), brute, atol=1e-12)
