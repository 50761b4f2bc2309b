"""Ranks of tags in their clusters: finite where there are edges, higher for tags that keep to their cluster."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.graph.node_ranks import cluster_counts, tag_shares
from tagcore.graph.node_ranks import node_ranks as ranks_of_counts

DOCUMENTS = np.array([0, 0, 1, 1])


def taggings(*columns):
    return sp.csr_matrix(np.array(columns, float).T)


def node_ranks(Y, documents, tags, n_clusters, **settings):
    totals = np.asarray(Y.sum(axis=0)).ravel()
    return ranks_of_counts(cluster_counts(Y, documents, n_clusters), totals, tags, **settings)


def test_counts_of_clusters_leave_out_documents_without_one():
    Y = taggings([2, 1, 0, 4], [1, 0, 0, 1])
    np.testing.assert_array_equal(cluster_counts(Y, np.array([1, 0, 0, -1]), 2).toarray(), [[1, 0], [2, 1]])


def test_by_hand():
    Y = taggings([2, 1, 0, 0], [1, 0, 0, 1], [0, 0, 3, 3])
    ranks = node_ranks(Y, DOCUMENTS, np.array([0, 0, 1]), 2, scale="none")
    np.testing.assert_allclose(ranks.precision, [3 / 4, 1 / 4, 1.0])
    np.testing.assert_allclose(ranks.recall, [4 / 1, 3 / 2, 7 / 1])
    np.testing.assert_allclose(ranks.log_rank, -1 / (ranks.precision * np.log(ranks.recall)) ** 2)
    scaled = node_ranks(Y, DOCUMENTS, np.array([0, 0, 1]), 2)
    assert scaled.log_rank[0] == scaled.log_rank[2] == -1  # the best of each cluster has the rank 1/e
    assert np.argsort(scaled.log_rank[:2]).tolist() == np.argsort(ranks.log_rank[:2]).tolist()


def test_a_tag_of_one_cluster_outranks_one_that_is_spread():
    Y = taggings([2, 2, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0])
    ranks = node_ranks(Y, DOCUMENTS, np.array([0, 0, 0]), 2)
    assert (ranks.recall >= 1).all()
    assert np.isfinite(ranks.log_rank).all()
    assert (ranks.log_rank < 0).all()
    assert ranks.log_rank[0] > ranks.log_rank[1]


def test_weights_times_a_constant_keep_the_order_where_delta_grows_too():
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix(rng.poisson(0.8, (40, 12)).astype(float))
    documents, tags = rng.integers(0, 3, 40), rng.integers(0, 3, 12)
    plain = node_ranks(Y, documents, tags, 3)
    scaled = node_ranks(7 * Y, documents, tags, 3, delta=7.0)
    np.testing.assert_allclose(scaled.r, plain.r)
    np.testing.assert_array_equal(np.argsort(scaled.log_rank), np.argsort(plain.log_rank))


def test_a_tag_without_an_edge_or_cluster_has_no_rank():
    Y = taggings([1, 0, 0, 0], [0, 0, 0, 0])
    ranks = node_ranks(Y, DOCUMENTS, np.array([0, -1]), 2)
    assert ranks.log_rank[1] == -np.inf
    with pytest.raises(ValueError, match="scale must be one of"):
        node_ranks(Y, DOCUMENTS, np.array([0, -1]), 2, scale="log")


@pytest.mark.parametrize("mu", [0.0, 0.25, 1.0])
def test_shares_of_a_cluster_add_up_to_one(mu):
    Y = taggings([2, 1, 0, 0], [1, 0, 0, 1], [0, 0, 3, 3])
    counts, totals = cluster_counts(Y, DOCUMENTS, 2), np.asarray(Y.sum(axis=0)).ravel()
    shares = tag_shares(counts, totals, mu).toarray()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[0, 0], (1 - mu) * 3 / 4 + mu * 3 / 11)
    with pytest.raises(ValueError, match="mu must be a share"):
        tag_shares(counts, totals, 1.5)
