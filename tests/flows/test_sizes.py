"""Models that the data are nothing for, too large or below zero, are left out, and that is said."""

from dataclasses import replace

import pytest
import scipy.sparse as sp

from flows import jobs as of_recipe
from flows import settings_search
from flows.recipes import load_recipe
from tagcore.corpus import Corpus
from tagcore.features.build import make_features
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tasks.features import count_cells
from tasks.progress import listen


@pytest.fixture
def features(tmp_path):
    """Three words, two tags."""
    Corpus.from_texts(["apple pie", "car apple"] * 20, [["fruit"], ["cars"]] * 20).save(tmp_path / "corpus")
    corpus = Dataset.open(tmp_path / "corpus", "corpus")
    make_features(corpus, tmp_path / "features", Vectoriser(), Split(test=0.3))
    return tmp_path / "features"


def test_cells_are_words_times_tags(features):
    assert count_cells(features) == 6


def test_what_is_too_large_is_left_out_and_said(features, monkeypatch):
    monkeypatch.setattr(of_recipe, "prepare", lambda *given: features)
    models = [{"model": "KNN"}, {"model": "BOMC", "most_cells": 5}, {"model": "Blend"}]
    told = []
    with listen(lambda step, event: told.append((event, step.title, step.remark))):
        jobs = of_recipe.build_jobs(load_recipe("nightly", {"models": models}), features, None)
    assert [job.label for job in jobs] == ["KNN", "Blend"]
    assert jobs[1].model.params == {"members": ["OneVsRestLinear", "KNN"]}  # without the one that is too large
    assert told == [("left out", "leave out BOMC", "6 words × tags, it takes 5 (most_cells of the recipe)")]
    with pytest.raises(ValueError, match="nightly: every model is left out; BOMC: 6 words × tags"):
        of_recipe.build_jobs(load_recipe("nightly", {"models": models[1:2]}), features, None)


@pytest.fixture
def signed(tmp_path):
    """Features with `some` weights below zero, in one of several row groups, and with `none`."""
    made = {}
    for name, least in (("some", -2.5), ("none", 0.5)):
        bags = sp.csr_matrix([[1.5, least]] * 20 + [[3.0, 1.0]] * 20)
        texts = Corpus.from_texts(["one", "two"] * 20, [["fruit"], ["cars"]] * 20)
        replace(texts, words=bags, word_names=["apple", "pie"]).save(tmp_path / name, rows_per_group=10)
        corpus, made[name] = Dataset.open(tmp_path / name, "corpus"), tmp_path / f"{name} features"
        make_features(corpus, made[name], Vectoriser(use_idf=False, norm=None), Split(test=0.3))
    return made


def test_who_takes_no_weights_below_zero_is_left_out_of_data_with_some(tmp_path, signed, monkeypatch):
    models = [{"model": "KNN"}, {"model": "SimFusion"}, {"model": "PMM"}]
    trained = {}
    for name in ("some", "none"):
        monkeypatch.setattr(of_recipe, "prepare", lambda *given, name=name: signed[name])
        told = []
        with listen(lambda step, event, told=told: told.append((step.title, step.remark))):
            jobs = of_recipe.build_jobs(load_recipe("nightly", {"models": models}), tmp_path / name, None)
        trained[name] = [job.label for job in jobs], told
    why = "weights of words from -2.5 on, it takes none below 0"
    assert trained["some"] == (["KNN"], [("leave out SimFusion", why), ("leave out PMM", why)])
    assert trained["none"] == (["KNN", "SimFusion", "PMM"], [])


def test_a_blend_asks_nobody_who_takes_no_weights_below_zero_of_data_with_some(signed, monkeypatch):
    members = ["KNN", "PMM", {"model": "PMM", "n_word_clusters": 2}]
    models = [{"model": "Blend", "called": "Blend", "params": {"members": members}}]
    asked = {}
    for name in ("some", "none"):
        monkeypatch.setattr(of_recipe, "prepare", lambda *given, name=name: signed[name])
        told = []
        with listen(lambda step, event, told=told: told.append((step.title, step.remark))):
            (job,) = of_recipe.build_jobs(load_recipe("nightly", {"models": models}), signed[name], None)
        asked[name] = job.model.params["members"], told
    why = "weights of words from -2.5 on, it takes none below 0"
    assert asked["some"] == (["KNN"], [("leave out PMM of Blend", why)])
    assert asked["none"] == (members, [])


def test_where_all_models_to_tune_are_left_out_the_others_are_measured(features, monkeypatch):
    monkeypatch.setattr(of_recipe, "prepare", lambda *given: features)
    models = [{"model": "KNN"}, {"model": "BOMC", "most_cells": 5, "grid": {"noise": [0.5, 1.0]}}]
    recipe = load_recipe("nightly", {"models": models, "choice": None, "tuning": {"sampler": "grid"}})
    assert [job.label for job in settings_search.plan_jobs(recipe, features, None)] == ["KNN"]


def test_the_night_holds_the_blend_and_its_members():
    models = load_recipe("nightly").all_models()
    assert [model.model for model in models] == ["Popular", "KNN", "OneVsRestLinear", "BOMC", "Blend"]
    assert {model.model: model.most_cells for model in models if model.most_cells} == {"BOMC": 200_000_000}
