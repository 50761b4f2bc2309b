"""What a search gives: the recipe that was tuned, as `tagflow run` takes it. Nothing is trained."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from flows import tune as of_tune
from flows.recipes import load_recipe
from tasks.corpus_choice import with_changes
from tasks.recipe import RecipeError
from tasks.search.study import Study
from tests.workspaces import workspace_at


@pytest.fixture
def tune(monkeypatch, tmp_path):
    """The recipe that was written, and what the report was told, of a corpus that wants a stemmer."""
    told = {}

    def report(title, measured, primary, folder, *_, **settings):
        folder.mkdir(parents=True)
        told.update(settings)

    workspace = workspace_at(tmp_path)
    answers = {
        "open_workspace": workspace,
        "require_reachable": None,
        "open_clusters": nullcontext([]),
        "ingest": Path("corpus"),
        "search_models": {},
        "build_jobs": [],
        "train_and_evaluate": [],
        "comparison_run": "run",
        "log_performance": None,
        "log_recipe": None,
        "studies_section": None,
        "report_page": "page",
    }
    for name, answer in answers.items():
        monkeypatch.setattr(of_tune, name, lambda *_, answer=answer: answer)
    changes = {"features.stem": "english", "models.KNN.power": 3.0}
    monkeypatch.setattr(of_tune, "choose_features", lambda recipe, *_: with_changes(recipe, changes))
    monkeypatch.setattr(of_tune, "report", report)

    def run(**settings):
        result = of_tune.tune.fn(load_recipe("nightly", {"tuning": {"sampler": "tpe"}, **settings}))
        return load_recipe(result.recipe), told

    return run


def test_the_report_is_told_what_the_recipe_asks_of_it(tune):
    asked = {"columns": ["P@1"], "against": "KNN", "by_popularity": True}
    published = {"published": {"KNN": {"P@1": 0.5}}, "published_on": {"demo": {"PMM": {"P@1": 0.4}}}}
    _, told = tune(models=[{"model": "KNN"}], measures=asked, **published)
    beside = {"published": published["published"], "beside": published["published_on"]["demo"]}
    assert told == asked | beside


def test_the_recipe_is_written_with_its_choices_made_and_all_its_seeds(tune):
    models = [{"model": "KNN"}]
    written, _ = tune(models=models, seeds=[5, 6], choice={"options": [{"features.stem": "english"}]})
    assert (written.features.stem, written.chosen_features) == ("english", ["stem"])
    assert written.models[0].params == {"power": 3.0}
    assert (written.choice, written.tuning, written.seeds) == (None, None, [5, 6])


def test_a_model_that_every_trial_left_out_has_no_summary(tune, monkeypatch):
    nothing = Study({"power": [1.0, 2.0]}, "grid")
    for trial in nothing.ask():
        nothing.goes_on(trial, None)
        nothing.end(trial)
    monkeypatch.setattr(of_tune, "search_models", lambda *_: {0: nothing})
    written, _ = tune(models=[{"model": "KNN"}])
    assert written.models[0].params == {"power": 1.0}


def test_a_grid_is_refused(tune):
    with pytest.raises(RecipeError, match=r"a search is of one data set and split, and \[grid\] varies split.test"):
        tune(models=[{"model": "KNN"}], grid={"split.test": [0.1, 0.2]})
