"""What a decision does to the registry: aliases, tags of versions, history; and moves by hand."""

from pathlib import Path

import numpy as np
import pytest

from tasks.evaluate import EvaluatedModel
from tasks.promotion import promote as promotion
from tasks.promotion.contest import Contest
from tasks.promotion.decision_record import Candidate, Guard
from tasks.promotion.promote import promote
from tasks.recipe_settings import PromotionSettings
from tasks.registry.client import CHALLENGER, CHAMPION, MODEL_KEY, Registry, RegistryError, version_by_alias
from tasks.registry.in_service import (
    BEFORE,
    last_withdrawal,
    models_in_service,
    promote_by_hand,
    put_into_service,
    roll_back,
)
from tasks.registry.writer import only_writer
from tests.workspaces import registry_at

GOOD = Guard("data", True, "90 held out", "at least 20")
BAD = Guard("drift of tags", False, "60.0% of the taggings moved", "at most 25%")


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    return registry_at(tmp_path_factory.mktemp("registry"))


@pytest.fixture
def contest(registry, tmp_path, monkeypatch):
    """Promotes version 2, which has these values on the held-out documents, against version 1 (or, where there are
    none, against nothing); gives the decision and the versions that are champion and challenger after it."""
    name = tmp_path.name

    def run(ours, theirs, models=("a", "b"), guards=(GOOD,), why="", **settings):
        with registry.open() as client:
            client.create_registered_model(name)
            for model in models:
                client.create_model_version(name, str(tmp_path), tags={MODEL_KEY: model}, description="the card")
            if theirs is not None:
                client.set_registered_model_alias(name, CHAMPION, "1")
        held = Contest(ours, theirs, np.full(len(ours), 0.5), "Popular", list(guards))
        monkeypatch.setattr(promotion, "hold_contest", lambda *_: held)
        monkeypatch.setattr(Registry, "fetch", lambda self, uri: tmp_path)
        challenger = Candidate(EvaluatedModel("KNN", tmp_path, tmp_path, tmp_path), "2", why=why)
        made = promote.fn(name, challenger, Path(tmp_path), "P@1", PromotionSettings(**settings), registry)
        with registry.open() as client:
            aliases = [getattr(version_by_alias(client, name, a), "version", None) for a in (CHAMPION, CHALLENGER)]
            version = client.get_model_version(name, "2")
        tags = version.tags
        assert version.description == f"{made.markdown()}\n---\n\nthe card"
        assert tags["promotion.promoted"] == str(made.promoted)
        assert {key: value for key, value in tags.items() if key.startswith("guard.")} == {
            f"guard.{guard.name}": guard.told for guard in made.guards
        }
        return made, *aliases

    return run


def test_a_better_challenger_is_put_into_service(contest):
    decision, champion, challenger = contest(np.ones(50), np.zeros(50))
    assert (decision.promoted, champion, challenger) == (True, 2, 2)
    assert decision.in_service == "2"


def test_the_decision_tells_why_another_than_the_best_challenged(contest):
    decision, *_ = contest(np.full(50, 0.9), None, why="KNN challenges because it is sure")
    assert decision.reason == "no model was in service; KNN challenges because it is sure"


def test_a_refused_challenger_is_not_put_into_service(contest):
    decision, champion, challenger = contest(np.zeros(50), np.ones(50))
    assert (decision.promoted, champion, challenger) == (False, 1, 2)
    assert decision.difference == -1
    assert decision.in_service == "1"


def test_a_later_decision_takes_the_place_of_the_first_on_the_version(contest, registry, tmp_path):
    decision, *_ = contest(np.zeros(50), np.ones(50))
    challenger = Candidate(EvaluatedModel("KNN", tmp_path, tmp_path, tmp_path), "2")
    promote.fn(tmp_path.name, challenger, tmp_path, "P@1", PromotionSettings(), registry)
    with registry.open() as client:
        assert client.get_model_version(tmp_path.name, "2").description.count(decision.reason) == 1


def test_the_same_model_does_not_challenge_itself(contest):
    decision, champion, _ = contest(np.ones(50), np.zeros(50), models=("a", "a"), guards=())
    assert (decision.reason, champion) == ("it is the same model", 1)


def test_a_guard_refuses_what_the_rule_would_pass(contest):
    decision, champion, _ = contest(np.ones(50), np.zeros(50), guards=(GOOD, BAD))
    assert (decision.promoted, champion) == (False, 1)
    assert decision.reason == "drift of tags: 60.0% of the taggings moved, needed at most 25%"
    page = decision.markdown()
    assert "| drift of tags | **refused** | 60.0% of the taggings moved | at most 25% |" in page
    assert "| data | passed | 90 held out | at least 20 |" in page


def test_the_first_must_be_better_than_the_plainest(contest):
    decision, champion, _ = contest(np.full(50, 0.5), None)
    assert (decision.promoted, champion, decision.in_service) == (False, None, None)
    assert decision.reason.startswith("no better than Popular")


def test_the_floor_can_be_taken_away(contest):
    decision, champion, _ = contest(np.full(50, 0.5), None, floor=False)
    assert (decision.promoted, champion, decision.reason) == (True, 2, "no model was in service")


def test_a_champion_no_better_than_the_plainest_is_not_followed_by_another(contest):
    decision, champion, _ = contest(np.full(50, 0.4), np.full(50, 0.1))
    assert (decision.promoted, champion) == (False, 1)
    assert decision.reason.startswith("no better than Popular")


def test_by_hand_and_back_and_further_back(registry, tmp_path):
    name = tmp_path.name
    with registry.open() as client:
        client.create_registered_model(name)
        for _ in range(3):
            client.create_model_version(name, str(tmp_path), tags={"label": "KNN", "quality": "P@1 0.9"})
        put_into_service(client, name, "1", "no model was in service")
        put_into_service(client, name, "2", "better")
    promote_by_hand(registry, name, "3")

    def champion():
        return next(one for one in models_in_service(registry) if one.name == name)

    assert (champion().version, champion().why, champion().versions) == ("3", "by hand", 3)
    assert champion().since
    assert roll_back(registry, name) == ("3", "2")
    assert (champion().version, champion().why) == ("2", "rolled back from version 3")
    assert roll_back(registry, name) == ("2", "1")
    with pytest.raises(RegistryError, match="version 1 is the first in service"):
        roll_back(registry, name)
    with pytest.raises(RegistryError, match="not found"):
        promote_by_hand(registry, name, "9")
    assert champion().version == "1"


def test_a_version_that_was_rolled_back_comes_back_by_hand_alone(contest, registry, tmp_path):
    name = tmp_path.name
    contest(np.ones(50), np.zeros(50))
    with registry.open() as client:
        client.set_model_version_tag(name, "2", BEFORE, "1")
    assert last_withdrawal(registry, name) is None
    assert roll_back(registry, name) == ("2", "1")
    assert last_withdrawal(registry, name) is not None
    challenger = Candidate(EvaluatedModel("KNN", tmp_path, tmp_path, tmp_path), "2")
    decision = promote.fn(name, challenger, tmp_path, "P@1", PromotionSettings(), registry)
    assert not decision.promoted
    assert decision.reason == f"it was rolled back by hand; `tagflow promote {name} 2` puts it back into service"
    promote_by_hand(registry, name, "2")
    assert last_withdrawal(registry, name) is None
    assert roll_back(registry, name) == ("2", "1")


@pytest.mark.parametrize("name", ["../elsewhere", "no-such-model"])
def test_a_rollback_of_what_is_not_registered_leaves_nothing_behind(registry, name):
    before = sorted(registry.writers.parent.rglob("*"))
    with pytest.raises(RegistryError, match=r"not found|Invalid model name"):
        roll_back(registry, name)
    assert sorted(registry.writers.parent.rglob("*")) == before
    with registry.open() as client:
        assert client.get_experiment_by_name(name) is None


@pytest.mark.parametrize("name", ["", "..", "a/b", "../elsewhere", "a\\b", "a\0b"])
def test_a_writer_has_one_folder_whatever_its_name(registry, name):
    with pytest.raises(RegistryError, match="is no name of a registered model"), only_writer(registry, name):
        pass
