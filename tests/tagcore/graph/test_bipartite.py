"""The graph against the dense matrix over all its nodes: Laplacian, spectrum, degrees, what is taken out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse.linalg import svds

from tagcore.graph.bipartite import bipartite_graph
from tagcore.shards import InProcess
from tests.problems import noisy

POLICIES = ["raw", "balanced", "tags", "words"]
COUNTS = st.sampled_from([0.0, 0.0, 1.0, 3.0])


@st.composite
def taggings_and_words(draw):
    m = draw(st.integers(1, 7))
    return tuple(draw(hnp.arrays(np.float64, (m, draw(st.integers(1, 5))), elements=COUNTS)) for _ in range(2))


def _laplacian(Y, B, gamma, beta):
    """L = I - D^-½ W D^-½ with W of eq. 10, over (tags, documents, words) of positive degree."""
    m, n, p = *Y.shape, B.shape[1]
    W = np.zeros((n + m + p, n + m + p))
    W[:n, n : n + m], W[n : n + m, n + m :] = gamma * Y.T, beta * B
    W += W.T
    degrees = W.sum(axis=1)
    W, degrees = W[degrees > 0][:, degrees > 0], degrees[degrees > 0]
    return np.eye(degrees.size) - W / np.sqrt(np.outer(degrees, degrees)), degrees


def _scales(Y, B, policy):
    if policy == "balanced" and Y.any() and B.any():
        return B.sum() / Y.sum(), 1.0
    return float(policy != "words"), float(policy != "tags")


@settings(max_examples=60)
@given(data=taggings_and_words(), policy=st.sampled_from(POLICIES))
def test_singular_triplets_are_eigenpairs_of_the_laplacian(data, policy):
    Y, B = data
    gamma, beta = _scales(Y, B, policy)
    assume((gamma * Y).any() or (beta * B).any())
    graph = bipartite_graph(sp.csr_matrix(Y), sp.csr_matrix(B), policy)
    assert graph.gamma == gamma
    L, degrees = _laplacian(Y, B, gamma, beta)
    docs, columns, tags = graph.documents.size, graph.columns.size, graph.n_tags
    assert L.shape == (docs + columns, docs + columns)
    np.testing.assert_allclose(graph.document_degrees, degrees[tags : tags + docs])
    np.testing.assert_allclose(graph.column_degrees, np.delete(degrees, np.s_[tags : tags + docs]))
    assert graph.volume == pytest.approx(degrees.sum() / 2)

    eigenvalues = np.linalg.eigvalsh(L)
    assert eigenvalues.min() == pytest.approx(0, abs=1e-9)
    assert eigenvalues.max() == pytest.approx(2, abs=1e-9)
    U, sigmas, V = np.linalg.svd(graph.normalised().toarray(), full_matrices=False)
    rest = np.ones(abs(docs - columns))
    np.testing.assert_allclose(np.sort(np.concatenate([1 - sigmas, 1 + sigmas, rest])), eigenvalues, atol=1e-9)
    for sign in (1, -1):
        vectors = np.concatenate([sign * V[:, :tags].T, U, sign * V[:, tags:].T]) / np.sqrt(2)
        np.testing.assert_allclose(L @ vectors, (1 - sign * sigmas) * vectors, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1)


@settings(max_examples=60)
@given(data=taggings_and_words(), policy=st.sampled_from(POLICIES))
def test_the_trivial_triplet_is_one_of_every_graph(data, policy):
    Y, B = data
    gamma, beta = _scales(Y, B, policy)
    assume((gamma * Y).any() or (beta * B).any())
    graph = bipartite_graph(*map(sp.csr_matrix, data), policy)
    sigma, u, v = graph.trivial_triplet()
    C = graph.normalised().toarray()
    assert sigma == 1 == pytest.approx(np.linalg.norm(u)) == pytest.approx(np.linalg.norm(v))
    np.testing.assert_allclose(C @ v, u)
    np.testing.assert_allclose(C.T @ u, v)
    assert np.linalg.norm(C, 2) == pytest.approx(1)


def test_weights_and_where_they_come_from():
    Y, B = np.array([[2, 0, 1], [0, 0, 0], [0, 0, 1]]), np.array([[0, 4], [0, 0], [0, 12]])
    graph = bipartite_graph(Y, B)
    assert graph.gamma == 4
    assert graph.weights.toarray().tolist() == [[8, 4, 4], [0, 4, 12]]
    assert (graph.documents.tolist(), graph.columns.tolist()) == ([0, 2], [0, 2, 4])
    assert (graph.n_tags, graph.tags.tolist(), graph.words.tolist()) == (2, [0, 2], [1])
    assert graph.to_documents(np.array([5, 7]), -1).tolist() == [5, -1, 7]
    assert graph.to_tags(np.array([5, 7, 9]), -1).tolist() == [5, -1, 7]
    assert graph.to_words(np.array([5, 7, 9]), -1).tolist() == [-1, 9]
    assert np.isnan(graph.to_words(np.array([5, 7, 9]), np.nan)).tolist() == [True, False]
    assert graph.to_documents(np.eye(2), 0).tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(("policy", "tags", "words"), [("tags", [0, 1], []), ("words", [], [0, 2])])
def test_one_kind_of_edge_only(policy, tags, words):
    Y, B = np.array([[1, 1], [0, 0], [0, 2]]), np.array([[1, 0, 0], [1, 0, 3], [0, 0, 0]])
    graph = bipartite_graph(Y, B, policy)
    assert (graph.tags.tolist(), graph.words.tolist()) == (tags, words)
    assert graph.documents.tolist() == ([0, 2] if policy == "tags" else [0, 1])
    wanted = Y[[0, 2]] if policy == "tags" else B[:2, [0, 2]]
    assert np.array_equal(graph.weights.toarray(), wanted)


def test_with_one_side_empty_the_other_stays():
    Y, nothing = np.array([[1, 0], [1, 1]]), np.zeros((2, 3))
    assert np.array_equal(bipartite_graph(Y, nothing).weights.toarray(), Y)
    assert np.array_equal(bipartite_graph(nothing, Y).weights.toarray(), Y)


@pytest.mark.parametrize("policy", POLICIES)
def test_permuted_nodes_permute_the_graph(policy):
    B, Y = noisy()
    rng = np.random.default_rng(0)
    rows, tags, words = (rng.permutation(size) for size in (*Y.shape, B.shape[1]))
    one = bipartite_graph(Y, B, policy)
    two = bipartite_graph(Y[rows][:, tags], B[rows][:, words], policy)
    assert two.gamma == one.gamma
    degrees = one.to_documents(one.document_degrees, 0)[rows]
    np.testing.assert_allclose(two.to_documents(two.document_degrees, 0), degrees)
    np.testing.assert_allclose(two.to_tags(two.column_degrees, 0), one.to_tags(one.column_degrees, 0)[tags])
    np.testing.assert_allclose(two.to_words(two.column_degrees, 0), one.to_words(one.column_degrees, 0)[words])
    sigmas = [np.linalg.svd(graph.normalised().toarray(), compute_uv=False) for graph in (one, two)]
    np.testing.assert_allclose(*sigmas, atol=1e-12)


@pytest.mark.parametrize("n_shards", [1, 3, 1000])
def test_the_operator_multiplies_as_the_matrix_does(n_shards):
    B, Y = noisy()
    graph = bipartite_graph(Y, B)
    C, operator = graph.normalised(), graph.operator(n_shards)
    assert operator.shape == C.shape
    rng = np.random.default_rng(0)
    for width in ((), (1,), (4,)):
        x, y = rng.normal(size=(C.shape[1], *width)), rng.normal(size=(C.shape[0], *width))
        np.testing.assert_allclose(operator @ x, C @ x, atol=1e-12)
        np.testing.assert_allclose(operator.T @ y, C.T @ y, atol=1e-12)
        np.testing.assert_allclose(operator.H @ y, C.T @ y, atol=1e-12)
    gram = (operator.T @ operator) @ np.eye(C.shape[1])
    np.testing.assert_allclose(gram, (C.T @ C).toarray(), atol=1e-12)


def test_svds_of_the_operator_finds_the_trivial_triplet_first():
    B, Y = noisy()
    graph = bipartite_graph(Y, B)
    start = np.random.default_rng(0).normal(size=min(graph.weights.shape))
    U, sigmas, V = svds(graph.operator(3), k=4, v0=start)
    wanted = np.linalg.svd(graph.normalised().toarray(), compute_uv=False)[:4]
    np.testing.assert_allclose(sigmas[::-1], wanted, atol=1e-9)
    sigma, u, v = graph.trivial_triplet()
    assert sigmas[-1] == pytest.approx(sigma)
    np.testing.assert_allclose(np.abs(U[:, -1]), u, atol=1e-8)
    np.testing.assert_allclose(np.abs(V[-1]), v, atol=1e-8)


def test_threads_change_no_bit():
    B, Y = noisy()
    graph = bipartite_graph(Y, B)
    one, two = (graph.operator(5, InProcess(threads)) for threads in (1, 2))
    y = np.random.default_rng(0).normal(size=graph.weights.shape[0])
    assert np.array_equal(one.T @ y, two.T @ y)
    assert np.array_equal(one @ (one.T @ y), two @ (two.T @ y))


def test_the_data_stay_as_they_are():
    B, Y = noisy()
    kept = Y.copy(), B.copy()
    for matrix in (Y, B):
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
    graph = bipartite_graph(Y, B)
    graph.operator(2) @ np.ones(graph.weights.shape[1])
    for before, after in zip(kept, (Y, B), strict=True):
        assert np.array_equal(before.toarray(), after.toarray())


@pytest.mark.parametrize(
    ("Y", "B", "policy", "message"),
    [
        ([[1.0]], [[1.0], [2.0]], "raw", "Y has 1 documents, B has 2"),
        ([[1.0]], [[1.0]], "even", r"policy must be one of \('raw', .*\), got 'even'"),
        (
            [[0.0], [-1.0]],
            [[1.0], [1.0]],
            "raw",
            r"document 1, column 0 of Y has the weight -1\.0, expected a number ≥ 0",
        ),
        ([[1.0]], [[1.0, np.nan]], "raw", "document 0, column 1 of B has the weight nan"),
        ([[1.0]], [[0.0]], "words", "the graph has no edge under the policy 'words'"),
        ([[0.0]], [[0.0]], "balanced", "the graph has no edge"),
    ],
)
def test_bad_data_are_named(Y, B, policy, message):
    with pytest.raises(ValueError, match=message):
        bipartite_graph(np.array(Y), np.array(B), policy)
