"""The search of grids on validation documents, without training anything."""

from pathlib import Path

import pytest

from flows import tuning
from flows.comparisons import GridPoint, group_by_documents
from flows.recipes import load_recipe
from flows.stages import Job
from tasks.evaluate import EvaluatedModel
from tasks.recipe import RecipeError
from tests.workspaces import workspace_at


@pytest.fixture
def searches(monkeypatch):
    """The recipes that were searched, with their jobs; a model is called by its label instead of a folder."""
    calls = []
    monkeypatch.setattr(
        tuning,
        "build_jobs",
        lambda recipe, corpus, workspace, point="": [
            Job(model, Path("features"), seed) for seed in recipe.seeds for model in recipe.all_models()
        ],
    )

    def train_and_evaluate(recipe, jobs, workspace):
        calls.append((recipe, jobs))
        return [
            EvaluatedModel(job.model.label, job.prepared, Path(job.model.label), job.prepared, job.seed) for job in jobs
        ]

    monkeypatch.setattr(tuning, "train_and_evaluate", train_and_evaluate)
    monkeypatch.setattr(tuning, "choose_features", lambda recipe, data, workspace: recipe)
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

    monkeypatch.setattr(tuning, "signed_value", by_alpha)
    model = {
        "model": "Ridge",
        "grid": {"alpha": [0.5, 2.0, 8.0]},
        "thresholds": "cross-validated",
        "calibrate": "platt",
    }
    settings = {"models": [model, {"model": "KNN"}], "tuning": {"measure": measure}, "seeds": [4, 5]}
    recipe = load_recipe("nightly", {**settings, "measures.labelling": ["half"]})
    tuned = tuning.tune_models(recipe, Path("corpus"), workspace_at(tmp_path))
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
    assert tuning.tune_models(recipe, Path("corpus"), workspace_at(tmp_path)) == recipe
    assert searches == []


REDRAWN = {"split.kind": "drawn", "split.redraw": True, "tuning": {}, "seeds": [4, 5, 6]}


def test_a_redrawn_split_has_a_search_of_its_own(searches, monkeypatch, tmp_path):
    best = {4: 8.0, 5: 0.5, 6: 8.0}

    def best_of_the_split(evaluation, measure):
        (seed,) = {job.seed for job in searches[-1][1]}
        return -abs(float(evaluation.name.split("alpha=")[1].split()[0]) - best[seed])

    monkeypatch.setattr(tuning, "signed_value", best_of_the_split)
    models = [{"model": "Ridge", "params": {"tol": 0.1}, "grid": {"alpha": [0.5, 8.0]}}, {"model": "KNN"}]
    grid = {"split.train_documents": [500, 1000]}
    recipe = load_recipe("nightly", {**REDRAWN, "models": models, "grid": grid})
    points = list(recipe.expand())
    jobs = tuning.plan_jobs(points[0], Path("corpus"), workspace_at(tmp_path))
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


def test_one_search_serves_all_seeds_of_one_split(searches, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "signed_value", lambda evaluation, measure: float(evaluation.name[-3:]))
    models = [{"model": "Ridge", "grid": {"alpha": [0.5, 8.0]}}]
    recipe = load_recipe("nightly", {**REDRAWN, "split.redraw": False, "models": models})
    jobs = tuning.plan_jobs(recipe, Path("corpus"), workspace_at(tmp_path))
    assert len(searches) == 1
    assert [(job.seed, job.label) for job in jobs] == [(seed, "Ridge alpha=8.0") for seed in (4, 5, 6)]


def test_grids_that_only_their_values_tell_apart_are_refused_for_a_redrawn_split(searches, tmp_path):
    models = [{"model": "Ridge", "grid": {"alpha": values}} for values in ([1.0, 2.0], [3.0, 4.0])]
    recipe = load_recipe("nightly", {**REDRAWN, "models": models})
    with pytest.raises(RecipeError, match="two models are called 'Ridge alpha=tuned'"):
        tuning.plan_jobs(recipe, Path("corpus"), workspace_at(tmp_path))
