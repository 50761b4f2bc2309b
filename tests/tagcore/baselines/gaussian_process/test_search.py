"""The unit of rows, by which the bounds of the search hold their usual length."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagcore.baselines.gaussian_process.search import LOG_LENGTH, unit_of_rows, usual_length
from tests.tagcore.baselines.gaussian_process.test_laplace import problem

X = problem(60)[0]


@pytest.mark.parametrize("columns", [1, 10, 500])
def test_standardised_rows_stay_as_they_are(columns):
    rows = np.random.default_rng(0).normal(size=(100, columns))
    assert unit_of_rows(rows) == unit_of_rows(sp.csr_matrix(rows)) == 1.0


@pytest.mark.parametrize("scale", [1e-90, 1e-5, 1e3, 1e90])
def test_others_are_divided_by_a_power_of_two_so_that_the_bounds_hold_their_usual_length(scale):
    unit = unit_of_rows(scale * X)
    assert np.log2(unit) == round(np.log2(unit))
    assert LOG_LENGTH[0] < np.log(usual_length(scale * X / unit)) < LOG_LENGTH[1]


@pytest.mark.parametrize("value", [0.0, 1e-9, 3.3, 1e50])
def test_rows_that_are_the_same_but_for_rounding_have_length_one(value):
    same = np.full((30, 7), value)
    assert usual_length(same) == unit_of_rows(same) == 1.0
