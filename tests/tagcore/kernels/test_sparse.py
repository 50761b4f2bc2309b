"""Products of sparse rows against scipy's and, to the last bit, against sums in the order that they name."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.kernels.sparse import (
    add_sparse_product,
    add_transposed_product,
    lower_gram,
    multiply_dense,
    multiply_dense_fused,
)

COLUMNS = pytest.mark.parametrize("columns", [1, 3, 16, 33, 130])


def rows(n=40, words=25, dtype=np.float32):
    """Rows of no, one and many entries."""
    rng = np.random.default_rng(1)
    X = sp.csr_matrix(rng.normal(size=(n, words)) * (rng.random((n, words)) < np.linspace(0, 0.9, n)[:, None]))
    return X.astype(dtype)


def dense(shape, dtype=np.float32):
    return np.random.default_rng(2).normal(size=shape).astype(dtype)


@COLUMNS
def test_rows_times_a_dense_matrix_add_in_the_order_of_the_entries(columns):
    X, B = rows(), dense((25, columns))
    out = np.full((40, columns), np.nan, np.float32)
    multiply_dense(X.data, X.indices, X.indptr, B, out)
    for i in range(40):
        total = np.zeros(columns, np.float32)
        for p in range(X.indptr[i], X.indptr[i + 1]):
            total += X.data[p] * B[X.indices[p]]
        assert np.array_equal(out[i], total)


@COLUMNS
def test_transposed_rows_are_added_in_the_order_of_the_rows(columns):
    X, B = rows(), dense((40, columns))
    out, total = np.ones((25, columns), np.float32), np.ones((25, columns), np.float32)
    add_transposed_product(X.data, X.indices, X.indptr, B, out)
    for i in range(40):
        for p in range(X.indptr[i], X.indptr[i + 1]):
            total[X.indices[p]] += X.data[p] * B[i]
    assert np.array_equal(out, total)


@COLUMNS
def test_the_fused_product_is_scipys_and_makes_the_transposed_one_too(columns):
    X = rows(dtype=np.float64)
    for A, csr in ((X, X), (X.T, X.tocsc())):
        B = dense((A.shape[1], columns), np.float64)
        out = np.full((A.shape[0], columns), np.nan)
        multiply_dense_fused(csr.data, csr.indices, csr.indptr, B, out)
        np.testing.assert_allclose(out, A @ B, atol=1e-12)


def test_rows_times_a_sparse_matrix_are_added():
    X = rows(dtype=np.float64)
    other = sp.random(25, 9, 0.3, format="csr", random_state=3)
    out = np.ones((40, 9))
    add_sparse_product(X.data, X.indices, X.indptr, other.data, other.indices, other.indptr, out)
    np.testing.assert_allclose(out, 1.0 + (X @ other).toarray(), atol=1e-12)


def test_the_gram_matrix_has_its_lower_triangle():
    X = rows(dtype=np.float64)
    by_word, out = X.tocsc(), np.zeros((25, 25))
    lower_gram(X.data, X.indices, X.indptr, by_word.data, by_word.indices, by_word.indptr, out)
    np.testing.assert_allclose(out, np.tril((X.T @ X).toarray()), atol=1e-12)
