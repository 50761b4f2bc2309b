"""Drift: variance that comes back while a word is not seen, in learning and in prediction."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from tagcore.models import BOMC
from tests.problems import noisy, obvious

STREAM = {"shuffle": False, "skew": "running"}
VARIANTS = pytest.mark.parametrize("variant", ["coupled", "independent"])


@VARIANTS
def test_drift_gives_back_variance_for_every_document_since_a_word_was_seen(variant):
    X, Y = noisy(n=60)
    settings = STREAM | {"variant": variant, "dtype": "float64"}
    forgetful = BOMC.published(**settings, drift=0.02, bias_drift=0.003, bias_var=1.0).fit(X, Y)
    by_hand, last = BOMC.published(**settings, bias_var=1.0), np.zeros(X.shape[1])
    for now in range(X.shape[0]):
        if now:
            words = X[now].indices
            grown = by_hand.variance_[words] + 0.02 * (now - last[words])[:, None]
            by_hand.variance_[words] = np.minimum(1.0, grown)
            by_hand.bias_variance_ = np.minimum(1.0, by_hand.bias_variance_ + 0.003)
            last[words] = now
        by_hand.partial_fit(X[now], Y[now])
    np.testing.assert_allclose(forgetful.mean_, by_hand.mean_, rtol=1e-10)
    np.testing.assert_allclose(forgetful.variance_, by_hand.variance_, rtol=1e-10)
    assert forgetful.variance_.sum() > BOMC.published(**settings).fit(X, Y).variance_.sum()


@VARIANTS
def test_what_is_pending_of_drift_counts_in_prediction(variant):
    """words that only the first rows have: what is said of them is as unsure as the next row would find them."""
    X, Y = noisy(n=60, words=12)
    late = X.toarray()
    late[20:, 6:] = 0.0
    X = normalize(sp.csr_matrix(late))
    model = BOMC.published(variant, **STREAM, dtype="float64", drift=0.002, bias_drift=0.003, bias_var=0.5).fit(X, Y)
    last = np.array([np.flatnonzero(column)[-1] for column in late.T])
    variance = np.minimum(1.0, model.variance_ + 0.002 * (60 - last)[:, None])
    bias_variance = np.minimum(0.5, model.bias_variance_ + 0.003)
    posterior = model.posterior()
    np.testing.assert_allclose(posterior.variance, variance, rtol=1e-12)
    np.testing.assert_allclose(posterior.bias_variance, bias_variance, rtol=1e-12)
    z = (X @ model.mean_ - model.bias_mean_) / np.sqrt(X.multiply(X) @ variance + bias_variance)
    np.testing.assert_allclose(np.vstack([block for _, block in model.score_blocks(X)]), z, rtol=1e-9)
    np.testing.assert_allclose(model.explain(X[3], 5).spread ** 2, X[3].data ** 2 * variance[X[3].indices, 5])


def test_what_is_pending_of_drift_makes_the_best_class_less_sure():
    X, Y = obvious(n=200)
    model = BOMC.published("multi-class", **STREAM, drift=0.01, prior_var=10.0).fit(X, Y)
    before = model.predict_proba(X[:20]).max(axis=1)
    model.partial_fit(sp.csr_matrix((900, X.shape[1])), Y[np.zeros(900, int)])
    assert model.predict_proba(X[:20]).max(axis=1).mean() < before.mean() - 0.005
