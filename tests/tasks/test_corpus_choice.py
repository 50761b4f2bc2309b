"""What a corpus wants is chosen on validation documents alone, once, and changes what nobody has set."""

import json

import numpy as np
import pytest

from tagcore.corpus import Corpus
from tasks import corpus_choice as module
from tasks.corpus_choice import choose, with_changes
from tasks.recipe import RecipeError, parse_recipe
from tasks.recipe_settings import FeatureSettings
from tests.workspaces import workspace_at

TITLE = {"features.fields": {"title": 4, "text": 1}}
COST = {"models.OneVsRestLinear.C": 0.2}
MODELS = [{"model": "OneVsRestLinear"}, {"model": "KNN"}, {"model": "Blend"}]


def recipe_of(*options, **settings):
    choice = {"options": list(options), "documents": 400, **settings.pop("choice", {})}
    return parse_recipe({"models": MODELS, "choice": choice} | settings, "test")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The title tells the tag; the text is words of all tags."""
    rng = np.random.default_rng(0)
    names = np.array([f"tag{t}" for t in range(8)])
    topics = rng.integers(0, 8, 600)
    texts = [{"title": f"on {names[topic]}", "text": " ".join(rng.choice(names, 12))} for topic in topics]
    folder = tmp_path_factory.mktemp("choice") / "corpus"
    Corpus.from_texts(texts, [[names[topic]] for topic in topics]).save(folder)
    return folder


def test_what_helps_is_taken_and_a_second_night_uses_it(corpus, tmp_path, monkeypatch):
    workspace, recipe = workspace_at(tmp_path), recipe_of(TITLE, {"features.stop_words": "english"})
    assert choose.fn(corpus, recipe, FeatureSettings(), "notes", workspace).result() == TITLE
    record = json.loads((tmp_path / "choices" / "notes.json").read_text())
    assert [trial["kept"] for trial in record["trials"]] == [True, False]
    probes = []
    ask = module._ndcg
    monkeypatch.setattr(module, "_ndcg", lambda *given: probes.append(given) or ask(*given))
    assert choose.fn(corpus, recipe, FeatureSettings(), "notes", workspace).result() == TITLE
    moved = recipe_of(*recipe.choice.options, split={"exceptions": ["7"]})  # a later night of a split by time
    assert choose.fn(corpus, moved, FeatureSettings(), "notes", workspace).result() == TITLE
    assert probes == []
    other = recipe_of(TITLE)  # another question
    assert choose.fn(corpus, other, FeatureSettings(), "notes", workspace).result() == TITLE
    assert len(probes) == 2
    again = recipe_of(TITLE, choice={"renew": True})
    choose.fn(corpus, again, FeatureSettings(), "notes", workspace)
    assert len(probes) == 4


def test_a_parameter_is_chosen_on_the_features_that_its_model_reads(corpus, tmp_path, monkeypatch):
    made = []
    ask = module.make_features
    monkeypatch.setattr(
        module, "make_features", lambda corpus, folder, vectoriser, split: made.append(vectoriser.get_params())
        or ask(corpus, folder, vectoriser, split),
    )  # fmt: skip
    models = [{"model": "KNN"}, {"model": "OneVsRestLinear", "features": {"min_df": 3}}]
    recipe = recipe_of(COST, {"models.KNN.n_neighbors": 5}, TITLE, models=models)
    choose.fn(corpus, recipe, FeatureSettings(), "own", workspace_at(tmp_path))
    assert [params["min_df"] for params in made] == [3, 1, 1]
    assert [params["fields"] is None for params in made] == [True, True, False]


def test_probes_are_asked_about_validation_documents(corpus, tmp_path, monkeypatch):
    """such a split leaves the test documents out altogether."""
    splits = []
    ask = module.make_features
    monkeypatch.setattr(module, "make_features", lambda *given: splits.append(given[3]) or ask(*given))
    choose.fn(corpus, recipe_of(TITLE), FeatureSettings(), "notes", workspace_at(tmp_path))
    assert {split.validation for split in splits} == {0.3}
    assert {split.train_documents for split in splits} == {400}


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"chosen_features": ["fields"]}, [TITLE]),  # a person has set it
        ({}, [{"features.use_idf": True}]),  # it is so already
        ({"choice": {"seconds": 0}}, []),
    ],
)
def test_what_is_settled_is_not_tried(corpus, tmp_path, monkeypatch, settings, options):
    monkeypatch.setattr(module, "_ndcg", lambda *given: pytest.fail("a probe was asked"))
    recipe = recipe_of(*options, **settings)
    assert choose.fn(corpus, recipe, FeatureSettings(), "notes", workspace_at(tmp_path)).result() == {}


def test_changes_reach_features_models_and_members_that_do_not_say_their_own():
    own = [{"model": "OneVsRestLinear", "params": {"C": 3.0}, "called": "mine"}, *MODELS]
    members = {"members": [{"model": "OneVsRestLinear", "C": 9.0}, "OneVsRestLinear", "KNN"]}
    own.append({"model": "Blend", "params": members, "called": "other"})
    recipe = with_changes(parse_recipe({"models": own}, "test"), TITLE | COST)
    assert recipe.features.fields == {"title": 4, "text": 1}
    assert recipe.chosen_features == ["fields"]
    mine, linear, knn, blend, other = recipe.models
    assert (mine.params, linear.params, knn.params) == ({"C": 3.0}, {"C": 0.2}, {})
    assert blend.params == {"members": [{"model": "OneVsRestLinear", "C": 0.2}, "KNN", "BOMC"]}
    assert other.params["members"] == [members["members"][0], {"model": "OneVsRestLinear", "C": 0.2}, "KNN"]
    assert (blend.label, other.label) == ("Blend", "other")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"features.stemming": True}, "choice.options.*there is no feature 'stemming'"),
        ({"split.test": 0.3}, '"features.NAME" or "models.CLASS.PARAMETER"'),
        ({"models.C": 1.0}, '"features.NAME" or "models.CLASS.PARAMETER"'),
    ],
)
def test_options_that_cannot_be(option, expected):
    with pytest.raises(RecipeError, match=expected):
        recipe_of(option)
