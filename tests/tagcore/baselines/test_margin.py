"""Models with a boundary per tag have scikit-learn's `decision_function`, and no others do."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier

from tagcore.base import MODELS
from tagcore.baselines import LaSVM, OneVsRestLinear, OneVsRestLogistic, PassiveAggressive, Ridge
from tests.problems import noisy

MARGINS = [LaSVM, OneVsRestLinear, OneVsRestLogistic, PassiveAggressive, Ridge]


@pytest.mark.parametrize("model", MARGINS)
def test_what_is_beyond_the_boundary_is_predicted(model):
    X, Y = noisy()
    with pytest.raises(NotFittedError):
        model().decision_function(X)
    fitted = model().fit(X, Y)
    margins = fitted.decision_function(X)
    assert margins.shape == Y.shape
    np.testing.assert_array_equal(margins > 0, fitted.predict(X).toarray() > 0)
    assert 0 < (margins > 0).sum() < margins.size
    tags, scores = fitted.top_k(X, 3)
    np.testing.assert_allclose(np.take_along_axis(margins, tags, axis=1) + model._boundary, scores, rtol=1e-12)


def test_only_models_with_a_boundary_have_one():
    assert {name for name, model in MODELS.items() if hasattr(model, "decision_function")} == {
        model.__name__ for model in MARGINS
    }


def test_ridge_decides_as_scikit_learn_does():
    X, Y = noisy()
    dense = X.toarray(), (Y.toarray() > 0).astype(int)
    theirs = RidgeClassifier(alpha=1.0, solver="cholesky").fit(*dense).decision_function(dense[0])
    ours = Ridge(alpha=1.0, normalise=False).fit(X, dense[1]).decision_function(X)
    np.testing.assert_allclose(2 * ours, theirs, atol=1e-5)  # they learn -1 and 1
