"""Covariance functions against scikit-learn's kernels, quadrature and differences, on dense and CSR rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import erf
from sklearn.gaussian_process.kernels import RBF

from tagcore.numeric.covariance import COVARIANCES, NeuralNetwork, SquaredExponential
from tagcore.numeric.dots import squared_distances
from tagcore.numeric.read_only import freeze

SCALES = [1.7, np.array([0.6, 2.0, 1.1, 5.0])]


def rows(n, seed):
    """half of the values zero, so that the CSR form is one."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.5)


@pytest.mark.parametrize("scale", SCALES, ids=["shared", "ard"])
def test_squared_exponential_is_that_of_scikit_learn(scale):
    X, Z = rows(9, 0), rows(5, 1)
    ours = SquaredExponential(scale, 1.5)
    np.testing.assert_allclose(ours.between(X, Z), 2.25 * RBF(scale)(X, Z), rtol=1e-12)
    np.testing.assert_allclose(ours.diagonal(X), np.diag(ours.between(X, X)), rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES, ids=["shared", "ard"])
def test_the_network_is_one_of_infinitely_many_error_function_units(scale):
    """E[erf(wᵀx̃) erf(wᵀz̃)] over w ~ N(0, Σ), by quadrature in the plane of the two arguments."""
    X, Z = rows(3, 2), rows(2, 3)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    expected = np.empty((3, 2))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            pair = np.stack([np.append(0.8, x / scale), np.append(0.8, z / scale)])  # the bias is 0.8
            root = np.linalg.cholesky(pair @ pair.T + 1e-14 * np.eye(2))
            a, b = root[0, 0] * nodes[:, None], root[1, 0] * nodes[:, None] + root[1, 1] * nodes
            expected[i, j] = weights @ (erf(a) * erf(b)) @ weights
    ours = NeuralNetwork(scale, 1.5, bias=0.8)
    np.testing.assert_allclose(ours.between(X, Z), 2.25 * expected, atol=1e-4)
    np.testing.assert_allclose(ours.diagonal(X), np.diag(ours.between(X, X)), rtol=1e-12)


@pytest.mark.parametrize("name", COVARIANCES)
@pytest.mark.parametrize("scale", SCALES, ids=["shared", "ard"])
@pytest.mark.parametrize("sparse", [False, True])
def test_slopes_are_differences(name, scale, sparse):
    make = sp.csr_matrix if sparse else np.asarray
    X, Z, weights = freeze(make(rows(7, 4))), freeze(make(rows(5, 5))), np.random.default_rng(6).normal(size=(7, 5))
    ours = COVARIANCES[name](scale, 1.3)
    slopes = ours.length_scale_slopes(X, Z, ours.between(X, Z), weights)
    for d in range(np.size(scale)):
        sums = []
        for sign in (-1, 1):
            moved = np.array(scale, float)
            moved.reshape(-1)[d] *= np.exp(sign * 1e-5)
            sums.append((weights * COVARIANCES[name](moved, 1.3).between(X, Z)).sum())
        assert slopes[d] == pytest.approx((sums[1] - sums[0]) / 2e-5, rel=1e-7, abs=1e-9)
    assert slopes.shape == (np.size(scale),)


@pytest.mark.parametrize("name", COVARIANCES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_and_csr_rows_have_the_same_covariances(name, dtype):
    X, Z = rows(9, 7).astype(dtype), rows(5, 8)
    ours = COVARIANCES[name](SCALES[1])
    expected = ours.between(X, Z)
    for left in (X, sp.csr_matrix(X)):
        for right in (Z, sp.csr_matrix(Z)):
            found = ours.between(freeze(left), freeze(right))
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(ours.diagonal(sp.csr_matrix(X)), ours.diagonal(X), rtol=1e-6)


def test_distances_are_never_below_zero():
    X = 1e4 + rows(6, 9)
    found = squared_distances(X, X)
    assert (found >= 0).all()
    np.testing.assert_allclose(found, ((X[:, None] - X) ** 2).sum(axis=2), atol=1e-6)
