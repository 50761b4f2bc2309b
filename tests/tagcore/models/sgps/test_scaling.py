"""Scaling of inputs: dense rows and CSR rows come out alike."""

import numpy as np
import scipy.sparse as sp

from tagcore.models import SGPS
from tagcore.models.sgps.scaling import fit_scaling
from tests.tagcore.models.sgps.problems import three_classes

X, Y = three_classes(60)
X[7] = 0.0


def test_rows_of_unit_length_are_the_same_dense_and_csr_and_zeros_stay():
    dense, csr = (fit_scaling(rows, "unit").apply(rows) for rows in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense, csr.toarray(), rtol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(np.delete(dense, 7, axis=0), axis=1), 1.0)
    assert not dense[7].any()


def test_a_model_of_dense_rows_of_unit_length_is_that_of_csr_rows():
    settings = {"scaling": "unit", "search": "none", "length_scale": 0.7, "amplitude": 2.0, "tol": 1e-9}
    dense, csr = (SGPS(**settings).fit(rows, Y).predict_proba(rows) for rows in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense, csr, atol=1e-9)
