"""Few rows that stand for all, and rows as they are stored."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tagcore.baselines import GPLA, IVM, VBGP
from tagcore.baselines.gaussian_process.rows import active_count, kept_rows, row_arrays, stratified
from tagcore.baselines.gaussian_process.search import Scales, best_scales, nothing, usual_length
from tests.tagcore.baselines.gaussian_process.test_laplace import problem


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 80), st.integers(0, 9))
def test_every_class_has_its_share(drawn, size, seed):
    y = np.unique(drawn, return_inverse=True)[1]
    rows = stratified(y, size, np.random.RandomState(seed))
    assert (np.diff(rows) > 0).all()
    counts, kept = np.bincount(y), np.bincount(y[rows], minlength=y.max() + 1)
    share = size * counts / y.size
    assert (kept >= np.minimum(counts, np.maximum(1, np.floor(share)))).all()
    assert (kept <= np.maximum(1, np.ceil(share))).all()
    assert rows.size == min(y.size, max(size, int(np.maximum(1, np.floor(share)).sum()))) or size >= y.size


@pytest.mark.parametrize(("active", "wanted"), [(0.3, 30), (0.05, 20), (1.0, 100), (40, 40), (1, 3), (1000, 100)])
def test_active_rows_are_counted_or_a_share(active, wanted):
    assert active_count(active, 100, 3) == wanted


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_rows_come_back_in_the_form_they_had(form):
    X = form(np.array([[0.0, 1.5], [0.0, 0.0], [2.0, 0.0]]))
    back = kept_rows(*row_arrays(X).values(), 2, isinstance(X, np.ndarray))
    assert type(back) is type(X)
    assert (back != X).sum() == 0


def test_the_usual_length_is_half_of_what_lies_between_rows():
    assert usual_length(np.array([[0.0], [4.0]])) == 2.0
    assert usual_length(np.zeros((3, 2))) == 1.0


def test_the_search_begins_again_where_it_found_nothing():
    """evidence with a plain of -10 at short length scales, and a hill at longer ones."""
    begun = []

    def evidence(scales):
        begun.append(scales.lengths[0])
        x = np.log(scales.lengths[0])
        return (-10.0, np.zeros(2)) if x < 1 else (-((x - 2) ** 2), np.array([-2 * (x - 2), 0.0]))

    found = best_scales(evidence, Scales(np.ones(1), 1.0), 20, nothing=-10 + 1e-3)
    assert found.lengths[0] == pytest.approx(np.exp(2), rel=1e-3)
    assert {1.0, 2.0, 4.0} <= {round(length, 6) for length in begun}
    assert nothing(100, 4) == pytest.approx(-100 * np.log(4) + 0.1)


@pytest.mark.parametrize("model", [GPLA, VBGP, IVM])
@pytest.mark.filterwarnings("error")
def test_odd_rows_are_learnt_from(model):
    """rows that stand twice, columns that never change, a class of one row."""
    X, y = problem(30)
    X, y = np.concatenate([X, X[:5], [[9.0, 9.0]]]), np.concatenate([y, y[:5], [3]])
    X = np.column_stack([X, np.ones(36)])
    fitted = model(search_steps=2, **({} if model is GPLA else {"active": 1.0})).fit(X, y)
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert fitted.score(X, y) > 0.5
    assert np.isfinite(fitted.log_evidence_)
