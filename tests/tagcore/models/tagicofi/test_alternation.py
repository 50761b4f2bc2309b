"""Exact alternation, against one dense linear system."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.graph.profiles import TagProfiles
from tagcore.graph.similarity import Likeness, no_graph, tag_graph
from tagcore.models.tagicofi.sides import Side
from tagcore.models.tagicofi.targets import count_targets
from tagcore.shards import InProcess
from tests.tagcore.models.tagicofi.problems import D, M, N, alternate, dense, objective, planted, sides, start


def best(side, others, base=0.0, weights=None):
    """All rows of a side at once: (blocks + β L ⊗ I) x = b."""
    R, Y, L = dense(side)
    n, width = len(R), others.shape[1]
    W = Y if weights is None else weights
    A = np.kron(side.pull * L + side.ridge * np.eye(n), np.eye(width))
    b = np.zeros(n * width)
    for i in range(n):
        block = slice(i * width, (i + 1) * width)
        A[block, block] += base + others.T @ (W[i][:, None] * others)
        b[block] = others.T @ R[i]
    return np.linalg.solve(A, b).reshape(n, width)


@pytest.mark.parametrize(("beta", "gamma"), [(0.0, 0.0), (3.0, 0.0), (40.0, 5.0)])
def test_a_round_solves_one_large_system_for_users_and_one_for_items(beta, gamma):
    users, items = sides(beta=beta, gamma=gamma)
    U, V, told = alternate(users, items, 1)
    expected = best(users, start()["items"])
    np.testing.assert_allclose(U, expected, atol=1e-8)
    np.testing.assert_allclose(V, best(items, expected), atol=1e-8)
    assert told[0] == pytest.approx(objective(users, items, U, V), rel=1e-10)


@pytest.mark.parametrize(("beta", "gamma"), [(0.0, 0.0), (3.0, 0.0), (1e4, 1e3)])
@pytest.mark.parametrize("cg_steps", [1, 3])
def test_the_objective_never_rises_however_few_steps_are_taken(beta, gamma, cg_steps):
    users, items = sides(beta=beta, gamma=gamma)
    told = alternate(users, items, 15, cg_steps=cg_steps)[2]
    assert (np.diff(told) <= 1e-10 * told[0]).all()
    assert told[0] < objective(users, items, *start().values())


@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_any_shards_and_threads_give_the_same_bits(gamma):
    users, items = sides(gamma=gamma)
    U, V, _ = alternate(users, items, 4, cg_tol=1e-2)
    for n_shards, threads in ((1, 2), (2, 1), (7, 1), (7, 3)):
        parts = alternate(users, items, 4, cg_tol=1e-2, n_shards=n_shards, executor=InProcess(threads))
        assert np.array_equal(parts[0], U), (n_shards, threads)
        assert np.array_equal(parts[1], V), (n_shards, threads)


def test_shards_are_of_equal_work():
    users, _ = sides()
    shards = users.shards(4, InProcess())
    work = [part.data["ratings"][1].size + part.data["links"][1].size for part in shards.collect(lambda s, _: s)]
    assert len(work) == 4
    assert max(work) < 1.5 * sum(work) / 4


def test_a_single_shard_is_worked_on_in_the_thread_that_asks():
    users, _ = sides()
    where = [users.shards(n, InProcess(2)).collect(lambda s, _: threading.get_ident())[0] for n in (1, 2)]
    assert where[0] == threading.get_ident() != where[1]


def test_without_beta_it_is_ridge_regression_and_the_graph_is_not_there():
    users, items = sides(beta=0.0)
    U, V, _ = alternate(users, items, 3)
    for other in (Side(users.values, None, no_graph(N), 0.7, 0.0), Side(users.values, None, no_graph(N), 0.7, 9.0)):
        W, X, _ = alternate(other, items, 3)
        assert np.array_equal(W, U)
        assert np.array_equal(X, V)


def test_two_with_the_same_tags_are_one_with_a_huge_beta():
    rated, tags = planted().ratings().matrix, sp.csr_matrix(([1, 2, 1, 2], ([3, 3, 8, 8], [0, 1, 0, 1])), (N, 2))
    graph = tag_graph(TagProfiles.of(tags.astype(float)), Likeness("pearson", "common", n_neighbors=None))
    assert graph.links.nnz == 2
    U = alternate(Side(rated, None, graph, 0.7, 1e7), sides()[1], 5)[0]
    np.testing.assert_allclose(U[3], U[8], atol=1e-6)
    assert not np.allclose(U[3], U[9], atol=1e-2)


def test_an_item_that_nobody_rated_has_no_factors_and_a_rating_of_0_is_one():
    rated = planted().ratings().matrix.copy()
    rated.data[rated.indices == 5] = 0.0
    without = rated.copy()
    without.eliminate_zeros()
    U, _, _ = alternate(*sides(rated=rated), 1)
    _, V, _ = alternate(*sides(rated=without), 2)
    assert np.array_equal(V[5], np.zeros(D))
    met = np.unique(planted().ratings().matrix[:, [5]].nonzero()[0])
    assert (np.abs(U[met] - alternate(*sides(rated=without), 1)[0][met]).max(axis=1) > 1e-3).all()


def test_counts_are_preferences_of_which_some_are_surer():
    """against the objective over all cells."""
    rated = planted().ratings().matrix
    targets = count_targets(rated, 2.0)
    sure = 1.0 + np.zeros(rated.shape)
    there = dense(Side(rated, None, no_graph(N), 0, 0))[1] > 0
    sure[there] += 2.0 * np.log1p(rated.toarray()[there])
    graph = sides()[0].graph
    values, weights = (
        type(rated)((v, rated.indices, rated.indptr), rated.shape) for v in (targets.values, targets.weights)
    )
    users = Side(values, weights.data, graph, 0.7, 3.0)
    items = Side(values.T.tocsr(), weights.T.tocsr().data, no_graph(M), 1.3, 0.0)
    U, V, told = alternate(users, items, 1, constant=targets.constant)
    L, V0 = dense(users)[2], start()["items"]
    np.testing.assert_allclose(U, best(users, V0, V0.T @ V0, np.where(there, sure - 1, 0)), atol=1e-8)
    np.testing.assert_allclose(V, best(items, U, U.T @ U, np.where(there, sure - 1, 0).T), atol=1e-8)
    full = (sure * (there - U @ V.T) ** 2).sum() + 0.7 * (U**2).sum() + 1.3 * (V**2).sum() + 3.0 * np.trace(U.T @ L @ U)
    assert told[0] == pytest.approx(0.5 * full, rel=1e-10)
    with pytest.raises(ValueError, match=r"a count is -1\.0, expected numbers from 0"):
        count_targets(-rated.sign(), 2.0)
