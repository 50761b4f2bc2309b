"""The informative vector machine against moments summed over a grid, a normal density, and differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from tagcore.baselines import IVM
from tagcore.baselines.gaussian_process.adf import filter_rows
from tagcore.baselines.gaussian_process.ivm import _Evidence, _machines
from tagcore.baselines.gaussian_process.search import Scales
from tagcore.synthetic.rings import rings
from tests.tagcore.baselines.gaussian_process.test_laplace import problem


def moments(mean, variance, sign):
    """(mass, mean, variance) of N(f; mean, variance) Φ(sign f), summed over a fine grid."""
    f = mean + np.sqrt(variance) * np.linspace(-9, 9, 4001)
    share = norm.pdf(f, mean, np.sqrt(variance)) * norm.cdf(sign * f) * (f[1] - f[0])
    first = (share * f).sum() / share.sum()
    return share.sum(), first, (share * f**2).sum() / share.sum() - first**2


def posterior(K, rows, means, precisions):
    """mean and covariance of all latent values, given what sites say of some."""
    gain = np.linalg.solve(K[np.ix_(rows, rows)] + np.diag(1 / precisions), K[rows]).T
    return gain @ means, K - gain @ K[rows]


def test_filtering_keeps_the_moments_of_every_row_that_comes_in():
    K = np.array([[2.0, 0.9, 0.3], [0.9, 1.5, 0.5], [0.3, 0.5, 1.0]])
    signs = np.array([1.0, -1.0, 1.0])
    sites = filter_rows(lambda i: K[:, i], np.diag(K), signs, 3)
    assert sites.rows[0] == 0  # the widest: nothing else is known yet
    mean, covariance, log_evidence = np.zeros(3), K, 0.0
    for j, i in enumerate(sites.rows):
        mass, wanted_mean, wanted_variance = moments(mean[i], covariance[i, i], signs[i])
        mean, covariance = posterior(K, sites.rows[: j + 1], sites.means[: j + 1], sites.precisions[: j + 1])
        assert mean[i] == pytest.approx(wanted_mean, abs=1e-6)
        assert covariance[i, i] == pytest.approx(wanted_variance, abs=1e-6)
        log_evidence += np.log(mass)
    assert sites.log_evidence == pytest.approx(log_evidence, abs=1e-6)


def test_the_row_that_tells_most_comes_in_first():
    X, y = problem(30, 2)
    scales = Scales(np.array([1.0]), 1.5)
    K = scales.covariance("se").between(X, X)
    signs = np.where(y == 1, 1.0, -1.0)
    sites = filter_rows(lambda i: K[:, i], np.diag(K), signs, 6)
    for j in range(1, 6):
        mean, covariance = posterior(K, sites.rows[:j], sites.means[:j], sites.precisions[:j])
        lost = {
            i: np.log(covariance[i, i] / moments(mean[i], covariance[i, i], signs[i])[2])
            for i in range(30)
            if i not in sites.rows[:j]
        }
        assert sites.rows[j] == max(lost, key=lost.get)


def test_evidence_of_scales_is_a_normal_density_and_its_slopes_are_differences():
    X, y = problem(30)
    scales = Scales(np.array([1.0, 0.7]), 1.5)
    machines = _machines("se", scales, X, y, 3, 8)
    evidence = _Evidence("se", X, machines)
    value, slopes = evidence(scales)
    wanted = 0.0
    for machine in machines:
        rows = X[machine.rows]
        K = scales.covariance("se").between(rows, rows) + np.diag(1 / machine.precisions)
        wanted += multivariate_normal(np.zeros(8), K).logpdf(machine.means) + 4 * np.log(2 * np.pi)
    assert value == pytest.approx(wanted)
    for d, step in enumerate(1e-5 * np.eye(3)):
        up, down = (evidence(Scales.of_logs(scales.logs + sign * step))[0] for sign in (1, -1))
        assert slopes[d] == pytest.approx((up - down) / 2e-5, rel=1e-5)


def test_probabilities_are_those_of_each_machine_brought_to_one():
    X, y = problem(30)
    fitted = IVM(active=10, length_scale=1.0, search_steps=0).fit(X, y)
    scales = Scales(np.array([1.0]), 3.0)
    new = problem(5, seed=4)[0]
    every = np.concatenate([X, new])
    K = scales.covariance("se").between(every, every)
    each = []
    for machine in _machines("se", scales, X, y, 3, 10):
        mean, covariance = posterior(K, machine.rows, machine.means, machine.precisions)
        each.append(norm.cdf(mean[30:] / np.sqrt(1 + np.diag(covariance)[30:])))
    wanted = np.transpose(each) / np.sum(each, axis=0)[:, None]
    np.testing.assert_allclose(fitted.predict_proba(new), wanted, atol=1e-4)


def test_a_start_that_explains_nothing_is_left():
    X, y = rings(200, seed=0)
    fitted = IVM(active=30, ard=True, length_scale=1.0).fit(X, y)
    new, true = rings(500, seed=2)
    assert fitted.score(new, true) > 0.9
