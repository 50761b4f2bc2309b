"""Vector similarity against its definition, document by document, and against the figures measured for it."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import cosine_similarity

from tagcore.base import load_estimator
from tagcore.baselines import KNN, Popular, VectorSimilarity
from tagcore.corpus import tag_matrix
from tagcore.readers import open_source
from tagcore.text.selection import SelectWords, information_gain
from tests.problems import noisy, precision, problems


def _distinct(n, words=30, tags=12, seed=0):
    """similarities without ties, counts with many."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, words)) * (rng.random((n, words)) < 0.2)
    return sp.csr_matrix(X), sp.csr_matrix(rng.poisson(0.4, (n, tags)).astype(float))


def _by_definition(X, Y, query, s, t):
    """(summed similarity by tag, all tags in order)."""
    Y, n_tags = Y.toarray(), Y.shape[1]
    frequency = (Y > 0).sum(axis=0)
    sums = dict.fromkeys(range(n_tags), 0.0)
    sims = cosine_similarity(query, X)[0]
    for document in sorted(np.flatnonzero(sims > 1e-6), key=lambda i: -sims[i])[:s]:
        carried = sorted(np.flatnonzero(Y[document]), key=lambda tag: (-Y[document, tag], -frequency[tag], tag))
        for tag in carried[:t]:
            sums[tag] += sims[document]
    return sums, sorted(sums, key=lambda tag: (-sums[tag], -frequency[tag], tag))


@pytest.mark.parametrize(("s", "t"), [(1, 1), (3, 3), (2, 5), (7, 1), (500, 500)])
def test_suggestions_follow_the_definition(s, t):
    X, Y = _distinct(90)
    queries, _ = _distinct(40, seed=1)
    model = VectorSimilarity(n_documents=s, n_tags=t).fit(X, Y)
    tags, _ = model.top_k(queries, 12)
    for suggested, query in zip(tags, queries, strict=True):
        assert suggested.tolist() == _by_definition(X, Y, query, s, t)[1]


def test_scores_are_shares_of_the_summed_similarity():
    X, Y = _distinct(90)
    queries, _ = _distinct(40, seed=1)
    proba = VectorSimilarity().fit(X, Y).predict_proba(queries)
    for scores, query in zip(proba, queries, strict=True):
        total = np.sort(cosine_similarity(query, X)[0])[-3:].sum()
        wanted = np.array([share / total for share in _by_definition(X, Y, query, 3, 3)[0].values()])
        np.testing.assert_allclose(scores, wanted, atol=3e-6)


def test_a_document_names_its_top_tags_only():
    X = np.array([[1.0, 0], [0, 1.0], [0, 1.0]])
    Y = np.array([[2, 1, 2, 3, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 1]])
    tags, scores = VectorSimilarity(n_documents=1, n_tags=2).fit(X, Y).top_k(X[:1], 5)
    assert tags[0].tolist() == [2, 3, 0, 1, 4]  # 3 by count, 2 before 0 for it is more common; then common tags
    assert (scores[0, :2] > 0.99).all()
    assert (scores[0, 2:] < 1e-5).all()


def test_a_faint_suggestion_precedes_what_every_document_carries():
    X, query = np.eye(3), [[1.0, 1e-7, 0.0]]
    Y = np.array([[1, 5, 0], [1, 0, 5], [1, 0, 0]])
    tags, scores = VectorSimilarity(n_tags=1).fit(X, Y).top_k(query, 3)
    assert tags.tolist() == [[1, 2, 0]]
    assert (np.diff(scores) < 0).all()


@settings(max_examples=50)
@given(problem=problems(), s=st.integers(1, 4), t=st.integers(1, 4), k=st.integers(1, 7))
def test_lists_are_full_and_stable_on_odd_matrices(problem, s, t, k):
    X, Y = problem
    model = VectorSimilarity(n_documents=s, n_tags=t).fit(X, Y)
    ((_, dense),) = model.score_blocks(X)
    tags, scores = model.top_k(X, k)
    wanted = np.argsort(-dense, axis=1, kind="stable")[:, :k]
    assert np.array_equal(tags, wanted)
    assert np.array_equal(scores, np.take_along_axis(dense, wanted, axis=1))
    assert dense.min() >= 0
    assert dense.max() <= 1


def test_many_rows_are_ranked_in_parts_alike():
    X, Y = noisy(n=400, tags=300)
    model = VectorSimilarity(n_documents=20, n_tags=20).fit(X, Y)
    tags, scores = model.top_k(X, 100)
    for i in (0, 57, 399):
        one = model.top_k(X[i], 100)
        assert np.array_equal(one[0][0], tags[i])
        assert np.array_equal(one[1][0], scores[i])


def test_a_document_like_no_other_gets_popular_tags():
    X, Y = noisy()
    wanted = Popular().fit(X, Y).top_k(sp.csr_matrix((1, 40)), 7)
    suggested = VectorSimilarity().fit(X, Y).top_k(sp.csr_matrix((1, 40)), 7)
    assert np.array_equal(suggested[0], wanted[0])
    assert np.array_equal(suggested[1], wanted[1])


def test_all_tags_of_all_neighbours_are_the_votes_of_knn():
    X, Y = noisy()
    votes = KNN(n_neighbors=6, power=1.0).fit(X, Y).predict_proba(X)
    scores = VectorSimilarity(n_documents=6, n_tags=1000).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(scores, votes, atol=3e-6)


def test_selection_takes_the_words_of_highest_gain(tmp_path):
    X, Y = noisy(n=400)
    model = VectorSimilarity(select="information_gain", keep=10).fit(X, Y)
    assert model.words_.tolist() == sorted(np.argsort(-information_gain(X, Y), kind="stable")[:10])
    queries, _ = noisy(seed=1)
    on_words = SelectWords(keep=10).fit(X, Y)
    plain = VectorSimilarity().fit(on_words.transform(X), Y)
    wanted = plain.top_k(on_words.transform(queries), 9)
    model.save(tmp_path / "model")
    for fitted in (model, load_estimator(tmp_path / "model")):
        suggested = fitted.top_k(queries, 9)
        assert np.array_equal(suggested[0], wanted[0])
        assert np.array_equal(suggested[1], wanted[1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_documents": 0}, "n_documents must be at least 1, got 0"),
        ({"n_tags": 1.5}, r"n_tags must be a whole number, got 1\.5"),
        ({"select": "chi2"}, "select must be None or \"information_gain\", got 'chi2'"),
        (
            {"select": "information_gain", "keep": 0},
            "keep must be a whole number from 1 .* or a share of the words",
        ),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        VectorSimilarity(**params).fit(*noisy())


def _halves(folder):
    """citeulike-t as the figures were measured: at least 5 tokens, words in 2 and tags on 5 training documents."""
    source = open_source(folder)
    blocks = list(source.blocks())
    X = sp.vstack([block.words for block in blocks], format="csr")
    tags = [tag_matrix(block.taggings, block.documents.num_rows, len(source.tags), 0) for block in blocks]
    Y = sp.vstack(tags, format="csr")
    long = np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() >= 5)
    halves = np.array_split(np.random.default_rng(0).permutation(long), 2)
    words = np.bincount(X[halves[0]].indices, minlength=X.shape[1]) >= 2
    kept = np.bincount(Y[halves[0]].indices, minlength=Y.shape[1]) >= 5
    for half in halves:
        x, y = X[half][:, words], Y[half][:, kept]
        usable = (np.diff(x.indptr) > 0) & (np.diff(y.indptr) > 0)
        yield from (x[usable], y[usable])


@pytest.mark.data
def test_the_measured_figures_on_citeulike(shared_data):
    X, Y, queries, wanted = _halves(shared_data / "citeulike-t")
    tfidf = TfidfTransformer(sublinear_tf=True).fit(X)
    for select, figure in [(None, 0.390), ("information_gain", 0.363)]:
        tags, _ = VectorSimilarity(select=select).fit(tfidf.transform(X), Y).top_k(tfidf.transform(queries[:6000]), 1)
        assert precision(wanted[:6000], tags, 1) == pytest.approx(figure, abs=0.02)
