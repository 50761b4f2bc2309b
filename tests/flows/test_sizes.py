"""Models that the data are too large for are left out, and that is said."""

import pytest

from flows import jobs as of_recipe
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
    with pytest.raises(ValueError, match="nightly: every model is left out"):
        of_recipe.build_jobs(load_recipe("nightly", {"models": models[1:2]}), features, None)


def test_the_night_holds_the_blend_and_its_members():
    models = load_recipe("nightly").all_models()
    assert [model.model for model in models] == ["Popular", "KNN", "OneVsRestLinear", "BOMC", "Blend"]
    assert {model.model: model.most_cells for model in models if model.most_cells} == {"BOMC": 200_000_000}
