"""Fits that are shared have the same bits as fits made anew, and are made once."""

import numpy as np
import pytest

from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.features.rows import InMemory
from tagcore.fitting import fit_calibrated
from tagcore.kept_fits import KeptFits
from tagcore.models import Blend
from tests.problems import noisy

MEMBERS = ["OneVsRestLinear", "KNN"]


@pytest.fixture
def fits(monkeypatch):
    """the (class, number of rows) of every fit that is made."""
    made = []
    for model in (OneVsRestLinear, KNN):
        fit = model._fit

        def spy(self, rows, context, fit=fit):
            made.append((type(self).__name__, rows.n_rows))
            return fit(self, rows, context)

        monkeypatch.setattr(model, "_fit", spy)
    return made


def arrays(model):
    return {name: array.tobytes() for name, array in model.parts()["arrays"].items()}


def test_a_night_fits_each_member_once_and_its_bits_are_those_of_one_alone(tmp_path, fits):
    rows = InMemory(*noisy())
    kept = KeptFits((tmp_path / "kept",), least_seconds=0)
    linear, blend = OneVsRestLinear(), Blend(members=MEMBERS, n_folds=1)
    calibrator = fit_calibrated(linear, rows, "platt", kept=kept)
    fit_calibrated(blend, rows, "platt", kept=kept)
    assert fits == [("OneVsRestLinear", 120), ("OneVsRestLinear", 150), ("KNN", 120), ("KNN", 150)]
    alone, without = OneVsRestLinear(), Blend(members=MEMBERS, n_folds=1)
    assert np.array_equal(fit_calibrated(alone, rows, "platt").curve_, calibrator.curve_)
    fit_calibrated(without, rows, "platt")
    assert arrays(linear) == arrays(alone)
    assert arrays(blend) == arrays(without)


def test_a_blend_is_kept_for_nobody(tmp_path):
    """it can be no member, and is as large as all of its members."""
    fit_calibrated(
        Blend(members=MEMBERS), InMemory(*noisy()), None, kept=KeptFits((tmp_path / "kept",), least_seconds=0)
    )
    assert not (tmp_path / "kept").exists()


def test_other_parameters_and_other_rows_are_other_fits(tmp_path, fits):
    rows, kept = InMemory(*noisy()), KeptFits((tmp_path / "kept",), least_seconds=0)
    for model, seed in ((KNN(), 0), (KNN(), 1), (KNN(n_neighbors=3), 0)):
        fit_calibrated(model, rows, "isotonic", seed=seed, kept=kept)
    assert fits == [("KNN", 120), ("KNN", 150), ("KNN", 120), ("KNN", 120), ("KNN", 150)]


def test_what_is_fitted_fast_is_not_kept(tmp_path):
    fit_calibrated(KNN(), InMemory(*noisy()), None, kept=KeptFits((tmp_path / "kept",)))
    assert not (tmp_path / "kept").exists()
