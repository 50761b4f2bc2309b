"""Cuts of a graph: Ncut from its definition, planted blocks found, permutations followed, pieces and dust."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from tagcore.graph.clusters import LOCAL_EDGES, CutLearner, clusters_of, column_scale, repaired_columns, split_tree
from tagcore.graph.cuts import best_cut
from tagcore.graph.halving import edges_of, halve
from tagcore.graph.shard_kernel import differences_of_edges
from tagcore.numeric.read_only import freeze
from tagcore.shards import Shards, row_shards
from tagcore.training import train
from tests.tagcore.graph.whole_graph import normalised_cut, whole_graph


def blocks(n_blocks=4, documents=30, words=15, tags=3, noise=0.0, seed=0):
    """(Y, B, block of every document): words and tags of a document's own block, but for a share of noise."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_blocks), documents)
    B = np.zeros((truth.size, n_blocks * words))
    Y = np.zeros((truth.size, n_blocks * tags))
    for i, block in enumerate(truth):
        for width, matrix, draws in ((words, B, 20), (tags, Y, 3)):
            own = block * width + rng.integers(0, width, draws)
            anywhere = rng.integers(0, matrix.shape[1], draws)
            np.add.at(matrix[i], np.where(rng.random(draws) < noise, anywhere, own), 1)
    return sp.csr_matrix(Y), sp.csr_matrix(B), truth


def shards_of_edges(Y, B, n_shards=1):
    edges = sp.csr_matrix(sp.hstack([Y, B], format="csr"), dtype=float)
    parts = row_shards(edges.shape[0], n_shards)
    return Shards([edges[part] for part in parts], sp.csr_matrix, firsts=[part.start for part in parts])


def cut_into_clusters(Y, B, n_clusters, *, policy="balanced", n_shards=1, **settings):
    shards = shards_of_edges(Y, B, n_shards)
    scale = column_scale(shards, Y.shape[1], policy)
    made = train(CutLearner(scale, n_clusters, **settings), shards, max_rounds=n_clusters - 1)
    return clusters_of(shards, made.arrays, scale, Y.shape[1])


WHERE = pytest.mark.parametrize(("n_shards", "local_edges"), [(1, LOCAL_EDGES), (3, LOCAL_EDGES), (3, 0)])


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_the_cut_at_every_place_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 7, 2)
    weights = sp.csr_matrix(rng.integers(0, 3, (m, n)).astype(float))
    order = rng.permutation(m + n)
    places = np.empty(m + n, np.int64)
    places[order] = np.arange(m + n)
    degrees = np.concatenate([np.asarray(weights.sum(axis=1)).ravel(), np.asarray(weights.sum(axis=0)).ravel()])
    differences = np.zeros(m + n)
    nodes = freeze((np.arange(m), places[:m], places[m:], np.ones(n)))
    differences_of_edges(edges_of(weights), *nodes, differences)
    cut = best_cut(differences, degrees[order], order < m, 1)
    expected = []
    for size in range(1, m + n):
        side = places < size
        volume = degrees[side].sum()
        if 1 <= side[:m].sum() <= m - 1 and 0 < volume < degrees.sum():
            expected.append((normalised_cut(weights, side[:m], side[m:]), size))
    if not expected:
        assert cut is None
        return
    assert cut.ncut == pytest.approx(min(expected)[0], abs=1e-9)
    side = places < cut.size
    assert normalised_cut(weights, side[:m], side[m:]) == pytest.approx(cut.ncut, abs=1e-9)


@WHERE
@pytest.mark.parametrize("choose", ["largest", "ncut"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_planted_blocks_are_found(choose, noise, n_shards, local_edges):
    Y, B, truth = blocks(noise=noise)
    found = cut_into_clusters(Y, B, 4, choose=choose, n_shards=n_shards, local_edges=local_edges)
    assert found.n_clusters == 4
    assert adjusted_rand_score(truth, found.documents) == 1.0
    of_block = [np.unique(found.documents[truth == b])[0] for b in range(4)]
    np.testing.assert_array_equal(found.tags, np.repeat(of_block, 3))


def test_permuted_nodes_have_permuted_labels():
    Y, B, _ = blocks(noise=0.05)
    rng = np.random.default_rng(1)
    rows, tags, words = (rng.permutation(n) for n in (Y.shape[0], Y.shape[1], B.shape[1]))
    plain = cut_into_clusters(Y, B, 4)
    permuted = cut_into_clusters(Y[rows][:, tags], B[rows][:, words], 4)
    assert adjusted_rand_score(plain.documents[rows], permuted.documents) == 1.0
    assert adjusted_rand_score(plain.tags[tags], permuted.tags) == 1.0


@WHERE
def test_two_disjoint_copies_are_parted_for_nothing(n_shards, local_edges):
    Y, B, _ = blocks(n_blocks=1, documents=20, noise=0.5)
    twice = [sp.block_diag([matrix, matrix], format="csr") for matrix in (Y, B)]
    found = cut_into_clusters(*twice, 2, n_shards=n_shards, local_edges=local_edges)
    assert found.splits[0].ncut == 0
    assert found.splits[0].documents == (20, 20)
    assert len(set(found.documents[:20])) == len(set(found.documents[20:])) == 1


@WHERE
def test_dust_goes_with_the_larger_side_and_isolated_documents_with_none(n_shards, local_edges):
    Y, B, truth = blocks(n_blocks=2, noise=0.02)
    dust = sp.csr_matrix(np.eye(3))
    Y = sp.csr_matrix(sp.vstack([Y, sp.csr_matrix((4, Y.shape[1]))]))
    B = sp.bmat([[B, None], [None, sp.vstack([dust, sp.csr_matrix((1, 3))])]], format="csr")
    found = cut_into_clusters(Y, B, 2, n_shards=n_shards, local_edges=local_edges)
    assert found.documents[-1] == -1
    assert set(found.documents[-4:-1]) <= {0, 1}
    assert adjusted_rand_score(truth, found.documents[: truth.size]) > 0.9


def test_what_cannot_be_cut_is_left_whole():
    assert halve(sp.csr_matrix(np.ones((9, 4)))) is None  # fewer than five documents a side
    Y, B, _ = blocks(n_blocks=1, documents=12)
    assert cut_into_clusters(Y, B, 50).n_clusters < 4
    with pytest.raises(ValueError, match="n_clusters must be at least 1, got 0"):
        cut_into_clusters(Y, B, 0)
    with pytest.raises(ValueError, match="choose must be one of"):
        cut_into_clusters(Y, B, 2, choose="any")


def test_columns_without_weight_in_their_cluster_move_to_where_it_is():
    shards = shards_of_edges(sp.csr_matrix((2, 0)), sp.csr_matrix([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 5.0, 0.0]]), 2)
    repaired = repaired_columns(shards, np.array([0, 1]), np.array([1, 1, 0, -1]), np.ones(4), 2)
    np.testing.assert_array_equal(repaired, [0, 1, 0, -1])  # the first had none; the third keeps what it has


@pytest.mark.parametrize("policy", ["raw", "balanced", "tags", "words"])
def test_a_policy_weighs_tags_against_words(policy):
    Y, B, _ = blocks(n_blocks=2)
    graph, scale = whole_graph(Y, B, policy), column_scale(shards_of_edges(Y, B, 3), Y.shape[1], policy)
    weights = sp.hstack([Y, B], format="csr").multiply(scale).tocsr()
    kept = weights[:, graph.columns] - graph.weights
    assert abs(kept).max() == 0
    assert weights.sum() == pytest.approx(graph.volume)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(["largest", "ncut"]))
def test_cuts_over_shards_are_those_of_one_process(seed, choose):
    """any graph, also one in pieces: the same Ncut, σ₂ and sizes of the first cuts, wherever its edges are."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(10, 40), rng.integers(3, 25)
    weights = sp.csr_matrix(rng.poisson(rng.choice([0.05, 0.3, 1.0]), (m, n)).astype(float))
    Y, B = weights[:, : n // 3], weights[:, n // 3 :]
    if weights.nnz == 0:
        return
    one = cut_into_clusters(Y, B, 2, policy="raw", choose=choose)
    other = cut_into_clusters(Y, B, 2, policy="raw", choose=choose, n_shards=3, local_edges=0)
    assert one.n_clusters == other.n_clusters
    if one.splits:
        assert other.splits[0].ncut == pytest.approx(one.splits[0].ncut, abs=1e-6)
        assert other.splits[0].sigma == pytest.approx(one.splits[0].sigma, abs=1e-6)


def test_a_cluster_that_has_lost_all_its_edges_is_left_whole():
    assert halve(sp.csr_matrix((12, 3))) is None


def test_the_tree_of_splits_has_the_clusters_as_leaves():
    Y, B, _ = blocks()
    found = cut_into_clusters(Y, B, 4)
    leaves, nodes = [], [split_tree(found.splits)]
    while nodes:
        node = nodes.pop()
        nodes += node.get("halves", [])
        if "cluster" in node:
            leaves.append((node["cluster"], node["documents"]))
            assert "halves" not in node
    assert dict(leaves) == dict(enumerate(np.bincount(found.documents).tolist()))
    assert split_tree([]) == {"cluster": 0}


@pytest.mark.parametrize("choose", ["largest", "ncut"])
def test_later_cuts_over_shards_leave_out_the_edges_that_are_cut(choose):
    Y, B, _ = blocks(n_blocks=6, noise=0.2)
    one = cut_into_clusters(Y, B, 8, choose=choose)
    other = cut_into_clusters(Y, B, 8, choose=choose, n_shards=3, local_edges=0)
    np.testing.assert_array_equal(other.documents, one.documents)
    np.testing.assert_array_equal(other.tags, one.tags)
    np.testing.assert_array_equal(other.words, one.words)
    for there, here in zip(other.splits, one.splits, strict=True):
        assert (there.parent, there.child, there.documents) == (here.parent, here.child, here.documents)
        assert (there.ncut, there.sigma) == pytest.approx((here.ncut, here.sigma), abs=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_the_cut_is_the_best_along_the_second_singular_vectors(seed):
    """all singular vectors at once, every place of the order tried by the definition of Ncut."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(10, 24), rng.integers(2, 9)
    weights = rng.poisson(1.0, (m, n)) + (rng.random((m, n)) < 0.1)
    weights[0], weights[:, 0] = 1, 1  # one piece
    d, e = weights.sum(axis=1), weights.sum(axis=0)
    U, sigma, V = np.linalg.svd(weights / np.sqrt(np.outer(d, e)), full_matrices=False)
    if sigma.size > 2 and sigma[1] - sigma[2] < 1e-3:
        return  # nearly two second vectors
    x, y = U[:, 1] / np.sqrt(d), V[1] / np.sqrt(e)
    order = np.argsort(np.concatenate([x, y]))
    cuts = []
    for size in range(1, m + n):
        side = np.ones(m + n, bool)
        side[order[:size]] = False
        if min(side[:m].sum(), m - side[:m].sum()) >= 5:
            cuts.append(normalised_cut(sp.csr_matrix(weights), side[:m], side[m:]))
    found = halve(sp.csr_matrix(weights, dtype=float))
    assert found.sigma == pytest.approx(sigma[1], abs=1e-6)
    assert found.ncut == pytest.approx(min(cuts), abs=1e-6)
    assert normalised_cut(sp.csr_matrix(weights), found.row_side, found.column_side) == pytest.approx(found.ncut)
