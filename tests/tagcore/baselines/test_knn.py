"""Nearest documents against brute force, and the votes against their definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics.pairwise import cosine_similarity

from tagcore.baselines import KNN, Popular, VectorSimilarity
from tagcore.kernels.neighbours import nearest
from tagcore.scikit import clone
from tests.problems import noisy, problems

FEW = st.sampled_from([0.0, -0.5, 0.25, 0.5, 0.75, 1.0])


@settings(max_examples=200, deadline=None)
@given(sims=hnp.arrays(np.float32, st.integers(0, 400), elements=FEW), k=st.sampled_from([1, 2, 30, 128, 129, 500]))
def test_nearest_is_a_stable_sort_of_the_positive_ones(sims, k):
    nearby = np.empty(k, np.int64)
    count = nearest(sims, nearby)
    order = np.argsort(-sims, kind="stable")
    assert nearby[:count].tolist() == order[sims[order] > 0][:k].tolist()


@pytest.mark.parametrize("n", [128 * 30, 128 * 30 + 1, 5000])
@pytest.mark.parametrize("different", [3, 50, 10**6])
def test_nearest_of_few_and_of_many_documents_to_a_wanted_one(n, different):
    rng = np.random.default_rng(n)
    sims = (rng.integers(-different // 4, different, n) / different).astype(np.float32)
    nearby = np.empty(30, np.int64)
    assert nearest(sims, nearby) == 30
    assert nearby.tolist() == np.argsort(-sims, kind="stable")[:30].tolist()


def _check_neighbours(model, X, queries):
    true = cosine_similarity(queries, X)
    for row, wanted in zip(queries, true, strict=True):
        documents, sims = model.neighbours(row.indices, row.data)
        positive = np.sort(wanted[wanted > 1e-6])[::-1][: model.n_neighbors]
        np.testing.assert_allclose(sims[: positive.size], positive, atol=1e-6)
        np.testing.assert_allclose(wanted[documents], sims, atol=1e-6)
        assert (sims[positive.size :] < 1e-6).all()
        ties = np.flatnonzero(np.diff(sims) == 0)
        assert (documents[ties] < documents[ties + 1]).all()


@pytest.mark.parametrize("k", [1, 5, 128, 129, 300])
def test_neighbours_equal_brute_force(k):
    X, Y = noisy(n=500, words=60)
    queries, _ = noisy(n=60, words=60, seed=1)
    X = X.multiply(1 + np.arange(60) / 7).tocsr()
    _check_neighbours(KNN(n_neighbors=k).fit(X, Y), X, queries.tocsr())


@settings(max_examples=50, deadline=None)
@given(problem=problems(), k=st.integers(1, 15))
def test_neighbours_equal_brute_force_on_odd_matrices(problem, k):
    X, Y = problem
    _check_neighbours(KNN(n_neighbors=k).fit(X, Y), X, X)


def test_equal_documents_come_in_their_order():
    X = np.tile([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0]], (100, 1))
    documents, _ = KNN(n_neighbors=7).fit(X, np.ones((200, 1))).neighbours([0, 1], [1.0, 2.0])
    assert documents.tolist() == [0, 2, 4, 6, 8, 10, 12]


def _by_definition(X, Y, queries, k, power, weighting):
    shares = Y.toarray() / np.maximum(Y.toarray().sum(axis=1, keepdims=True), 1)
    given_ = shares if weighting == "share" else (Y.toarray() > 0).astype(float)
    scores = []
    for sims in cosine_similarity(queries, X):
        near = np.argsort(-sims.astype(np.float32), kind="stable")[:k]
        votes = np.where(sims[near] > 1e-6, sims[near], 0.0) ** power * (sims[near] > 1e-6)
        popular = (Y.toarray() > 0).mean(axis=0)
        scores.append(votes @ given_[near] / votes.sum() if votes.sum() else popular)
    return np.array(scores)


@pytest.mark.parametrize("weighting", ["presence", "share"])
@pytest.mark.parametrize("power", [0, 1, 2.5])
def test_scores_follow_the_definition(weighting, power):
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.random((90, 30)) * (rng.random((90, 30)) < 0.2))  # no ties
    Y = sp.csr_matrix(rng.poisson(0.4, (90, 12)))
    queries = sp.csr_matrix(rng.random((25, 30)) * (rng.random((25, 30)) < 0.2))
    scores = KNN(n_neighbors=8, power=power, weighting=weighting).fit(X, Y).predict_proba(queries)
    np.testing.assert_allclose(scores, _by_definition(X, Y, queries, 8, power, weighting), atol=1e-5)


def test_scores_do_not_depend_on_the_length_of_a_document():
    X, Y = noisy()
    longer = sp.diags(np.linspace(0.5, 40, X.shape[0])) @ X
    np.testing.assert_allclose(
        KNN(n_neighbors=1000).fit(longer, Y).predict_proba(3 * X),
        KNN(n_neighbors=1000).fit(X, Y).predict_proba(X),
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_query_is_a_row_of_top_k(dtype):
    X, Y = noisy()
    model = KNN(n_neighbors=9).fit(X, Y)
    queries, _ = noisy(seed=4)
    tags, scores = model.top_k(queries.astype(dtype), 30)
    for i, row in enumerate(queries):
        one = model.query(row.indices, row.data.astype(dtype), 30)
        assert np.array_equal(one[0], tags[i])
        assert np.array_equal(one[1], scores[i])


@pytest.mark.parametrize(
    ("words", "values"),
    [([], []), ([3], [1.0]), ([0], [-1.0]), ([0], [0.0])],
    ids=["no words", "no word in common", "none alike", "no weight"],
)
def test_a_document_like_no_other_gets_popular_tags(words, values):
    X = np.array([[1.0, 2, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0]])
    Y = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 1]])
    model = KNN().fit(X, Y)
    row = sp.csr_matrix((values, words, [0, len(words)]), shape=(1, 4))
    (wanted, shares), (tags, scores) = Popular().fit(X, Y).top_k(row, 3), model.top_k(row, 3)
    assert tags.tolist() == wanted.tolist() == [[2, 1, 0]]
    assert np.array_equal(scores, shares)
    assert model.query(words, values, 3)[0].tolist() == [2, 1, 0]
    assert model.neighbours(words, values)[0].size == 0


def test_votes_that_vanish_fall_back_too():
    model = KNN(power=1e9).fit([[1.0, 0.5], [0.5, 1.0]], [[0, 1], [0, 1]])
    assert model.query([0], [1.0], 1)[1] == [1.0]


@pytest.mark.parametrize(
    ("words", "values", "message"),
    [
        ([0, 40], [1.0, 2.0], r"word 40 with value 2\.0 at position 1: expected a word from 0 to 39"),
        ([-1], [1.0], "word -1 with"),
        ([2], [np.nan], "word 2 with value nan at position 0"),
        ([2, 3], [1.0], r"got \(2,\) and \(1,\)"),
        ([[2]], [[1.0]], "two arrays of one length"),
    ],
)
def test_bad_queries_are_named(words, values, message):
    model = KNN().fit(*noisy())
    for ask in (model.query, model.neighbours):
        with pytest.raises(ValueError, match=message):
            ask(words, values)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be at least 1, got 0"),
        ({"n_neighbors": 2.5}, r"got 2\.5"),
        ({"power": -1}, "power must be at least 0, got -1"),
        ({"power": np.nan}, "got nan"),
        ({"weighting": "counts"}, 'weighting must be "presence" or "share", got \'counts\''),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        KNN(**params).fit(*noisy())


@settings(max_examples=40, deadline=None)
@given(problem=problems(), cut=st.floats(0, 1), weighting=st.sampled_from(["presence", "share"]))
def test_documents_appended_later_are_as_if_fitted_at_once(problem, cut, weighting):
    X, Y = (sp.csr_matrix(matrix) for matrix in problem[:2])
    assume(X.shape[0] > 1)
    at = min(max(1, int(cut * X.shape[0])), X.shape[0] - 1)
    words, tags = max(1, X.shape[1] // 2), max(1, Y.shape[1] // 2)
    first_X, first_Y = X[:at].copy(), Y[:at].copy()
    first_X[:, words:] = 0  # words and tags that come later
    first_Y[:, tags:] = 0
    first_X.eliminate_zeros()
    first_Y.eliminate_zeros()
    whole = KNN(weighting=weighting).fit(sp.vstack([first_X, X[at:]]), sp.vstack([first_Y, Y[at:]]))
    grown = KNN(weighting=weighting).fit(first_X[:, :words], first_Y[:, :tags]).grow(X.shape[1], Y.shape[1])
    grown.partial_fit(X[at:], Y[at:])
    for name in (*KNN._all_arrays(), *KNN._all_facts()):
        one, other = np.asarray(getattr(whole, name)), np.asarray(getattr(grown, name))
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="would be fewer"):
        grown.grow(words - 1, tags)


@pytest.mark.parametrize("model", [KNN(), KNN(power=1.0), VectorSimilarity(n_documents=4, n_tags=1)])
def test_votes_of_all_neighbours_together_are_no_more_than_one(model):
    """each is rounded, so a plain sum of them may pass one."""
    for X in np.random.default_rng(0).random((100, 4, 5)):
        model.fit(X, np.ones((4, 1)))
        ((_, dense),) = model.score_blocks(X)
        assert dense.max() <= 1
        assert np.array_equal(model.top_k(X, 1)[1], dense)


def _columns(model):
    """the columns that the next question would be asked with."""
    args = model._kernel_arguments(0)
    return args[0][3:]


@pytest.mark.parametrize("model", [KNN(n_neighbors=7), VectorSimilarity()])
def test_columns_of_common_words_change_no_bit(model):
    X, Y = noisy(n=400, words=60)
    X[:, 40:] = X[:, 40:].multiply(np.arange(400)[:, None] % 50 == 0)  # rare words
    queries = noisy(n=60, words=60, seed=1)[0].tocsr() * 0.37
    model.fit(X.tocsr(), Y)
    often = model.top_k(queries, 20)
    words, columns = _columns(model)
    assert words.tolist() == np.flatnonzero(X.getnnz(axis=0) * 8 >= 400).tolist()
    assert 0 < words.size < 60
    assert columns.shape == (words.size, 400)
    for row in range(0, 60, 10):
        once = clone(model).fit(X.tocsr(), Y)
        alone = once.top_k(queries[row], 20)
        assert _columns(once)[0].size == 0
        assert np.array_equal(alone[0][0], often[0][row])
        assert np.array_equal(alone[1][0], often[1][row])


def test_documents_that_come_after_many_questions_are_in_the_columns_too():
    X, Y = noisy(n=300, words=30)
    whole = KNN(n_neighbors=9).fit(X, Y)
    grown = KNN(n_neighbors=9).fit(X[:200], Y[:200])
    assert grown.top_k(X, 5)[0].shape == (300, 5)
    assert _columns(grown)[1].shape[1] == 200
    grown.partial_fit(X[200:], Y[200:])
    assert np.array_equal(grown.top_k(X, 5)[1], whole.top_k(X, 5)[1])
    assert _columns(grown)[1].shape[1] == 300


def test_columns_take_no_more_than_their_share_of_memory(monkeypatch):
    X, Y = noisy(n=100, words=30)
    monkeypatch.setattr("tagcore.baselines.knn.index._MOST_CELLS", 350)
    model = KNN().fit(X, Y)
    model.top_k(X, 3)
    words, _ = _columns(model)
    counts = X.getnnz(axis=0)
    assert words.size == 3
    assert counts[words].min() >= np.sort(counts)[-3]
    assert np.array_equal(model.top_k(X[:5], 3)[1], KNN().fit(X, Y).top_k(X[:5], 3)[1])
