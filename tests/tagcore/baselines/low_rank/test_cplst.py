"""CPLST against the paper's steps on dense matrices, and against ridge regression."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from tagcore.baselines import CPLST, Ridge
from tagcore.metrics.auc import roc_auc
from tests.problems import noisy, official_split, problems


def _paper(X, Y, rank, alpha, normalised=True):
    """Algorithm 2 of Chen and Lin with the ridge regression's hat matrix, words centred for its free intercept."""
    x = (normalize(X) if normalised else X).toarray().astype(float)
    y = (Y.toarray() > 0).astype(float)
    x, means, Z = x - x.mean(axis=0), x.mean(axis=0), y - y.mean(axis=0)
    inverse = np.linalg.inv(x.T @ x + alpha * np.eye(x.shape[1]))
    hat = x @ inverse @ x.T
    V = np.linalg.svd(Z.T @ hat @ Z)[2][:rank]
    regression = inverse @ x.T @ (Z @ V.T)
    return lambda rows: (rows - means) @ regression @ V + y.mean(axis=0)


@pytest.mark.parametrize("rank", [1, 4, 10])
@pytest.mark.parametrize("alpha", [0.1, 3.0])
@pytest.mark.parametrize("words", [10, 40, 200])  # fewer than tags, more than tags, more than documents
def test_equals_the_paper_on_dense_matrices(rank, alpha, words):
    X, Y = noisy(words=words)
    scores = next(CPLST(rank, alpha).fit(X, Y).score_blocks(X))[1]
    np.testing.assert_allclose(scores, _paper(X, Y, rank, alpha)(normalize(X).toarray()), atol=1e-4)


@pytest.mark.parametrize("words", [10, 40])
def test_all_directions_are_ridge_regression(words):
    X, Y = noisy(n=400, words=words, tags=20)
    wanted = Ridge(alpha=0.7).fit(X, Y)
    model = CPLST(1.0, 0.7).fit(X, Y)
    np.testing.assert_allclose(model.word_factors_ @ model.tag_factors_.T, wanted.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, wanted.intercept_, atol=1e-5)


@pytest.mark.parametrize("words", [10, 40])
def test_directions_are_orthonormal(words):
    X, Y = noisy(words=words, tags=300)  # more than a block of tags
    directions = CPLST(8).fit(X, Y).tag_factors_
    np.testing.assert_allclose(directions.T @ directions, np.eye(8), atol=1e-5)


@given(problem=problems(), rank=st.sampled_from([1, 3, 0.5, 1.0]), normalise=st.booleans())
def test_odd_matrices_equal_the_paper(problem, rank, normalise):
    X, Y = problem
    model = CPLST(rank, 0.5, normalise).fit(X, Y)
    scores = next(model.score_blocks(X))[1]
    assert np.isfinite(scores).all()
    if rank == 1.0 and isinstance(rank, float) and min(X.shape) >= Y.shape[1]:
        x = normalize(X) if normalise else X
        np.testing.assert_allclose(scores, _paper(X, Y, Y.shape[1], 0.5, normalise)(x.toarray()), atol=1e-4)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, "alpha must be positive, got 0"),
        ({"alpha": np.nan}, "got nan"),
        ({"rank": 0.0}, r"rank must be .*, got 0\.0"),
        (
            {"max_words": 39},
            r"40 words need a factor of 0\.0 GiB, more than max_words=39 allows: select words, or take",
        ),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        CPLST(**params).fit(*noisy())


def test_too_many_words_are_refused_before_anything_is_made():
    with pytest.raises(ValueError, match=r"1000000 words need a factor of 7450\.6 GiB"):
        CPLST().fit(sp.csr_matrix((2, 1_000_000)), np.ones((2, 1)))


@pytest.mark.data
def test_bibtex_beats_the_figure_of_the_paper(shared_data):
    X, Y, X_test, Y_test = official_split(shared_data / "bibtex")
    model = CPLST(0.4).fit(X, Y)
    assert roc_auc(Y_test, lambda: model.score_blocks(X_test)).row >= 0.9
