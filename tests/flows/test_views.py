"""A blend whose members read features of their own, from the recipe to a stored tagger."""

import numpy as np
import pytest
import scipy.sparse as sp

from flows import jobs as of_recipe
from flows import stages
from flows.recipes import load_recipe
from tagcore import load_model
from tagcore.features.rows import load_all
from tagcore.features.side_by_side import SideBySide, open_rows
from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.held_out import held_out_values
from tagcore.models.blend.members import class_of
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tasks.evaluate import evaluate
from tasks.features import count_cells, features, join_views
from tasks.ingest import ingest
from tasks.nights.tonight import Start
from tasks.recipe_settings import MeasureSettings
from tasks.train import train
from tests.workspaces import workspace_at

PAIRS = {"ngram_range": [1, 2], "min_df": 3}
MEMBERS = ["OneVsRestLinear", {"model": "KNN", "features": PAIRS}]
BLEND = {"model": "Blend", "params": {"members": MEMBERS}, "called": "Blend"}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Steps run as plain functions: a Prefect server has nothing to do with what they make."""
    monkeypatch.setattr(of_recipe, "run_task", lambda task, **given: task.fn(**given).result())
    monkeypatch.setattr(of_recipe, "prepare", _prepare)
    return workspace_at(tmp_path / "home")


def _prepare(recipe, data, preparation, workspace):
    return features.fn(data, **preparation, workspace=workspace).result()


def recipe_of(models, **settings):
    asked = {"data.source": "demo", "data.documents": 400, "split.test": 0.3, "models": models, **settings}
    return load_recipe("nightly", asked | {"choice.options": []})


def test_a_blend_of_own_features_is_trained_measured_and_asked(workspace):
    recipe = recipe_of([{"model": "OneVsRestLinear"}, BLEND])
    data = ingest.fn(recipe.data, workspace).result()
    plain, job = of_recipe.build_jobs(recipe, data, workspace)
    assert plain.views == ()
    assert plain.read == (plain.prepared,) == job.read[:1]  # so fits on these are shared
    assert job.read == job.views
    assert job.prepared not in job.views
    assert job.label == "Blend"
    rows = open_rows(job.prepared, "train")
    assert isinstance(rows, SideBySide)
    words, total = rows.edges[1:]
    assert [member["columns"] for member in job.model.params["members"]] == [[0, words], [words, total]]
    folder = train.fn(job.prepared, job.model, 0, workspace).result()
    tagger, texts = load_model(folder), ["the oven and the bread rest", "a telescope"]
    assert [view.get_params()["ngram_range"] for view in tagger.vectoriser.views] == [(1, 1), (1, 2)]
    views = [Vectoriser.load(view / "vectoriser") for view in job.views]
    assert (tagger.rows(texts) != sp.hstack([view.transform(texts) for view in views])).nnz == 0
    measured = evaluate.fn(folder, job.prepared, MeasureSettings(ks=[1, 5]), "Blend", workspace).result()
    told = Evaluation.load(measured).per_unit["nDCG@5"].to_numpy()
    corpus, stored = Dataset.open(data, "corpus"), Dataset.open(job.prepared, "features")
    np.testing.assert_allclose(told, held_out_values(tagger, corpus, stored, "nDCG@5"))  # of texts read anew
    assert told.mean() > 0.3


def test_one_kind_of_features_is_not_joined(workspace):
    recipe = recipe_of(
        [{"model": "Blend", "params": {"members": ["OneVsRestLinear", {"model": "KNN", "features": {}}]}}]
    )
    (job,) = of_recipe.build_jobs(recipe, ingest.fn(recipe.data, workspace).result(), workspace)
    assert job.views == ()


def test_features_of_texts_are_left_out_where_words_were_counted(workspace, tmp_path, capsys):
    counted = tmp_path / "counted.svm"
    counted.write_text("".join(f"{i % 3},{i % 2 + 3} {i % 5 + 1}:1 {i % 7 + 6}:2\n" for i in range(60)))
    members = [*MEMBERS, "KNN", {"model": "KNN", "n_neighbors": 3, "features": PAIRS}]
    blend = {"model": "Blend", "params": {"members": members}}
    models = [{"model": "KNN"}, {"model": "KNN", "features": PAIRS}, {"model": "KNN", "features": {"min_df": 2}}, blend]
    recipe = recipe_of(models, **{"data.source": str(counted)})
    jobs = of_recipe.build_jobs(recipe, ingest.fn(recipe.data, workspace).result(), workspace)
    assert jobs[0].prepared == jobs[1].prepared == jobs[3].prepared != jobs[2].prepared
    members = jobs[3].model.params["members"]
    assert members == ["OneVsRestLinear", "KNN", {"model": "KNN", "n_neighbors": 3}]
    assert jobs[3].views == ()


def test_a_member_is_left_out_where_its_own_features_are_too_large_for_its_class(workspace):
    recipe = recipe_of([{"model": "KNN"}, BLEND])
    data = ingest.fn(recipe.data, workspace).result()
    cells = count_cells(of_recipe.build_jobs(recipe, data, workspace)[0].prepared)
    for most, members in ((cells, ["OneVsRestLinear"]), (100 * cells, ["OneVsRestLinear", "KNN"])):
        recipe = recipe_of([{"model": "KNN", "most_cells": most}, BLEND])
        _, job = of_recipe.build_jobs(recipe, data, workspace)
        assert list(map(class_of, job.model.params["members"])) == members
        assert len(job.views) == (0 if len(members) == 1 else 2)


class _Night:
    """A night that extends words, and cannot extend pairs of words."""

    def __init__(self, growth):
        self.growth, self.noted = growth, []

    def grow(self, settings, title):
        return Start(self.growth if settings.ngram_range == (1, 1) else None, "")

    def prepared(self, settings, made):
        self.noted.append(made)

    def start(self, model, seed, prepared):
        return None


def test_where_one_view_is_made_from_nothing_all_are(workspace, monkeypatch):
    """extended rows stand in another order than rows made from nothing."""
    recipe = recipe_of([{"model": "KNN"}, BLEND])
    data = ingest.fn(recipe.data, workspace).result()
    extended = features.fn(data, recipe.features, recipe.split, workspace).result()
    asked = []

    def prepare(recipe, data, preparation, workspace):
        asked.append((preparation["settings"].ngram_range, growth := preparation.pop("growth", None)))
        preparation.pop("why", None)
        return extended if growth else _prepare(recipe, data, preparation, workspace)

    monkeypatch.setattr(of_recipe, "prepare", prepare)
    monkeypatch.setattr(of_recipe, "_is_extended", lambda folder: len(asked) < 3 and folder == extended)
    _, job = of_recipe.build_jobs(recipe, data, workspace, night=_Night(data))
    assert asked == [((1, 1), data), ((1, 2), None), ((1, 1), None), ((1, 2), None)]
    assert len(job.views) == 2
    X, _ = load_all(open_rows(job.prepared, "test"))
    assert X.shape[1] == open_rows(job.prepared, "test").n_features


def test_views_side_by_side_stand_once_they_are_made(workspace):
    recipe = recipe_of([BLEND])
    data = ingest.fn(recipe.data, workspace).result()
    (job,) = of_recipe.build_jobs(recipe, data, workspace)
    assert join_views.fn(job.views, workspace).name == "Cached"


def test_unknown_features_of_a_member_are_refused(workspace):
    recipe = recipe_of(
        [{"model": "Blend", "params": {"members": ["KNN", {"model": "KNN", "features": {"ngrams": 2}}]}}]
    )
    data = ingest.fn(recipe.data, workspace).result()
    with pytest.raises(ValueError, match="ngrams"):
        of_recipe.build_jobs(recipe, data, workspace)


def test_a_model_and_the_member_that_reads_the_same_share_their_fits(workspace, monkeypatch):
    models = [
        {"model": "OneVsRestLinear"},
        {"model": "KNN", "features": PAIRS},
        {"model": "KNN", "features": {}},
        BLEND,
    ]
    recipe = recipe_of([*models, {"model": "Popular", "features": {"min_df": 9}}])
    jobs = of_recipe.build_jobs(recipe, ingest.fn(recipe.data, workspace).result(), workspace)
    calls = []
    monkeypatch.setattr(stages, "map_task", lambda task, given, workspace: calls.extend(given) or [])
    stages.train.fn(recipe, jobs, workspace)
    linear, pairs, words, blend, other = (call.get("kept", []) for call in calls)
    assert blend == [*linear, *pairs]
    assert len(set(blend)) == 2
    assert words == linear
    assert other == []
