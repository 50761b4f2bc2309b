"""How stages are put together, without running them: seeds, splits, features; and steps that need no server."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from flows import jobs as of_recipe
from flows import stages
from flows.recipes import load_recipe
from tagcore import load_model
from tagcore.corpus import Corpus
from tagcore.features.rows import StoredRows
from tagcore.fitting import make_model
from tagcore.labelling.thresholds import cross_validated_thresholds
from tagcore.metrics.evaluation import Evaluation
from tagcore.tag_model import TagModel
from tasks import data_kinds, left_out
from tasks.cache import read_record
from tasks.evaluate import EvaluatedModel, evaluate, signed_value
from tasks.features import features
from tasks.ingest import ingest
from tasks.progress import listen
from tasks.recipe_settings import MeasureSettings, ModelChoice, ModelSettings
from tasks.registry.tracking import track
from tasks.reporting.topics import topics_of
from tasks.thresholds import threshold_seconds, thresholds
from tasks.train import train
from tests.demo import demo_features
from tests.workspaces import workspace_at


@pytest.fixture
def built(monkeypatch):
    """What features were asked for, as (settings, split, title)."""
    calls = []

    def prepare(recipe, data, preparation, workspace):
        calls.append(tuple(preparation[name] for name in ("settings", "split", "title")))
        return Path(f"features {len(calls) - 1}")

    monkeypatch.setattr(of_recipe, "prepare", prepare)
    return calls


def jobs_of(tmp_path, **settings):
    recipe = load_recipe("nightly", {"data.source": "demo", "models": [{"model": "KNN"}], **settings})
    if not (tmp_path / "corpus").exists():
        Corpus.from_texts(["one text"], [["tag"]]).save(tmp_path / "corpus")
    return of_recipe.build_jobs(recipe, tmp_path / "corpus", workspace_at(tmp_path))


def test_jobs_know_their_models_where_some_are_left_out(built, monkeypatch, tmp_path):
    preparation = data_kinds.kind_of("documents").preparation
    kind = SimpleNamespace(preparation=preparation, why_left_out=lambda model, _: "large" if model.most_cells else "")
    monkeypatch.setattr(of_recipe, "kind_of", lambda name: kind)
    models = [{"model": "Popular"}, {"model": "BOMC", "most_cells": 10}, {"model": "KNN"}]
    jobs = jobs_of(tmp_path, models=models, seeds=[0, 1])
    assert [(job.model.model, job.number) for job in jobs] == [("Popular", 0), ("KNN", 2)] * 2


def test_seeds_share_one_split_unless_it_is_redrawn(built, tmp_path):
    settings = {"seeds": [0, 3], "split.seed": 10, "split.kind": "drawn"}
    jobs = jobs_of(tmp_path, **settings)
    assert [(job.prepared.name, job.seed) for job in jobs] == [("features 0", 0), ("features 0", 3)]
    jobs = jobs_of(tmp_path, **settings, **{"split.redraw": True})
    assert [(job.prepared.name, job.seed) for job in jobs] == [("features 1", 0), ("features 2", 3)]
    assert [split.seed for _, split, _ in built] == [10, 10, 13]


def test_steps_of_several_seeds_and_splits_are_told_apart(built, tmp_path):
    assert [job.which for job in jobs_of(tmp_path, seeds=[3])] == [""]
    assert [job.which for job in jobs_of(tmp_path, seeds=[0, 3])] == [", seed 0", ", seed 3"]
    settings = {"seeds": [0, 3], "split.seed": 10, "split.kind": "drawn", "split.redraw": True}
    assert [job.which for job in jobs_of(tmp_path, **settings)] == [", split 10, seed 0", ", split 13, seed 3"]
    titles = [title for _, _, title in built]
    assert titles == ["build features", "build features", "build features, split 10", "build features, split 13"]


def test_the_seed_and_the_split_are_in_the_lines_of_every_step(made):
    workspace, rows = made
    lines = []
    with listen(lambda step, event: lines.append(step.title) if event in ("made", "stands") else None):
        model = train.fn(rows, PA, 3, workspace, which=", split 13, seed 3").result()
        evaluation = evaluate.fn(model, rows, MeasureSettings(), "PA, split 13, seed 3", workspace).result()
        evaluated = EvaluatedModel("PA", model, evaluation, rows, 3, which=", split 13, seed 3")
        track.fn(evaluated, "demo", "none", workspace.registry)
    label = f"{PA.label}, split 13, seed 3"
    assert lines == [f"train {label}", "measure PA, split 13, seed 3", "track PA, split 13, seed 3"]
    assert train.fn(rows, PA, 3, workspace).result() == model  # the words are no part of the result


def test_models_with_features_of_their_own_get_them_on_top_of_the_recipe_s(built, tmp_path):
    models = [
        {"model": "KNN"},
        {"model": "OneVsRestLinear", "features": {"ngram_range": [1, 2]}},
        {"model": "Ridge", "features": {"ngram_range": [1, 2]}},
        {"model": "Popular"},
    ]
    jobs = jobs_of(tmp_path, models=models, **{"features.min_df": 4})
    assert [job.prepared.name for job in jobs] == ["features 0", "features 1", "features 1", "features 0"]
    assert [(settings.ngram_range, settings.min_df) for settings, _, _ in built] == [((1, 1), 4), ((1, 2), 4)]
    assert [title for _, _, title in built] == ["build features", "build features (ngram_range=[1, 2])"]
    assert jobs[1].model.label == "OneVsRestLinear features.ngram_range=[1, 2]"


def test_models_that_weigh_the_same_terms_otherwise_share_one_reading(tmp_path, monkeypatch):
    asked = []

    def prepare(recipe, data, preparation, workspace):
        asked.append((preparation["settings"].norm, [view.norm for view in preparation["views"]]))
        return Path("anywhere")

    monkeypatch.setattr(of_recipe, "prepare", prepare)
    monkeypatch.setattr(left_out, "lowest_weight", lambda prepared: 0.0)
    bigrams = {"model": "Ridge", "features": {"ngram_range": [1, 2]}}
    jobs_of(tmp_path, models=[{"model": "KNN"}, {"model": "PMM"}, bigrams, {"model": "Popular"}])
    assert asked == [("l2", [None]), (None, ["l2"]), ("l2", [])]


def test_a_view_that_was_made_beside_others_stands(tmp_path):
    workspace = workspace_at(tmp_path)
    recipe = load_recipe("nightly", {"data.source": "demo", "data.documents": 200})
    data = ingest.fn(recipe.data, workspace).result()
    counts = recipe.features.on_top_of(use_idf=False, norm=None)
    features.fn(data, recipe.features, recipe.split, workspace, views=[counts])
    made = features.fn(data, counts, recipe.split, workspace, views=[recipe.features])
    assert made.name == "Cached"
    assert StoredRows.open(made.result(), "train").load(slice(0, 20))[0].data.min() >= 1


def test_a_data_card_s_features_give_way_to_what_a_person_set(built, tmp_path, monkeypatch):
    card = SimpleNamespace(features={"sublinear_tf": False, "min_df": 7})
    monkeypatch.setattr(data_kinds, "recognise", lambda source: card)
    jobs_of(tmp_path, **{"data.source": "anything", "features.min_df": 2})
    (settings, _, _), *_ = built
    assert (settings.sublinear_tf, settings.min_df) == (False, 2)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(workspace, features) of the demo."""
    workspace = workspace_at(tmp_path_factory.mktemp("home"))
    return workspace, demo_features(workspace, documents=300)


PA = ModelSettings(model="PassiveAggressive", params={"C": 0.3})


def trained(made, thresholds_of=None):
    workspace, rows = made
    limits = None if thresholds_of is None else thresholds.fn(rows, thresholds_of, 0, workspace).result()
    return train.fn(rows, PA, 0, workspace, limits).result()


def test_a_model_labels_by_thresholds_of_its_own_or_of_another(made):
    _, rows = made
    stored = StoredRows.open(rows, "train")
    X, Y = stored.load(slice(0, stored.n_rows))
    plain = trained(made)
    assert threshold_seconds(plain) is None
    for of in (PA, ModelChoice(model="OneVsRestLinear")):
        folder = trained(made, of)
        assert folder != plain
        expected = cross_validated_thresholds(make_model(of.model, of.params, 0, TagModel), X, Y)
        np.testing.assert_array_equal(load_model(folder).thresholds, expected)
        assert threshold_seconds(folder) > 0
        assert "seconds" in read_record(folder)
    assert load_model(plain).thresholds is None


def test_every_model_gets_the_thresholds_that_were_searched_for_it(tmp_path, monkeypatch):
    def stand_in(task, calls, workspace):  # names what each call would make
        thresholds_of = [call.get("thresholds") for call in calls]
        return [call["model"].model for call in calls] if task is stages.thresholds_task else thresholds_of

    monkeypatch.setattr(stages, "map_task", stand_in)
    named = {"KNN": "cross-validated", "Ridge": "OneVsRestLinear", "Popular": None}
    models = [ModelSettings(model=model, thresholds=by) for model, by in named.items()]
    jobs = [of_recipe.Job(model, tmp_path, 0) for model in models]
    found = stages.train.fn(load_recipe("nightly", {"data.source": "demo"}), jobs, workspace_at(tmp_path))
    assert found == ["KNN", "OneVsRestLinear", None]


def test_an_evaluation_follows_the_recipe_s_rules(made):
    workspace, rows = made
    measures = MeasureSettings(ks=[1, 5], primary="P@5", labelling=["thresholds", "class-mass", "sampled"])
    folder = evaluate.fn(trained(made, PA), rows, measures, "PA", workspace).result()
    evaluation = Evaluation.load(folder)
    assert evaluation.labelling["rule"].to_pylist() == measures.labelling
    assert [n is None for n in evaluation.labelling["labels"].to_pylist()] == [False, False, True]
    assert signed_value(folder, "macro-F1 (class-mass)") == evaluation.summary["macro-F1 (class-mass)"].value > 0.05
    assert signed_value(folder, "coverage") == -evaluation.summary["coverage"].value
    with pytest.raises(ValueError, match=r"'macro-F1 \(sampled\)' was not measured; there are P@1"):
        signed_value(folder, "macro-F1 (sampled)")


def test_topics_are_of_models_that_have_them(made):
    workspace, rows = made
    assert topics_of(trained(made)) == []
    model = ModelSettings(model="BMLPL", params={"n_topics": 4, "max_iter": 3})
    folder = train.fn(rows, model, 0, workspace).result()
    topics = topics_of(folder)
    assert len(topics) == 4
    assert [topic.weight for topic in topics] == sorted((topic.weight for topic in topics), reverse=True)
    assert set(topics[0].tags) < set(load_model(folder).tag_names)
