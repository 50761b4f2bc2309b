"""Rows that a fitted model is asked about: clean ones are read as they are, all others are mended or named."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from tagcore import tag_model
from tagcore.baselines import KNN
from tagcore.kernels.sparse import are_clean_rows
from tests.problems import noisy


@pytest.fixture(scope="module")
def problem():
    return noisy(60)


@pytest.fixture(scope="module")
def model(problem):
    return KNN().fit(*problem)


def _csr(data, indices, indptr, width):
    rows = sp.csr_matrix((len(indptr) - 1, width))
    rows.data, rows.indices = np.array(data, float), np.array(indices, np.int32)
    rows.indptr = np.array(indptr, np.int32)
    return rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clean_rows_are_given_back_and_scikit_learn_is_not_asked(problem, model, dtype, monkeypatch):
    rows = problem[0][:3].astype(dtype)
    expected = model._rows(rows, reset=False)
    for name in ("validate_data", "check_is_fitted"):
        monkeypatch.setattr(tag_model, name, lambda *_, **__: pytest.fail("asked"))
    assert model._checked(rows) is rows
    assert (rows != expected).nnz == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_named(problem, model, bad):
    rows = problem[0][:4].copy()
    rows.data[-1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.top_k(rows)


def test_other_widths_no_rows_and_a_model_that_is_not_fitted(problem, model):
    X = problem[0]
    with pytest.raises(ValueError, match=f"{X.shape[1] - 1} features, but KNN is expecting {X.shape[1]}"):
        model.top_k(X[:1, 1:])
    with pytest.raises(ValueError, match="0 sample"):
        model.top_k(X[:0])
    with pytest.raises(NotFittedError):
        KNN().top_k(X[:1])


def test_words_out_of_order_or_twice_are_put_right_and_the_callers_rows_stay(problem, model):
    width = problem[0].shape[1]
    messy = _csr([1, 2, 3, 4], [5, 2, 2, 7], [0, 4], width)
    clean = _csr([5, 1, 4], [2, 5, 7], [0, 3], width)
    np.testing.assert_array_equal(model.top_k(messy)[1], model.top_k(clean)[1])
    assert messy.indices.tolist() == [5, 2, 2, 7]


@pytest.mark.parametrize(
    "other", [sp.csr_array, sp.csc_matrix, lambda rows: rows.toarray(), lambda rows: rows.astype(int)]
)
def test_other_forms_of_the_same_rows_get_the_same_answer(problem, model, other):
    rows = problem[0][:5].copy()
    rows.data = np.round(rows.data) + 1
    np.testing.assert_array_equal(model.top_k(other(rows))[1], model.top_k(rows)[1])


@pytest.mark.parametrize("word", [-1, 999_999])
def test_a_word_that_is_none_is_named(problem, model, word):
    with pytest.raises(ValueError, match=f"row 1 has word {word}, expected one from 0 to"):
        model.top_k(_csr([1, 1], [2, word], [0, 1, 2], problem[0].shape[1]))


def test_the_kernel_agrees_with_a_loop_on_any_arrays():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(3000):
        n = int(rng.integers(0, 4))
        indptr = np.sort(rng.integers(0, n + 2, 3)) if rng.random() < 0.3 else np.array([0, n // 2, n])
        indices = rng.integers(-1, 6, n) if rng.random() < 0.5 else np.sort(rng.choice(5, n, replace=False))
        data = np.where(rng.random(n) < 0.1, np.nan, 1.0)
        ends = indptr.tolist()
        fine = ends[0] == 0 and ends[-1] == n and ends == sorted(ends) and bool(np.isfinite(data).all())
        for start, end in itertools.pairwise(ends):
            row = indices[start:end].tolist()
            fine = fine and row == sorted(set(row)) and all(0 <= word < 5 for word in row)
        assert are_clean_rows(data, indices.astype(np.int32), indptr.astype(np.int32), 5) == fine
        seen.add(fine)
    assert seen == {True, False}
