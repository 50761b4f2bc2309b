"""How the challenger is chosen, held to a stricter level for it, and compared."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tasks.evaluate import EvaluatedModel
from tasks.promotion import rules
from tasks.promotion.rules import above_floor, beats_champion, choose_challenger, corrected_level
from tasks.recipe_settings import PromotionSettings


@pytest.fixture
def measured(monkeypatch):
    """Makes a model whose evaluation has these values of P@1 and this calibration error."""
    evaluations = {}

    def make(label: str, values: np.ndarray, ece: float) -> EvaluatedModel:
        summary = {"P@1": SimpleNamespace(value=float(values.mean())), "ECE": SimpleNamespace(value=ece)}
        evaluations[label] = SimpleNamespace(per_unit=pd.DataFrame({"P@1": values}), summary=summary)
        return EvaluatedModel(label, Path("m"), Path(label), Path("f"))

    monkeypatch.setattr(rules, "Evaluation", SimpleNamespace(load=lambda folder: evaluations[folder.name]))
    value = lambda folder, measure: evaluations[folder.name].summary[measure].value  # noqa: E731
    monkeypatch.setattr(rules, "signed_value", value)
    return make


def test_the_best_model_challenges(measured):
    rng = np.random.default_rng(0)
    poor, good = rng.random(300) < 0.3, rng.random(300) < 0.8
    models = [measured("poor", poor.astype(float), 0.01), measured("good", good.astype(float), 0.2)]
    chosen, why = choose_challenger(models, "P@1")
    assert (chosen.label, why) == ("good", "")


def test_a_tie_goes_to_the_better_calibrated_and_of_equals_to_the_first(measured):
    rng = np.random.default_rng(1)
    values = (rng.random(300) < 0.5).astype(float)
    better = values.copy()
    better[np.flatnonzero(values == 0)[:2]] = 1
    better[np.flatnonzero(values == 1)[:1]] = 0  # by one, which 300 documents do not tell from chance
    loud, sure = measured("loud", better, 0.2), measured("sure", values, 0.05)
    chosen, why = choose_challenger([loud, sure], "P@1")
    assert chosen.label == "sure"
    assert why.startswith("sure challenges because its probabilities hold better (ECE 0.050 to 0.200) than")
    assert "those of loud, whose lead is not proven: P@1 +0.0033 (" in why
    assert why.endswith(") on 300 rows")
    first, second = measured("first", values, 0.1), measured("second", values, 0.1)
    chosen, why = choose_challenger([first, second], "P@1")
    assert (chosen.label, why) == ("first", "")


def test_the_level_shares_the_error_among_the_candidates():
    assert corrected_level(0.95, 1) == pytest.approx(0.95)
    assert corrected_level(0.95, 5) == pytest.approx(0.99)


def verdict(ours, theirs, candidates=1, able="", measure="P@1", **settings):
    units = "users" if measure == "MAE" else "documents"
    return beats_champion(ours, theirs, measure, PromotionSettings(**settings), candidates, able, units)


def test_the_whole_interval_of_the_gain_must_lie_above_the_margin():
    rng = np.random.default_rng(0)
    theirs = rng.integers(0, 2, 400).astype(float)
    ours = theirs.copy()
    ours[np.flatnonzero(theirs == 0)[:24]] = 1.0  # a gain of 0.06 on every draw of documents, give or take
    better = verdict(ours, theirs)
    assert better.passed
    assert 0 < better.test.low < 0.06 < better.test.high
    refused = verdict(ours, theirs, margin=0.05)  # the estimate is above the margin, the interval is not
    assert refused.test.difference > 0.05
    assert not refused.passed
    assert refused.reason.startswith("not better beyond the 95.0% interval: P@1 +0.06")


def test_a_stricter_level_can_refuse_what_one_comparison_would_pass():
    rng = np.random.default_rng(3)
    theirs = rng.random(300)
    gain = rng.normal(size=300)
    gain += 2.5 * gain.std() / np.sqrt(300) - gain.mean()  # two and a half standard errors above zero
    assert verdict(theirs + gain, theirs).passed
    assert not verdict(theirs + gain, theirs, candidates=20).passed


def test_where_less_is_better_a_smaller_value_is_promoted():
    rng = np.random.default_rng(0)
    theirs = rng.random(400)
    ours = theirs - 0.1 + 0.2 * rng.random(400)
    ours -= ours.mean() - theirs.mean() + 0.06
    better = verdict(ours, theirs, measure="MAE")
    assert better.passed
    assert better.reason.startswith("better beyond the 95.0% interval: MAE -0.0600 (-0.06")
    assert better.reason.endswith("on 400 users")
    assert not verdict(theirs, ours, measure="MAE").passed
    assert not verdict(ours, theirs, measure="MAE", margin=0.06).passed


def test_one_that_is_able_to_do_more_may_be_as_good_but_not_worse():
    rng = np.random.default_rng(2)
    theirs = (rng.random(2000) < 0.6).astype(float)
    ours = theirs.copy()
    ours[:3] = 1 - ours[:3]
    able = "able to give 1 tags that are new (bread)"
    assert not verdict(ours, theirs, able=able).passed  # today's rule
    passed = verdict(ours, theirs, able=able, rule="able")
    assert passed.passed
    assert "not worse by more than 0.01, and able to give 1 tags that are new (bread)" in passed.reason
    assert not verdict(ours, theirs, rule="able").passed  # as good, and nothing new
    worse = theirs.copy()
    worse[np.flatnonzero(theirs)[:100]] = 0.0
    refused = verdict(worse, theirs, able=able, rule="able")
    assert not refused.passed
    assert "it may lose more than 0.01" in refused.reason


def test_one_that_is_no_better_than_the_plainest_is_below_the_floor():
    rng = np.random.default_rng(0)
    popular = (rng.random(300) < 0.2).astype(float)
    assert not above_floor(popular, popular, "P@1", 0.95, "Popular").passed
    assert not above_floor(np.zeros(300), popular, "P@1", 0.95, "Popular").passed
    good = above_floor(np.maximum(popular, rng.random(300) < 0.5), popular, "P@1", 0.95, "Popular")
    assert good.passed
    assert good.reason.startswith("better than Popular: P@1 +0.")
