"""The linear machine over categories: scores are liblinear's, probabilities sum to one, a part of documents teaches."""

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from tagcore.models import CategorySVM
from tagcore.models.mmsg.categories import choose_categories
from tests.problems import nearly_linear, obvious


def test_the_likeliest_category_is_that_of_liblinear():
    X, Y = obvious()
    model = CategorySVM(C=1.0, min_docs=1).fit(X, Y)
    y = np.asarray(Y.argmax(axis=1)).ravel()
    machine = LinearSVC(C=1.0, tol=1e-6).fit(normalize(X), y)
    proba = model.category_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(model.category_tags_[proba.argmax(axis=1)], machine.predict(normalize(X)))
    sharp = np.log(proba) - np.log(proba).mean(axis=1, keepdims=True)
    scores = machine.decision_function(normalize(X))
    np.testing.assert_allclose(
        sharp, model.sharpness_ * (scores - scores.mean(axis=1, keepdims=True)), atol=0.02 * model.sharpness_
    )


def test_sharpness_makes_documents_likelier_than_another_would():
    X, Y = nearly_linear(600)
    model = CategorySVM(min_docs=1).fit(X[:400], Y[:400])
    foremost = choose_categories(Y[:400], 100, 1)
    assert np.array_equal(foremost.tags, model.category_tags_)
    held_out = choose_categories(Y, None, 1)
    new = held_out.documents >= 400
    documents, truth = held_out.documents[new], held_out.of_document[new]

    def loss(sharpness):
        model.sharpness_ = sharpness
        return -np.log(model.category_proba(X[documents])[np.arange(truth.size), truth]).mean()

    chosen = model.sharpness_
    assert loss(chosen) < min(loss(4 * chosen), loss(chosen / 4))


def test_one_category_two_and_a_small_share_of_documents():
    X, Y = obvious()
    one = CategorySVM(n_categories=1).fit(X, Y)
    assert np.array_equal(one.category_proba(X), np.ones((X.shape[0], 1)))
    two = CategorySVM(n_categories=2, min_docs=1, share=0.3).fit(X, Y)
    assert two.category_proba(X).shape == (X.shape[0], 2)
    assert two.n_uncategorised_ > 0
    nothing = CategorySVM().fit(X, sp.csr_matrix(Y.shape))
    assert np.array_equal(nothing.predict_proba(X), np.zeros(Y.shape))
