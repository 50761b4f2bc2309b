"""The search of grids on validation documents, without training anything."""

from pathlib import Path

import pytest

from flows import tuning
from flows.recipes import load_recipe
from flows.stages import Job
from tasks.evaluate import EvaluatedModel
from tests.workspaces import workspace_at


@pytest.fixture
def searches(monkeypatch):
    """The recipes that were searched, with their jobs; a model is called by its label instead of a folder."""
    calls = []
    monkeypatch.setattr(
        tuning,
        "build_jobs",
        lambda recipe, corpus, workspace: [
            Job(model, Path("features"), seed) for seed in recipe.seeds for model in recipe.all_models()
        ],
    )

    def train_and_evaluate(recipe, jobs, workspace):
        calls.append((recipe, jobs))
        return [
            EvaluatedModel(job.model.label, job.prepared, Path(job.model.label), job.prepared, job.seed) for job in jobs
        ]

    monkeypatch.setattr(tuning, "train_and_evaluate", train_and_evaluate)
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
