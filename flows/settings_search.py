"""The search of every model's settings on validation documents: only the best are measured on the test."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flows.corpus_choice import choose_features
from flows.grid import models_in_tables
from flows.jobs import AllLeftOutError, Job, build_jobs
from flows.stages import train_and_evaluate
from tagcore.fitting import make_model
from tagcore.labelling.rules import rule_named
from tagcore.store.datasets import content_key
from tasks.cache import plain_manifest
from tasks.code_hash import code_hash
from tasks.data_kinds import kind_of
from tasks.evaluate import signed_value
from tasks.naming import safe_name
from tasks.recipe import Recipe, RecipeError
from tasks.recipe_settings import OWN_FEATURE, ModelSettings, SplitSettings
from tasks.search.space import Space, grid_points, ranges_in
from tasks.search.study import Study
from tasks.workspace import Workspace

Studies = Mapping[int, Study]  # by the number of the model in the recipe


def plan_jobs(recipe: Recipe, data: Path, workspace: Workspace, point: str = "") -> list[Job]:
    """Lists what is to be trained, with the best settings of each model where the recipe tunes: one search for each
    split, since what one split validates on may be the test of another. `point` tells the recipe from others of its
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
        jobs += [replace(job, label=labels[job.number]) for job in of_seed]
    return jobs


def tune_models(recipe: Recipe, data: Path, workspace: Workspace) -> Recipe:
    """Chooses the best settings of each model with the first seed; a recipe without tuning stays as it is."""
    return recipe if recipe.tuning is None else settled(recipe, search_models(recipe, data, workspace))


def settled(recipe: Recipe, studies: Studies) -> Recipe:
    """The recipe with the best settings of every study, and nothing left to search."""
    models = list(recipe.models)
    for number, study in studies.items():
        if tried := study.best or next(iter(study.trials), None):  # of a model that was left out, some point
            models[number] = models[number].at(tried.point)
    models = [next(model.expand()) for model in models]
    return recipe.model_copy(update={"models": models, "tuning": None, "search": {}})


def search_models(recipe: Recipe, data: Path, workspace: Workspace) -> Studies:
    """Makes the trials of all studies, a round of them after the other: those of a round side by side."""
    assert recipe.tuning is not None
    studies, prepared = _open_studies(recipe, data, workspace)
    while trials := [(n, trial) for n, study in studies.items() for trial in study.ask()]:
        going_on = trials
        for share in studies[trials[0][0]].shares:
            if not going_on:
                break
            points = [recipe.models[n].at(trial.point) for n, trial in going_on]
            told = [] if recipe.tuning.sampler == "grid" else [f"trial {trials[0][1].number + 1}"]
            told += [f"{share:.0%} of the rows"] if share < 1 else []
            search = _search_recipe(recipe, points, _shared_split(recipe, share, prepared))
            values = _values(search, data, workspace, ", ".join(told))
            going_on = [(n, t) for (n, t), value in zip(going_on, values, strict=True) if studies[n].goes_on(t, value)]
        for n, trial in trials:
            studies[n].end(trial)
    return studies


def _open_studies(recipe: Recipe, data: Path, workspace: Workspace) -> tuple[dict[int, Study], Path | None]:
    """A study for every model that has something to choose, but for those that are left out whatever they choose, as
    no features are among it; and what one of them learns from."""
    assert recipe.tuning is not None
    spaces = {number: recipe.space_of(model) for number, model in enumerate(recipe.models)}
    to_search = {n: space for n, space in spaces.items() if ranges_in(space) or len(list(grid_points(space))) > 1}
    if not to_search:
        return {}, None
    first = {n: _searched(next(recipe.models[n].expand()), recipe) for n in to_search}
    try:
        jobs = build_jobs(_search_recipe(recipe, list(first.values()), recipe.split), data, workspace)
        present, prepared = {job.model.label for job in jobs}, jobs[0].prepared
    except AllLeftOutError as error:
        present, prepared = set(), error.prepared
    kept = {n: space for n, space in to_search.items() if first[n].label in present or _chooses_features(space)}
    return {n: _open_study(recipe, recipe.models[n], space, data, workspace) for n, space in kept.items()}, prepared


def _chooses_features(space: Space) -> bool:
    return any(name.startswith(OWN_FEATURE) for name in space)


def _open_study(recipe: Recipe, model: ModelSettings, space: Space, data: Path, workspace: Workspace) -> Study:
    """The study of one model, with the trials that were made before; a grid's stand in the store themselves."""
    tuning, seed = recipe.tuning, recipe.seeds[0]
    assert tuning is not None
    if tuning.sampler == "grid":
        return Study(space, "grid")
    decisive = {
        "model": _searched(model, recipe).model_dump(),
        "space": {name: v if isinstance(v, list) else v.model_dump() for name, v in space.items()},
        "recipe": recipe.model_dump(include={"split", "features", "chosen_features"}),
        "tuning": tuning.model_dump(exclude={"trials"}) | {"measure": _measure(recipe)},
        "seed": seed,
    }
    key = content_key("study", decisive, {"data": plain_manifest(data)["key"], "code": code_hash()})
    folder = workspace.study_folder(f"{safe_name(model.model)}-{key[:16]}")
    return Study(space, tuning.sampler, tuning.trials, tuning.shares, seed, folder, _as_it_is(recipe, model, space))


def _as_it_is(recipe: Recipe, model: ModelSettings, space: Space) -> dict[str, Any]:
    """The point that the recipe has without a search; ValueError where the model has no such parameter."""
    given = model.params | {name: None for name in space if not name.startswith(OWN_FEATURE)}
    make_model(model.model, given, recipe.seeds[0], kind_of(recipe.data.kind).base)
    estimator = make_model(model.model, model.params, recipe.seeds[0], kind_of(recipe.data.kind).base)
    features = recipe.features.on_top_of(**model.features).model_dump(mode="json")
    usual = estimator.get_params() | {OWN_FEATURE + name: value for name, value in features.items()}
    if unknown := [name for name in space if name not in usual]:
        raise RecipeError(f"search.{model.model}: there is no setting {unknown[0]}")
    return {name: usual[name] for name in space}


def _values(search: Recipe, data: Path, workspace: Workspace, told: str) -> list[float | None]:
    """What every model of the search is worth on validation documents, in order; None for one that is left out, which
    is said."""
    try:
        jobs = build_jobs(search, data, workspace, told)
    except AllLeftOutError:
        return [None] * len(search.models)
    evaluated = train_and_evaluate(search, jobs, workspace)
    values = {model.label: signed_value(model.evaluation, _measure(search)) for model in evaluated}
    return [values.get(model.label) for model in search.models]


def _measure(recipe: Recipe) -> str:
    """What decides the search."""
    return (recipe.tuning.measure if recipe.tuning else None) or recipe.measures.primary


def _search_recipe(recipe: Recipe, models: list[ModelSettings], split: SplitSettings) -> Recipe:
    """The recipe of the search itself: these models, on validation documents, by the measure that decides alone."""
    assert recipe.tuning is not None
    rule = recipe.tuning.rule
    return recipe.model_copy(
        update={
            "split": split.model_copy(update={"validation": recipe.tuning.validation}),
            "models": [_searched(model, recipe) for model in models],
            "measures": recipe.measures.model_copy(
                update={"labelling": [rule] if rule else [], "columns": [], "against": ""}
            ),
            "seeds": recipe.seeds[:1],
            "search": {},
        }
    )


def _shared_split(recipe: Recipe, share: float, prepared: Path | None) -> SplitSettings:
    """The split with a share of what is learnt from; what is measured on stays."""
    split = recipe.split
    if share == 1 or prepared is None:
        return split
    if recipe.data.kind == "ratings":
        return split.model_copy(update={"train": split.train * share})
    rows = plain_manifest(prepared)["counts"]["train"]
    return split.model_copy(update={"train_documents": max(1, round(share * rows))})


def _searched(model: ModelSettings, recipe: Recipe) -> ModelSettings:
    """The model without the parts that do not decide the search."""
    assert recipe.tuning is not None
    rule = recipe.tuning.rule
    by_thresholds = rule is not None and rule_named(rule).needs == "thresholds"
    return model.model_copy(update={"calibrate": None} | ({} if by_thresholds else {"thresholds": None}))
