"""The search of grids on validation documents, without training anything."""

import json
import math
import shutil
import tomllib
from pathlib import Path

import pytest

from flows import settings_search
from flows.comparisons import GridPoint, group_by_documents
from flows.jobs import AllLeftOutError, Job
from flows.recipes import SPACES, load_recipe, preset_names, recipe_to_tune
from tagcore.base import Estimator
from tagcore.fitting import model_class
from tasks.evaluate import EvaluatedModel
from tasks.feature_settings import FeatureSettings
from tasks.recipe import Recipe, RecipeError
from tasks.recipe_toml import recipe_toml
from tests.workspaces import workspace_at


@pytest.fixture
def searches(monkeypatch):
    """The recipes that were searched, with their jobs; a model is called by its label instead of a folder."""
    calls = []
    monkeypatch.setattr(
        settings_search,
        "build_jobs",
        lambda recipe, corpus, workspace, point="": [
            Job(model, Path("features"), seed, number=number)
            for seed in recipe.seeds
            for number, model in enumerate(recipe.all_models())
            if model.most_cells is None
        ],
    )

    def train_and_evaluate(recipe, jobs, workspace):
        calls.append((recipe, jobs))
        return [
            EvaluatedModel(job.model.label, job.prepared, Path(job.model.label), job.prepared, job.seed) for job in jobs
        ]

    monkeypatch.setattr(settings_search, "train_and_evaluate", train_and_evaluate)
    monkeypatch.setattr(settings_search, "choose_features", lambda recipe, data, workspace: recipe)
    return calls


@pytest.mark.parametrize(
    ("measure", "rules", "kept"),
    [
        (None, [], None),
        ("macro-F1 (class-mass)", ["class-mass"], None),
        ("micro-F1 (thresholds)", ["thresholds"], "cross-validated"),
    ],
)
def test_a_search_is_by_its_own_measure_on_validation_documents(searches, monkeypatch, tmp_path, measure, rules, kept):
    by = []

    def by_alpha(evaluation, of):
        by.append(of)
        return -abs(float(evaluation.name.split("alpha=")[1].split()[0]) - 2.0)

    monkeypatch.setattr(settings_search, "signed_value", by_alpha)
    model = {
        "model": "Ridge",
        "grid": {"alpha": [0.5, 2.0, 8.0]},
        "thresholds": "cross-validated",
        "calibrate": "platt",
    }
    settings = {"models": [model, {"model": "KNN"}], "tuning": {"measure": measure}, "seeds": [4, 5]}
    recipe = load_recipe("nightly", {**settings, "measures.labelling": ["half"]})
    tuned = settings_search.tune_models(recipe, Path("corpus"), workspace_at(tmp_path))
    ((search, jobs),) = searches
    assert set(by) == {measure or "nDCG@5"}
    assert (search.split.validation, search.measures.labelling, {job.seed for job in jobs}) == (0.2, rules, {4})
    assert {(m.thresholds, m.calibrate) for m in search.models} == {(kept, None)}
    ridge, knn = tuned.models
    assert (ridge.params, ridge.thresholds, ridge.calibrate) == ({"alpha": 2.0}, "cross-validated", "platt")
    assert knn.model == "KNN"
    assert tuned.measures.labelling == ["half"]
    assert tuned.tuning is None


def test_a_recipe_without_tuning_is_not_searched(searches, tmp_path):
    recipe = load_recipe("nightly")
    assert settings_search.tune_models(recipe, Path("corpus"), workspace_at(tmp_path)) == recipe
    assert searches == []


REDRAWN = {"split.kind": "drawn", "split.redraw": True, "tuning": {}, "seeds": [4, 5, 6]}


def test_a_redrawn_split_has_a_search_of_its_own(searches, monkeypatch, tmp_path):
    best = {4: 8.0, 5: 0.5, 6: 8.0}

    def best_of_the_split(evaluation, measure):
        (seed,) = {job.seed for job in searches[-1][1]}
        return -abs(float(evaluation.name.split("alpha=")[1].split()[0]) - best[seed])

    monkeypatch.setattr(settings_search, "signed_value", best_of_the_split)
    models = [{"model": "Ridge", "params": {"tol": 0.1}, "grid": {"alpha": [0.5, 8.0]}}, {"model": "KNN"}]
    grid = {"split.train_documents": [500, 1000]}
    recipe = load_recipe("nightly", {**REDRAWN, "models": models, "grid": grid})
    points = list(recipe.expand())
    jobs = settings_search.plan_jobs(points[0], Path("corpus"), workspace_at(tmp_path))
    assert [(search.seeds, search.split.redraw, search.split.validation) for search, _ in searches] == [
        ([seed], True, 0.2) for seed in (4, 5, 6)
    ]
    assert [(job.seed, job.model.params.get("alpha")) for job in jobs] == [
        (4, 8.0), (4, None), (5, 0.5), (5, None), (6, 8.0), (6, None),
    ]  # fmt: skip
    assert [job.label for job in jobs] == ["Ridge alpha=tuned tol=0.1", "KNN"] * 3  # one row of the table
    evaluated = [EvaluatedModel(job.label, Path("m"), Path("e"), job.prepared, job.seed) for job in jobs]
    (comparison,) = group_by_documents(recipe, [GridPoint(points[0], jobs)], evaluated)
    assert comparison.lines == {
        "Ridge alpha=tuned tol=0.1": ("Ridge alpha=tuned tol=0.1", 500.0), "KNN": ("KNN", 500.0)
    }  # fmt: skip


def test_a_model_that_is_left_out_of_a_redrawn_split_leaves_the_others_their_names(searches, monkeypatch, tmp_path):
    monkeypatch.setattr(settings_search, "signed_value", lambda evaluation, measure: float(evaluation.name[-3:]))
    models = [{"model": "BOMC", "most_cells": 10}, {"model": "Ridge", "grid": {"alpha": [0.5, 8.0]}}, {"model": "KNN"}]
    recipe = load_recipe("nightly", {**REDRAWN, "models": models})
    jobs = settings_search.plan_jobs(recipe, Path("corpus"), workspace_at(tmp_path))
    assert [(job.seed, job.label) for job in jobs] == [
        (seed, label) for seed in (4, 5, 6) for label in ("Ridge alpha=tuned", "KNN")
    ]


def test_a_choice_for_every_split_leaves_the_points_of_grids_their_names(searches, tmp_path):
    models = [{"model": "Ridge", "grid": {"alpha": [0.5, 8.0]}}, {"model": "KNN"}]
    settings = {**REDRAWN, "models": models, "choice": {"options": [{"features.stem": "english"}]}}
    del settings["tuning"]
    jobs = settings_search.plan_jobs(load_recipe("nightly", settings), Path("corpus"), workspace_at(tmp_path))
    assert [job.label for job in jobs] == ["Ridge alpha=0.5", "Ridge alpha=8.0", "KNN"] * 3


def test_one_search_serves_all_seeds_of_one_split(searches, monkeypatch, tmp_path):
    monkeypatch.setattr(settings_search, "signed_value", lambda evaluation, measure: float(evaluation.name[-3:]))
    models = [{"model": "Ridge", "grid": {"alpha": [0.5, 8.0]}}]
    recipe = load_recipe("nightly", {**REDRAWN, "split.redraw": False, "models": models})
    jobs = settings_search.plan_jobs(recipe, Path("corpus"), workspace_at(tmp_path))
    assert len(searches) == 1
    assert [(job.seed, job.label) for job in jobs] == [(seed, "Ridge alpha=8.0") for seed in (4, 5, 6)]


def test_grids_that_only_their_values_tell_apart_are_refused_for_a_redrawn_split(searches, tmp_path):
    models = [{"model": "Ridge", "grid": {"alpha": values}} for values in ([1.0, 2.0], [3.0, 4.0])]
    recipe = load_recipe("nightly", {**REDRAWN, "models": models})
    with pytest.raises(RecipeError, match="two models are called 'Ridge alpha=tuned'"):
        settings_search.plan_jobs(recipe, Path("corpus"), workspace_at(tmp_path))


SAMPLED = {
    "models": [{"model": "Ridge", "grid": {"fit_intercept": [True, False]}}, {"model": "KNN"}, {"model": "Popular"}],
    "search": {
        "Ridge": {"alpha": {"low": 0.01, "high": 100.0, "log": True}},
        "KNN": {"n_neighbors": {"low": 5, "high": 200}, "features.ngram_range": [[1, 1], [1, 2]]},
    },
    "tuning": {"sampler": "tpe", "trials": 12, "shares": [0.25, 1.0]},
    "seeds": [4],
}


@pytest.fixture
def planted(searches, monkeypatch, tmp_path):
    """A planted objective of 1,000 documents to learn from: best at alpha = 1 and 50 neighbours of pairs of words."""
    for folder, told in (("corpus", {"key": "of the corpus"}), ("features", {"counts": {"train": 1000}})):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "manifest.json").write_text(json.dumps(told))

    def build_jobs(recipe, corpus, workspace, point=""):
        assert Recipe.model_validate(recipe.model_dump()) == recipe  # as Prefect has it, which checks it again
        return [Job(model, tmp_path / "features", seed) for seed in recipe.seeds for model in recipe.all_models()]

    def value(evaluation, measure):
        recipe, jobs = searches[-1]
        (model,) = [job.model for job in jobs if job.model.label == evaluation.name]
        share = (recipe.split.train_documents or 1000) / 1000
        if model.model == "Ridge":
            return share - abs(math.log10(model.params["alpha"])) - (0 if model.params["fit_intercept"] else 1)
        return share - abs(model.params["n_neighbors"] - 50) / 100 - (model.features["ngram_range"] == [1, 1])

    monkeypatch.setattr(settings_search, "build_jobs", build_jobs)
    monkeypatch.setattr(settings_search, "signed_value", value)
    return tmp_path


def tuned(folder, **changes):
    recipe = load_recipe("nightly", SAMPLED | changes)
    return settings_search.tune_models(recipe, folder / "corpus", workspace_at(folder))


def test_a_study_for_every_model_finds_what_was_planted(planted, searches):
    ridge, knn, popular = tuned(planted).models
    assert ridge.params["fit_intercept"] is True
    assert 0.1 < ridge.params["alpha"] < 10
    assert knn.features == {"ngram_range": [1, 2]}
    assert abs(knn.params["n_neighbors"] - 50) < 40
    assert (popular.params, popular.features) == ({}, {})
    assert {search.split.validation for search, _ in searches} == {0.2}
    assert {search.split.train_documents for search, _ in searches} == {250, None}
    first = [job.model for job in searches[0][1]]
    assert (first[0].params["alpha"], first[1].params["n_neighbors"]) == (1.5, 30)  # as the recipe had them


def test_a_killed_search_goes_on_and_more_trials_are_added(planted, searches, monkeypatch):
    whole = tuned(planted)
    tried = len(searches)
    assert tuned(planted) == whole
    assert len(searches) == tried  # all stood
    shutil.rmtree(planted / "studies")
    evaluate = settings_search.train_and_evaluate

    def killed(*arguments):
        if len(searches) == tried + 9:
            raise KeyboardInterrupt
        return evaluate(*arguments)

    monkeypatch.setattr(settings_search, "train_and_evaluate", killed)
    with pytest.raises(KeyboardInterrupt):
        tuned(planted)
    monkeypatch.setattr(settings_search, "train_and_evaluate", evaluate)
    assert tuned(planted) == whole
    before = len(searches)
    tuned(planted, tuning=SAMPLED["tuning"] | {"trials": 13})
    assert len(searches) - before in (1, 2)


@pytest.fixture
def too_large(planted, monkeypatch):
    """The planted objective, where pairs of words are too large for all models that choose them."""
    build_jobs = settings_search.build_jobs

    def without_pairs(*given):
        jobs = [job for job in build_jobs(*given) if job.model.features.get("ngram_range") != [1, 2]]
        if not jobs:
            raise AllLeftOutError("every model is left out", planted / "features")
        return jobs

    monkeypatch.setattr(settings_search, "build_jobs", without_pairs)
    return planted


def test_trials_whose_features_are_too_large_are_left_out(too_large, searches):
    _, knn, _ = tuned(too_large).models
    assert knn.features == {"ngram_range": [1, 1]}
    assert abs(knn.params["n_neighbors"] - 50) < 40
    (record,) = too_large.glob("studies/KNN-*/trials.json")
    pairs = [trial for trial in json.loads(record.read_text()) if trial["point"]["features.ngram_range"] == [1, 2]]
    assert pairs
    assert all((trial["values"], trial["pruned"]) == ([], True) for trial in pairs)


NEIGHBORS = {"n_neighbors": [5, 50, 200]}


@pytest.mark.parametrize("tuning", [{}, SAMPLED["tuning"]])
def test_the_first_points_of_a_search_may_be_too_large(too_large, searches, tuning):
    model = {"model": "KNN", "grid": {"features.ngram_range": [[1, 2], [1, 1]], **NEIGHBORS}}
    (knn,) = tuned(too_large, models=[model], search={}, tuning=tuning).models
    assert (knn.features, knn.params) == ({"ngram_range": [1, 1]}, {"n_neighbors": 50})
    if tuning:
        assert {search.split.train_documents for search, _ in searches} == {250, None}


@pytest.mark.parametrize("tuning", [{}, SAMPLED["tuning"]])
def test_a_model_for_which_all_points_are_too_large_stays_so_and_is_left_out_of_what_follows(too_large, tuning):
    pairs = {"model": "KNN", "called": "pairs", "grid": {"features.ngram_range": [[1, 2]], **NEIGHBORS}}
    models = [pairs, {"model": "Ridge", "grid": {"alpha": [0.1, 1.0]}, "params": {"fit_intercept": True}}]
    knn, ridge = tuned(too_large, models=models, search={}, tuning=tuning).models
    assert knn.features == {"ngram_range": [1, 2]}
    assert ridge.params["alpha"] == 1.0


def test_a_model_that_is_too_large_whatever_it_chooses_is_not_searched(searches, monkeypatch, tmp_path):
    def build_jobs(recipe, *given):
        raise AllLeftOutError("every model is left out", tmp_path)

    monkeypatch.setattr(settings_search, "build_jobs", build_jobs)
    recipe = load_recipe(
        "nightly", {"models": [{"model": "KNN", "grid": NEIGHBORS}, {"model": "Popular"}], "tuning": {}}
    )
    knn, _ = settings_search.tune_models(recipe, tmp_path, workspace_at(tmp_path)).models
    assert (searches, knn.params) == ([], {"n_neighbors": 5})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"search": {"Ridge": {"alfa": [1.0, 2.0]}}}, "Ridge has no parameter 'alfa'"),
        ({"search": {"Ridge": {"features.ngrams": [1, 2]}}}, "search.Ridge: there is no setting features.ngrams"),
    ],
)
def test_what_there_is_nothing_to_choose_of_is_named(planted, changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        tuned(planted, **changes)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"search": {"BOMC": {"noise": [1.0]}}}, "search.BOMC: there is no such model in the recipe, only Ridge, KNN"),
        ({"tuning": {}}, r'search.Ridge: expected \[tuning\] with sampler = "tpe" or "random"'),
        ({"search": {"Ridge": {"alpha": []}}}, "search.Ridge.alpha: no values to choose from"),
        ({"search": {"Ridge": {"alpha": {"low": 3, "high": 1}}}}, "low = 3 and high = 1"),
        (
            {"tuning": SAMPLED["tuning"] | {"shares": [1.0, 0.5]}},
            "expected growing numbers above 0",
        ),
    ],
)
def test_a_search_that_cannot_be_is_refused(changes, complaint):
    with pytest.raises(RecipeError, match=complaint):
        load_recipe("nightly", SAMPLED | changes)


def test_recipes_to_tune_have_the_usual_spaces_of_models_without_their_own():
    plain = load_recipe("nightly", {"tuning.sampler": "tpe"})
    assert set(recipe_to_tune(plain, []).search) == {"KNN", "OneVsRestLinear", "BOMC"}
    one = recipe_to_tune(plain, ["knn"])
    assert ([model.model for model in one.models], list(one.search)) == (["KNN"], ["KNN"])
    own = load_recipe("nightly", {"tuning.sampler": "tpe", "search": {"KNN": {"power": [1.0, 2.0]}}})
    assert recipe_to_tune(own, []).search["KNN"] == {"power": [1.0, 2.0]}
    with pytest.raises(RecipeError, match="nightly has no model 'Ridge', only Popular, KNN"):
        recipe_to_tune(plain, ["Ridge"])
    with pytest.raises(RecipeError, match="nothing to search"):
        recipe_to_tune(plain, ["Popular"])


def test_the_usual_spaces_are_of_parameters_that_models_have():
    for name, space in tomllib.loads(SPACES.read_text()).items():
        known = set(model_class(name, Estimator)().get_params())
        own = {f"features.{feature}" for feature in FeatureSettings.model_fields}
        assert set(space) <= known | own, name


@pytest.mark.parametrize("preset", preset_names())
def test_a_recipe_written_down_is_read_as_it_was(tmp_path, preset):
    recipe = load_recipe(preset)
    (tmp_path / "again.toml").write_text(recipe_toml(recipe), encoding="utf-8")
    assert load_recipe(str(tmp_path / "again.toml")) == recipe


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("ratings", {"measures.primary": "nDCG@5", "measures.ks": [1, 3, 5, 10]}),
        ("ratings", {"measures.primary": "RMSE", "measures.ks": [5]}),
        ("classes", {"measures.primary": "log loss"}),
        ("nightly", {"measures.ks": [1, 5], "measures.columns": ["P@1"], "seeds": [3, 4]}),
        ("nightly", {"tuning": {"sampler": "tpe"}, "search": {"KNN": {"power": {"low": 1, "high": 2}}}}),
    ],
)
def test_measures_written_down_are_read_as_they_were_whatever_is_usual_of_the_kind(tmp_path, preset, settings):
    recipe = load_recipe(preset, settings)
    (tmp_path / "again.toml").write_text(recipe_toml(recipe), encoding="utf-8")
    assert load_recipe(str(tmp_path / "again.toml")) == recipe


def test_a_parameter_that_was_found_best_as_the_model_has_it_is_not_written_down():
    model = load_recipe("nightly").models[1].model_copy(update={"params": {"weights": None, "power": 2.0}})
    assert "params = { power = 2.0 }" in recipe_toml(load_recipe("nightly").model_copy(update={"models": [model]}))


def test_odd_settings_are_written_down(tmp_path):
    features = {"stop_words": ['"', "\\", "a\tb\x7fé"], "norm": "none", "fields": {"a b": 2, "text": 1e-7}}
    recipe = load_recipe("nightly", {"features": features, "models": [{"model": "KNN", "calibrate": "none"}]})
    (tmp_path / "odd.toml").write_text(recipe_toml(recipe), encoding="utf-8")
    assert load_recipe(str(tmp_path / "odd.toml")) == recipe
