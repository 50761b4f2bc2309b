"""The full Laplace classifier against scikit-learn's, a dense posterior written out, and differences."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from tagcore.baselines import GPLA
from tagcore.baselines.gaussian_process.gpla import _Evidence
from tagcore.baselines.gaussian_process.laplace import contrast_variances, find_mode
from tagcore.baselines.gaussian_process.model import covariance_matrix
from tagcore.baselines.gaussian_process.rows import one_hot
from tagcore.baselines.gaussian_process.search import Scales
from tagcore.synthetic.rings import rings


def problem(n=24, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, 2)) + 1.5 * np.stack([np.cos(2.0 * y), np.sin(2.0 * y)], axis=1)
    return X, y


SCALES = Scales(np.array([1.3]), 2.0)


def test_two_classes_are_the_binary_classifier_of_scikit_learn():
    """softmax of two latent functions is the logistic function of their difference, of twice the covariance."""
    X, y = problem(40, 2)
    kernel = ConstantKernel(2 * SCALES.amplitude**2) * RBF(SCALES.lengths[0])
    peer = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=500).fit(X, y)
    mode = find_mode(covariance_matrix("se", SCALES, X), one_hot(y, 2), tol=1e-12)
    assert mode.log_evidence == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-3)
    _, slopes = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True, clone_kernel=False)
    _, ours = _Evidence("se", X, one_hot(y, 2))(SCALES)
    np.testing.assert_allclose(ours, [slopes[1], 2 * slopes[0]], rtol=1e-3, atol=1e-3)
    fitted = GPLA(length_scale=1.3, amplitude=2.0, search_steps=0).fit(X, y)
    new = problem(200, 2, seed=1)[0]
    assert np.array_equal(fitted.predict(new), peer.predict(new))


def dense_posterior(K, y, classes):
    """(mode, log evidence, covariance) with the Hessian of all latent values in one matrix."""
    n = y.size
    prior = block_diag(*[K] * classes)
    inverse = np.linalg.inv(prior)

    def negative(flat):
        f = flat.reshape(classes, n).T
        return -(f[np.arange(n), y].sum() - logsumexp(f, axis=1).sum() - 0.5 * flat @ inverse @ flat)

    def slope(flat):
        f = flat.reshape(classes, n).T
        return -((one_hot(y, classes) - softmax(f, axis=1)).T.ravel() - inverse @ flat)

    found = minimize(negative, np.zeros(n * classes), jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    proba = softmax(found.x.reshape(classes, n).T, axis=1)
    W = np.diag(proba.T.ravel())
    for c in range(classes):
        for d in range(classes):
            W[c * n : (c + 1) * n, d * n : (d + 1) * n] -= np.diag(proba[:, c] * proba[:, d])
    log_det = np.linalg.slogdet(np.eye(n * classes) + prior @ W)[1]
    return found.x.reshape(classes, n).T, -negative(found.x) - 0.5 * log_det, W, prior


def test_mode_evidence_and_variances_are_those_of_the_dense_posterior():
    X, y = problem()
    new = problem(7, seed=3)[0]
    K = covariance_matrix("se", SCALES, X)
    f, log_evidence, W, prior = dense_posterior(K, y, 3)
    mode = find_mode(K, one_hot(y, 3), tol=1e-12)
    np.testing.assert_allclose(K @ mode.a, f, atol=1e-4)
    assert mode.log_evidence == pytest.approx(log_evidence, abs=1e-5)
    covariance = SCALES.covariance("se")
    cross, diagonal = covariance.between(X, new), covariance.diagonal(new)
    found = contrast_variances(mode.at, cross, diagonal)
    explained = np.linalg.solve(np.eye(len(W)) + W @ prior, W)  # (K + W⁻¹)⁻¹
    contrast = np.eye(3) - 1 / 3
    for m in range(7):
        spread = block_diag(*[cross[:, m]] * 3).reshape(3, -1)
        whole = diagonal[m] * np.eye(3) - spread @ explained @ spread.T
        np.testing.assert_allclose(found[m], np.diag(contrast @ whole @ contrast), atol=1e-5)


@pytest.mark.parametrize("name", ["se", "nn"])
@pytest.mark.parametrize("ard", [False, True])
def test_slopes_of_the_evidence_are_its_differences(name, ard):
    X, y = problem()
    scales = Scales(np.array([1.3, 0.8])[: 1 + ard], 1.7)

    def value(logs):
        K = covariance_matrix(name, Scales.of_logs(logs), X)
        return find_mode(K, one_hot(y, 3), tol=1e-13).log_evidence

    _, slopes = _Evidence(name, X, one_hot(y, 3))(scales)
    for d, step in enumerate(1e-4 * np.eye(scales.logs.size)):
        difference = (value(scales.logs + step) - value(scales.logs - step)) / 2e-4
        assert slopes[d] == pytest.approx(difference, rel=1e-4, abs=1e-4)


def test_the_search_raises_the_evidence_and_finds_the_two_inputs_that_matter():
    X, y = rings(150, seed=1)
    given = GPLA(ard=True, search_steps=0).fit(X, y)
    found = GPLA(ard=True, search_rows=150).fit(X, y)
    assert found.log_evidence_ > given.log_evidence_ + 20
    assert set(np.argsort(found.length_scales_)[:2]) == {0, 1}
    new, true = rings(500, seed=2)
    assert found.score(new, true) > 0.95


def test_of_many_rows_a_share_of_every_class_is_kept():
    X, y = problem(90)
    fitted = GPLA(max_rows=30, search_steps=0).fit(X, y)
    assert fitted.row_starts_.size - 1 == 30
    assert fitted.weights_.shape == (30, 3)
    assert fitted.score(X, y) > 0.6


def test_flat_latent_values_where_the_prior_is_narrow():
    X, y = problem()
    fitted = GPLA(amplitude=1e-4, search_steps=0).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X), 1 / 3, atol=1e-6)
    assert fitted.log_evidence_ == pytest.approx(-24 * np.log(3), abs=1e-4)
