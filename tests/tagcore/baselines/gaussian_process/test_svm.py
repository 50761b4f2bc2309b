"""Kernel machines against scikit-learn's one-vs-rest."""

import numpy as np
from scipy.special import log_softmax
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from tagcore.baselines import KernelSVM
from tagcore.numeric.covariance import NeuralNetwork
from tests.tagcore.baselines.gaussian_process.test_laplace import problem


def test_scores_are_those_of_one_machine_for_each_class():
    X, y = problem(90)
    new = problem(40, seed=1)[0]
    covariance = NeuralNetwork(0.7, 1.2)
    peer = OneVsRestClassifier(SVC(C=3.0, kernel=covariance.between)).fit(X, y)
    fitted = KernelSVM(C=3.0, length_scale=0.7, amplitude=1.2).fit(X, y)
    scores = peer.decision_function(new)
    log_proba = np.log(fitted.predict_proba(new))
    np.testing.assert_allclose(log_proba, log_softmax(fitted.sharpness_ * scores, axis=1), atol=1e-2)
    assert np.array_equal(fitted.predict(new), np.argmax(scores, axis=1))
    assert fitted.row_starts_.size - 1 < 90  # support vectors alone are kept


def test_sharpness_makes_held_out_rows_likely():
    """where classes overlap, scores promise less than where they do not."""
    X, y = problem(200, 2)
    clear = KernelSVM().fit(X * 3, y).sharpness_
    blurred = KernelSVM().fit(X + np.random.default_rng(0).normal(scale=4, size=X.shape), y).sharpness_
    assert clear > 2 * blurred
