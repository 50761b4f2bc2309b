"""A warm-up compiles; it must not train."""

import pytest

from tagcore.features.rows import InMemory
from tagcore.fitting import warm_up
from tagcore.models import BMLPL
from tests.problems import noisy


@pytest.mark.parametrize("inference", ["em", "gibbs"])
def test_a_warm_up_is_short_however_long_the_training(inference, monkeypatch):
    fitted = []
    fit = BMLPL.fit
    monkeypatch.setattr(BMLPL, "fit", lambda self, X, Y: fitted.append(self.get_params()) or fit(self, X, Y))
    model = BMLPL(n_topics=5, inference=inference, max_iter=10**9, burn_in=10**9, n_draws=10**9, thin=1, tol=0.0)
    before = model.get_params()
    X, Y = noisy()
    warm_up(model, InMemory(X, Y))
    assert [(p["max_iter"], p["burn_in"], p["n_draws"]) for p in fitted] == [(1000, 1000, 1000)]
    assert model.get_params() == before
    assert not hasattr(model, "n_labels_")
