"""Singular triplets against scipy, the trivial one, and the Laplacian of the whole graph."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from tagcore.graph.lanczos import golub_kahan, leading_pair
from tests.problems import noisy
from tests.tagcore.graph.whole_graph import whole_graph


@pytest.fixture(scope="module")
def graph():
    X, Y = noisy(200)
    return whole_graph(Y, X)


def squared_norm(matrix):
    return float((matrix.data**2).sum())


def test_triplets_are_those_of_scipy_and_begin_with_the_trivial_one(graph):
    C = graph.normalised()
    found = golub_kahan(C, 6, squared_norm=squared_norm(C))
    _, sigma, _ = svds(C, k=6, v0=np.ones(min(C.shape)), tol=1e-12)
    np.testing.assert_allclose(found.sigma, np.sort(sigma)[::-1], atol=1e-7)
    one, u1, v1 = graph.trivial_triplet()
    assert found.sigma[0] == pytest.approx(one, abs=1e-9)
    np.testing.assert_allclose(np.abs(found.u[:, 0]), u1, atol=1e-6)
    np.testing.assert_allclose(np.abs(found.v[:, 0]), v1, atol=1e-6)
    np.testing.assert_allclose(C @ found.v, found.u * found.sigma, atol=1e-6)
    np.testing.assert_allclose(C.T @ found.u, found.v * found.sigma, atol=1e-6)
    np.testing.assert_allclose(found.u.T @ found.u, np.eye(6), atol=1e-9)
    assert found.captured == pytest.approx((found.sigma**2).sum() / squared_norm(C))


def test_one_minus_sigma_are_the_smallest_eigenvalues_of_the_laplacian(graph):
    C = graph.normalised().toarray()
    m, n = C.shape
    laplacian = np.eye(m + n)
    laplacian[:m, m:], laplacian[m:, :m] = -C, -C.T
    eigenvalues = np.linalg.eigvalsh(laplacian)
    found = golub_kahan(sp.csr_matrix(C), 5, squared_norm=float((C**2).sum()))
    np.testing.assert_allclose(1 - found.sigma, eigenvalues[:5], atol=1e-9)
    assert eigenvalues[-1] == pytest.approx(2)


def test_it_stops_where_enough_is_captured(graph):
    C = graph.normalised()
    all_of_them = golub_kahan(C, 20, squared_norm=squared_norm(C))
    share = float((all_of_them.sigma[:4] ** 2).sum() / squared_norm(C))
    few = golub_kahan(C, 20, squared_norm=squared_norm(C), share=share - 1e-9)
    assert few.sigma.size == 4
    np.testing.assert_allclose(few.sigma, all_of_them.sigma[:4], atol=1e-8)


@pytest.mark.parametrize("shape", [(3, 30), (30, 3), (4, 4), (1, 5)])
def test_a_matrix_with_a_short_side_has_all_its_triplets(shape):
    matrix = np.random.default_rng(0).random(shape)
    found = golub_kahan(sp.csr_matrix(matrix), 9, squared_norm=float((matrix**2).sum()))
    sigma = np.linalg.svd(matrix, compute_uv=False)
    np.testing.assert_allclose(found.sigma, sigma, atol=1e-9)
    np.testing.assert_allclose((found.u * found.sigma) @ found.v.T, matrix, atol=1e-9)
    assert found.captured == pytest.approx(1)


def test_a_matrix_of_low_rank_is_an_invariant_subspace():
    rng = np.random.default_rng(0)
    low = rng.random((30, 2)) @ rng.random((2, 20))
    found = golub_kahan(sp.csr_matrix(low), 5, squared_norm=float((low**2).sum()))
    np.testing.assert_allclose(found.sigma, np.linalg.svd(low)[1][:5], atol=1e-9)


@pytest.mark.parametrize("rows", [3, 12, 200])
def test_the_leading_pair_of_the_gram_matrix_is_the_second_of_the_graph(rows):
    X, Y = noisy(rows + 1)
    graph = whole_graph(Y, X)
    C = graph.normalised()
    value, v = leading_pair(lambda x: C.T @ (C @ x), graph.trivial_triplet()[2])
    found = golub_kahan(C, 2, squared_norm=squared_norm(C))
    assert np.sqrt(max(value, 0.0)) == pytest.approx(found.sigma[1], abs=1e-7)
    np.testing.assert_allclose(C.T @ (C @ v), value * v, atol=1e-7)
    assert abs(v @ graph.trivial_triplet()[2]) < 1e-9
    assert np.linalg.norm(v) == pytest.approx(1)
