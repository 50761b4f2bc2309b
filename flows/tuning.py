"""The search of every model's grid on validation documents: only the best point is measured on the test."""

from dataclasses import replace
from pathlib import Path

from flows.choosing import choose_features
from flows.grid import models_in_tables
from flows.stages import Job, build_jobs, train_and_evaluate
from tagcore.labelling.rules import rule_named
from tasks.evaluate import signed_value
from tasks.recipe import Recipe, RecipeError
from tasks.recipe_settings import ModelSettings
from tasks.workspace import Workspace


def plan_jobs(recipe: Recipe, data: Path, workspace: Workspace, point: str = "") -> list[Job]:
    """Lists what is to be trained, with the best point of each grid where the recipe tunes: one search for each split,
    since what one split validates on may be the test of another. `point` tells the recipe from others of its
    experiment."""
    if not recipe.searches_each_split:
        chosen = choose_features(recipe, data, workspace)
        return build_jobs(tune_models(chosen, data, workspace), data, workspace, point)
    labels = [model.label for model in models_in_tables(recipe)]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise RecipeError(f"two models are called {twice[0]!r}, expected one grid for both or different parameters")
    jobs = []
    for seed in recipe.seeds:
        chosen = choose_features(recipe.model_copy(update={"seeds": [seed]}), data, workspace)
        tuned = tune_models(chosen, data, workspace)
        of_seed = build_jobs(tuned, data, workspace, " ".join(filter(None, [point, f"seed {seed}"])))
        jobs += [replace(job, label=label) for job, label in zip(of_seed, labels, strict=True)]
    return jobs


def tune_models(recipe: Recipe, data: Path, workspace: Workspace) -> Recipe:
    """Chooses the best point of each grid with the first seed; a recipe without tuning stays as it is."""
    if recipe.tuning is None:
        return recipe
    measure = recipe.tuning.measure or recipe.measures.primary
    grids = [_searched(model, recipe) for model in recipe.models if len(list(model.expand())) > 1]
    values: dict[str, float] = {}
    if grids:
        search = _search_recipe(recipe, grids)
        evaluated = train_and_evaluate(search, build_jobs(search, data, workspace), workspace)
        values = {model.label: signed_value(model.evaluation, measure) for model in evaluated}
    best = [
        max(model.expand(), key=lambda point: values.get(_searched(point, recipe).label, 0.0))
        for model in recipe.models
    ]
    return recipe.model_copy(update={"models": best, "tuning": None})


def _search_recipe(recipe: Recipe, grids: list[ModelSettings]) -> Recipe:
    """The recipe of the search itself: these grids, on validation documents, by the measure that decides alone."""
    assert recipe.tuning is not None
    rule = recipe.tuning.rule
    return recipe.model_copy(
        update={
            "split": recipe.split.model_copy(update={"validation": recipe.tuning.validation}),
            "models": grids,
            "measures": recipe.measures.model_copy(update={"labelling": [rule] if rule else []}),
            "tuning": None,
            "seeds": recipe.seeds[:1],
        }
    )


def _searched(model: ModelSettings, recipe: Recipe) -> ModelSettings:
    """The model without the parts that do not decide the search."""
    assert recipe.tuning is not None
    rule = recipe.tuning.rule
    by_thresholds = rule is not None and rule_named(rule).needs == "thresholds"
    return model.model_copy(update={"calibrate": None} | ({} if by_thresholds else {"thresholds": None}))
