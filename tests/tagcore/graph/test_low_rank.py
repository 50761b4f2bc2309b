"""Cuts from thin factors: all triplets cut as the edges do, few of them as the dense low-rank matrix does."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.graph.clusters import CutLearner, clusters_of, column_scale
from tagcore.graph.halving import halve
from tagcore.graph.low_rank import second_pair, thin_factors
from tagcore.training import train
from tests.tagcore.graph.test_clusters import blocks, cut_into_clusters, shards_of_edges
from tests.tagcore.graph.whole_graph import normalised_cut


def cut_from_factors(Y, B, n_clusters, k, n_shards=1, **settings):
    shards = shards_of_edges(Y, B)
    scale = column_scale(shards, Y.shape[1], "balanced")
    factors = thin_factors(shards, scale, k, most_edges=0)
    shards = shards_of_edges(Y, B, n_shards)
    made = train(CutLearner(scale, n_clusters, factors=factors, **settings), shards, max_rounds=n_clusters - 1)
    return clusters_of(shards, made.arrays, scale, Y.shape[1]), factors


def dense_graph(seed=0, m=30, n=12):
    """Weights with an edge everywhere, but for the last row and column, which have none."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 4, (m, n)) + 5.0 * (rng.random((m, n)) < 0.3)
    weights[-1], weights[:, -1] = 0, 0
    return weights


def low_rank_of(weights, k):
    """(D^½ U_k Σ_k V_kᵀ E^½, share of the squared norm that is kept), all dense."""
    d, e = np.sqrt(weights.sum(axis=1)), np.sqrt(weights.sum(axis=0))
    outer = np.outer(d, e)
    U, sigma, V = np.linalg.svd(np.divide(weights, outer, out=np.zeros_like(weights), where=outer > 0))
    return outer * ((U[:, :k] * sigma[:k]) @ V[:k]), (sigma[:k] ** 2).sum() / (sigma**2).sum()


@pytest.mark.parametrize(("choose", "noise"), [("largest", 0.05), ("largest", 0.2), ("ncut", 0.05)])
def test_all_triplets_cut_as_the_edges_do(choose, noise):
    Y, B, _ = blocks(noise=noise)
    exact = cut_into_clusters(Y, B, 6, choose=choose)
    found, factors = cut_from_factors(Y, B, 6, min(Y.shape[0], Y.shape[1] + B.shape[1]), choose=choose)
    assert factors.captured == pytest.approx(1)
    for name in ("documents", "tags", "words"):
        np.testing.assert_array_equal(getattr(found, name), getattr(exact, name))
    for here, there in zip(found.splits, exact.splits, strict=True):
        assert (here.ncut, here.sigma) == pytest.approx((there.ncut, there.sigma), abs=1e-6)


@pytest.mark.parametrize("n_shards", [1, 3])
def test_few_triplets_find_planted_blocks(n_shards):
    Y, B, truth = blocks(noise=0.05)
    found, factors = cut_from_factors(Y, B, 4, 4, n_shards)
    assert factors.sigma.size == 4
    assert 0 < factors.captured < 0.9
    assert len(set(zip(truth, found.documents, strict=True))) == 4


def test_factors_are_those_of_the_dense_matrix():
    weights = dense_graph()
    shards = shards_of_edges(sp.csr_matrix(weights[:, :4]), sp.csr_matrix(weights[:, 4:]))
    scale = np.linspace(0.5, 2.0, weights.shape[1])
    factors = thin_factors(shards, scale, 3, most_edges=0)
    expected, captured = low_rank_of(weights * scale, 3)
    np.testing.assert_allclose((factors.left * factors.sigma) @ factors.right.T, expected, atol=1e-6)
    assert factors.captured == pytest.approx(captured, abs=1e-8)
    degrees = (weights * scale).sum(axis=1)[:-1]
    trivial = factors.coordinates()[:-1, 0]
    np.testing.assert_allclose(np.abs(trivial), 1 / np.sqrt(degrees.sum()), atol=1e-6)
    assert not factors.coordinates()[-1].any()


@pytest.mark.parametrize("seed", range(4))
def test_one_cut_of_a_cluster_is_that_of_the_dense_low_rank_block(seed):
    """the block of the dense matrix is normalised by the degrees of the true edges, every place is tried by hand."""
    weights, rng = dense_graph(seed)[:-1, :-1], np.random.default_rng(seed)
    rows, columns = np.sort(rng.permutation(29)[:20]), np.sort(rng.permutation(11)[:8])
    factors = thin_factors(
        shards_of_edges(sp.csr_matrix((29, 0)), sp.csr_matrix(weights)), np.ones(11), 4, most_edges=0
    )
    inside = weights[np.ix_(rows, columns)]
    d, e = inside.sum(axis=1), inside.sum(axis=0)
    block = low_rank_of(weights, 4)[0][np.ix_(rows, columns)] / np.sqrt(np.outer(d, e))
    U, sigma, V = np.linalg.svd(block)
    thin = factors.left[rows], factors.sigma, factors.right[columns]
    value, x, y = second_pair(*thin, d, e)
    sign = np.sign(x @ U[:, 1])
    assert value == pytest.approx(sigma[1], abs=1e-6)
    np.testing.assert_allclose(sign * x, U[:, 1] / np.sqrt(d), atol=1e-5)
    np.testing.assert_allclose(sign * y, V[1] / np.sqrt(e), atol=1e-5)
    order, cuts = np.argsort(np.concatenate([x, y])), []
    for size in range(1, order.size):
        side = np.ones(order.size, bool)
        side[order[:size]] = False
        if min(side[:20].sum(), 20 - side[:20].sum()) >= 5:
            cuts.append(normalised_cut(sp.csr_matrix(inside), side[:20], side[20:]))
    found = halve(sp.csr_matrix(inside), factors=thin)
    assert found.ncut == pytest.approx(min(cuts))
    assert normalised_cut(sp.csr_matrix(inside), found.row_side, found.column_side) == pytest.approx(found.ncut)


def test_pieces_and_dust_are_parted_before_factors_are_asked():
    Y, B, _ = blocks(n_blocks=1, documents=20, noise=0.5)
    twice = [sp.block_diag([matrix, matrix, np.ones((1, 1))], format="csr") for matrix in (Y, B)]
    found, _ = cut_from_factors(*twice, 3, 4)
    assert found.splits[0].ncut == 0
    assert len(set(found.documents[:20]) & set(found.documents[20:40])) == 0


def test_a_graph_in_many_shards_is_refused():
    Y, B, _ = blocks()
    with pytest.raises(ValueError, match=r"lies in 3 shards, as it has more than 1,000 edges.*low_rank"):
        thin_factors(shards_of_edges(Y, B, 3), np.ones(Y.shape[1] + B.shape[1]), 4, most_edges=1000)
