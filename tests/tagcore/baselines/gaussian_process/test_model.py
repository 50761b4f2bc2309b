"""What all classifiers with a covariance function do: rows in any unit, amplitudes that work."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.base import load_estimator
from tagcore.baselines import GPLA, IVM, VBGP, KernelSVM
from tests.tagcore.baselines.gaussian_process.test_laplace import problem

X, Y = problem(60)
X_NEW, Y_NEW = problem(40, seed=1)
SEARCHED = pytest.mark.parametrize("model", [GPLA, IVM, VBGP])
EVERY = pytest.mark.parametrize("model", [GPLA, IVM, VBGP, KernelSVM])


def made(model, steps, **settings):
    """a model that searches for so many steps, where it searches."""
    return model(**settings) if model is KernelSVM else model(search_steps=steps, **settings)


@EVERY
@pytest.mark.parametrize("scale", [1e-7, 1e60])
def test_rows_may_be_told_in_any_unit(model, scale, tmp_path):
    """rows a thousand times as large were once hardly told apart: the search began outside of its bounds."""
    usual, other = made(model, 5).fit(X, Y), made(model, 5).fit(scale * X, Y)
    assert other.score(scale * X_NEW, Y_NEW) >= usual.score(X_NEW, Y_NEW) - 0.05
    other.save(tmp_path / "model")
    assert np.array_equal(
        load_estimator(tmp_path / "model").predict_proba(scale * X_NEW), other.predict_proba(scale * X_NEW)
    )


@EVERY
def test_a_unit_that_is_a_power_of_two_changes_no_bit(model):
    large, larger = (made(model, 2).fit(unit * X, Y) for unit in (2.0**20, 2.0**30))
    assert np.array_equal(larger.length_scales_, 2.0**10 * large.length_scales_)
    assert np.array_equal(larger.predict_proba(2.0**30 * X_NEW), large.predict_proba(2.0**20 * X_NEW))


@SEARCHED
def test_a_length_scale_that_is_given_is_told_in_the_unit_of_the_rows(model):
    usual = model(length_scale=0.7, search_steps=0).fit(X, Y).predict_proba(X_NEW)
    for form in (np.asarray, sp.csr_matrix):
        other = model(length_scale=0.7e5, search_steps=0).fit(form(1e5 * X), Y)
        assert other.length_scales_ == pytest.approx(0.7e5)
        np.testing.assert_allclose(other.predict_proba(form(1e5 * X_NEW)), usual, atol=1e-6)


@EVERY
def test_amplitudes_are_those_that_work(model):
    """with a million the mode was not found, or covariances were not finite."""
    assert made(model, 0, amplitude=1e3).fit(X, Y).score(X, Y) > 0.6  # classes overlap; by chance it is a third
    with pytest.raises(ValueError, match=r"amplitude must be at least 1e-06 and at most 1000, got 1001\.0"):
        made(model, 0, amplitude=1001.0).fit(X, Y)


@EVERY
def test_a_stored_length_scale_fits_to_the_rows(model, tmp_path):
    """by one of 1e-200 rows are no numbers any more."""
    fitted = made(model, 0).fit(X, Y)
    fitted.length_scales_ = np.full_like(fitted.length_scales_, 1e-200)
    fitted.save(tmp_path / "model")
    with pytest.raises(ValueError, match="length scales"):
        load_estimator(tmp_path / "model")
