"""How the challenger is chosen, held to a stricter level for it, and compared."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pydantic import SecretStr

from tasks import promotion
from tasks.evaluate import EvaluatedModel
from tasks.promotion import Candidate, choose_challenger, corrected_level, decide, promote
from tasks.recipe_settings import PromotionSettings
from tasks.registry.client import CHALLENGER, CHAMPION, MODEL_KEY, Registry, version_by_alias


def candidate(value):
    """A candidate whose evaluation is called by its value."""
    return Candidate(EvaluatedModel(f"model {value}", Path("m"), Path(str(value)), Path("f")), "1")


def test_the_best_candidate_challenges_and_of_equals_the_first(monkeypatch):
    monkeypatch.setattr(promotion, "signed_value", lambda evaluation, measure: float(evaluation.name))
    first, second = candidate(0.9), candidate(0.9)
    assert choose_challenger([candidate(0.2), first, second, candidate(0.7)], "P@1") is first


def test_the_level_shares_the_error_among_the_candidates():
    assert corrected_level(0.95, 1) == pytest.approx(0.95)
    assert corrected_level(0.95, 5) == pytest.approx(0.99)


def decision(ours, theirs, level=0.95, margin=0.0):
    return decide("m", "KNN", "2", "1", ours, theirs, "P@1", level, margin)


def test_the_whole_interval_of_the_gain_must_lie_above_the_margin():
    rng = np.random.default_rng(0)
    theirs = rng.integers(0, 2, 400).astype(float)
    ours = theirs.copy()
    ours[np.flatnonzero(theirs == 0)[:24]] = 1.0  # a gain of 0.06 on every draw of documents, give or take
    better = decision(ours, theirs)
    assert better.promoted
    assert 0 < better.low < 0.06 < better.high
    assert better.in_service == "2"
    refused = decision(ours, theirs, margin=0.05)  # the estimate is above the margin, the interval is not
    assert refused.difference > 0.05
    assert not refused.promoted
    assert refused.in_service == "1"
    assert refused.reason.startswith("not better beyond the 95.0% interval: P@1 +0.06")


def test_a_stricter_level_can_refuse_what_one_comparison_would_pass():
    rng = np.random.default_rng(3)
    theirs = rng.random(300)
    gain = rng.normal(size=300)
    gain += 2.5 * gain.std() / np.sqrt(300) - gain.mean()  # two and a half standard errors above zero
    ours = theirs + gain
    assert decision(ours, theirs, level=0.95).promoted
    assert not decision(ours, theirs, level=corrected_level(0.95, 20)).promoted


def test_where_less_is_better_a_smaller_value_is_promoted():
    rng = np.random.default_rng(0)
    theirs = rng.random(400)
    ours = theirs - 0.1 + 0.2 * rng.random(400)
    ours -= ours.mean() - theirs.mean() + 0.06

    def by_mae(ours, theirs, margin=0.0):
        return decide("m", "ItemMean", "2", "1", ours, theirs, "MAE", 0.95, margin, "users")

    better = by_mae(ours, theirs)
    assert better.promoted
    assert better.low < better.difference < better.high < 0
    assert better.difference == pytest.approx(-0.06)
    assert better.reason.startswith("better beyond the 95.0% interval: MAE -0.0600 (-0.06")
    assert better.reason.endswith("on 400 users")
    assert not by_mae(theirs, ours).promoted
    assert not by_mae(ours, theirs, margin=0.06).promoted


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    folder = tmp_path_factory.mktemp("registry")
    return Registry(SecretStr(f"sqlite:///{folder / 'mlflow.db'}"), folder / "artifacts", folder / "writers")


@pytest.fixture
def contest(registry, tmp_path, monkeypatch):
    """Promotes version 2, which has these values on the held-out documents, against version 1; gives the decision and
    the versions that are champion and challenger after it."""
    name = tmp_path.name

    def run(ours, theirs, models=("a", "b")):
        with registry.open() as client:
            client.create_registered_model(name)
            for model in models:
                client.create_model_version(name, str(tmp_path), tags={MODEL_KEY: model})
            client.set_registered_model_alias(name, CHAMPION, "1")
        evaluation = SimpleNamespace(per_unit=pd.DataFrame({"P@1": ours}))
        monkeypatch.setattr(promotion, "signed_value", lambda *_: 0.5)
        monkeypatch.setattr(promotion, "Evaluation", SimpleNamespace(load=lambda folder: evaluation))
        monkeypatch.setattr(
            promotion,
            "kind_of",
            lambda kind: SimpleNamespace(in_service=SimpleNamespace(held_out_values=lambda *_: theirs)),
        )
        monkeypatch.setattr(Registry, "fetch", lambda self, uri: tmp_path)
        challenger = Candidate(EvaluatedModel("KNN", tmp_path, tmp_path, tmp_path), "2")
        made = promote.fn(name, [challenger], tmp_path, "P@1", PromotionSettings(), registry)
        with registry.open() as client:
            aliases = [version_by_alias(client, name, alias).version for alias in (CHAMPION, CHALLENGER)]
            tags = client.get_model_version(name, "2").tags
        assert tags["promotion.promoted"] == str(made.promoted)
        return made, *aliases

    return run


def test_a_better_challenger_is_put_into_service(contest):
    decision, champion, challenger = contest(np.ones(50), np.zeros(50))
    assert (decision.promoted, champion, challenger) == (True, 2, 2)


def test_a_refused_challenger_is_not_put_into_service(contest):
    decision, champion, challenger = contest(np.zeros(50), np.ones(50))
    assert (decision.promoted, champion, challenger) == (False, 1, 2)
    assert decision.difference == -1


def test_the_same_model_does_not_challenge_itself(contest):
    decision, champion, _ = contest(np.ones(50), np.zeros(50), models=("a", "a"))
    assert (decision.reason, champion) == ("it is the same model", 1)
