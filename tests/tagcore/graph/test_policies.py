"""The graph against the dense matrix over all its nodes: Laplacian, spectrum, degrees, what is taken out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagcore.graph.policies import POLICIES, scales
from tests.tagcore.graph.whole_graph import whole_graph

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
    graph = whole_graph(sp.csr_matrix(Y), sp.csr_matrix(B), policy)
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
    graph = whole_graph(*map(sp.csr_matrix, data), policy)
    sigma, u, v = graph.trivial_triplet()
    C = graph.normalised().toarray()
    assert sigma == 1 == pytest.approx(np.linalg.norm(u)) == pytest.approx(np.linalg.norm(v))
    np.testing.assert_allclose(C @ v, u)
    np.testing.assert_allclose(C.T @ u, v)
    assert np.linalg.norm(C, 2) == pytest.approx(1)


def test_weights_and_where_they_come_from():
    Y, B = np.array([[2, 0, 1], [0, 0, 0], [0, 0, 1]]), np.array([[0, 4], [0, 0], [0, 12]])
    graph = whole_graph(Y, B)
    assert graph.gamma == 4
    assert graph.weights.toarray().tolist() == [[8, 4, 4], [0, 4, 12]]
    assert (graph.documents.tolist(), graph.columns.tolist()) == ([0, 2], [0, 2, 4])
    assert graph.n_tags == 2


@pytest.mark.parametrize(("policy", "tags", "words"), [("tags", [0, 1], []), ("words", [], [0, 2])])
def test_one_kind_of_edge_only(policy, tags, words):
    Y, B = np.array([[1, 1], [0, 0], [0, 2]]), np.array([[1, 0, 0], [1, 0, 3], [0, 0, 0]])
    graph = whole_graph(Y, B, policy)
    assert graph.columns.tolist() == [*tags, *(2 + word for word in words)]
    assert graph.documents.tolist() == ([0, 2] if policy == "tags" else [0, 1])
    wanted = Y[[0, 2]] if policy == "tags" else B[:2, [0, 2]]
    assert np.array_equal(graph.weights.toarray(), wanted)


def test_with_one_side_empty_the_other_stays():
    Y, nothing = np.array([[1, 0], [1, 1]]), np.zeros((2, 3))
    assert np.array_equal(whole_graph(Y, nothing).weights.toarray(), Y)
    assert np.array_equal(whole_graph(nothing, Y).weights.toarray(), Y)


def test_a_policy_that_there_is_not_is_named():
    with pytest.raises(ValueError, match=r"policy must be one of \('raw', .*\), got 'even'"):
        scales(1.0, 1.0, "even")
