"""SimFusion against the whole matrix of similarities, which is formed here alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tagcore.baselines import Popular, SimFusion, simfusion
from tagcore.baselines.simfusion import related
from tests.problems import noisy, problems


def _weights(X, Y, query, own, words, tags):
    """The unified relationship matrix by its definition, thing by thing, with the query as the last document."""
    n, p, q = X.shape[0] + 1, X.shape[1], Y.shape[1]
    X, Y = np.vstack([X.toarray(), query]), np.vstack([Y.toarray(), np.zeros(q)])
    L = np.zeros((n + p + q, n + p + q))
    for i in range(n):
        parts = {i: own}
        for first, row, weight in ((n, X[i], words), (n + p, Y[i], tags)):
            parts |= {first + j: weight * row[j] / row.sum() for j in np.flatnonzero(row)}
        for thing, weight in parts.items():
            L[i, thing] = weight / sum(parts.values())
    for first, relation, weight in ((n, X, words), (n + p, Y, tags)):
        for j in range(relation.shape[1]):
            column = relation[:-1, j]  # nothing is related to the query
            parts = {first + j: own} | {i: weight * column[i] / column.sum() for i in np.flatnonzero(column)}
            for thing, share in parts.items():
                L[first + j, thing] = share / sum(parts.values())
    return L


def _by_definition(X, Y, query, rounds, own=1.0, words=1.0, tags=1.0):
    """The row of the query in the matrix of all similarities, over tags."""
    L = _weights(X, Y, query, own, words, tags)
    S = np.eye(len(L))
    for _ in range(rounds):
        S = L @ S @ L.T
    return S[X.shape[0], X.shape[0] + 1 + X.shape[1] :]


def _small(seed=0):
    rng = np.random.default_rng(seed)
    X, Y = rng.poisson(0.4, (25, 12)).astype(float), rng.poisson(0.3, (25, 7)).astype(float)
    X[3], Y[4], X[:, 5], Y[:, 6] = 0, 0, 0, 0  # a document without words, one without tags, a word, a tag of none
    return sp.csr_matrix(X), sp.csr_matrix(Y), rng.poisson(0.5, (6, 12)).astype(float)


@pytest.mark.parametrize("rounds", [1, 2, 5, 8])
@pytest.mark.parametrize("weights", [{}, {"own": 0.2, "words": 3.0, "tags": 0.7}])
def test_scores_are_the_rows_of_the_whole_matrix(rounds, weights):
    X, Y, queries = _small()
    scores = SimFusion(max_iter=rounds, **weights).fit(X, Y).predict_proba(queries)
    for query, found in zip(queries, scores, strict=True):
        expected = _by_definition(X, Y, query, rounds, **weights)
        expected = expected / expected.sum() if expected.sum() else Popular().fit(X, Y).shares_
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-9)


def test_every_thing_spreads_a_weight_of_one():
    X, Y, _ = _small()
    links = related(X, Y, 1.0, 2.0, 0.5)
    np.testing.assert_allclose(links.sum(axis=1), 1.0)
    expected = _weights(X, Y, np.zeros(12), 1.0, 2.0, 0.5)
    at = np.delete(np.arange(len(expected)), 25)
    np.testing.assert_allclose(links.toarray(), expected[np.ix_(at, at)])


def test_with_many_rounds_all_things_are_alike():
    X, Y, queries = _small(1)
    Y = Y[:, :6]
    few, many = (SimFusion(max_iter=n).fit(X, Y).predict_proba(queries[:1]) for n in (2, 400))
    assert np.ptp(many) < 0.01 < np.ptp(few)


def test_no_block_is_as_large_as_all_rows(monkeypatch):
    X, Y = noisy(60)
    whole = SimFusion().fit(X, Y).predict_proba(X)
    monkeypatch.setattr(simfusion, "_BLOCK_CELLS", 1)  # a row at a time
    np.testing.assert_array_equal(SimFusion().fit(X, Y).predict_proba(X), whole)


def test_a_document_that_is_like_no_other_gets_the_popular_tags():
    X, Y, _ = _small()
    model = SimFusion().fit(X, Y)
    only_unseen = np.zeros((2, 12))
    only_unseen[1, 5] = 3.0
    np.testing.assert_array_equal(model.predict_proba(only_unseen), np.tile(model.shares_, (2, 1)))


def test_weights_below_nothing_are_refused():
    with pytest.raises(ValueError, match=r"Negative values in data passed to SimFusion: X holds -1\.0"):
        SimFusion().fit([[-1.0, 2.0]], [[1]])


@settings(max_examples=40, deadline=None)
@given(problem=problems(), rounds=st.integers(1, 4))
def test_odd_matrices_have_shares_that_add_up(problem, rounds):
    X, Y = abs(problem[0]), problem[1]
    scores = SimFusion(max_iter=rounds).fit(X, Y).predict_proba(X)
    assert np.isfinite(scores).all()
    assert scores.min() >= 0
    assert scores.max() <= 1 + 1e-9
