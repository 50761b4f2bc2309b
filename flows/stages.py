"""The stages of the job, one flow each; every one also runs alone. Paths go in, paths come out.

What a stage does for documents and for ratings stands in `tasks.data_kinds`; the recipe's `data.kind` chooses.
"""

import shutil
from pathlib import Path
from typing import Any

from prefect import flow

from flows.jobs import Job
from flows.map_tasks import map_task, run_task
from tagcore.store.files import require_writable
from tasks.data_kinds import kind_of, require_models
from tasks.evaluate import EvaluatedModel
from tasks.naming import data_name, registered_name
from tasks.promotion.decision_record import Candidate
from tasks.promotion.rules import choose_challenger
from tasks.recipe import Recipe
from tasks.registry.tracking import register as register_task
from tasks.registry.tracking import track as track_task
from tasks.thresholds import thresholds as thresholds_task
from tasks.workspace import Workspace


@flow(name="ingest", flow_run_name="ingest {recipe.data.shown}")
def ingest(recipe: Recipe, workspace: Workspace) -> Path:
    """Reads the recipe's source into a stored corpus, or into stored ratings."""
    require_writable(workspace.store)
    require_models(recipe)
    return run_task(kind_of(recipe.data.kind).ingest, data=recipe.data_to_read, workspace=workspace)


@flow(name="train", flow_run_name="train {recipe.name}")
def train(recipe: Recipe, jobs: list[Job], workspace: Workspace) -> list[Path]:
    """Trains the models, after the thresholds that some of them label by."""
    searches = {
        _threshold_key(job): {"features": job.prepared, "model": job.model.threshold_model, "seed": job.seed}
        for job in jobs
        if job.model.threshold_model is not None
    }
    limits = dict(zip(searches, map_task(thresholds_task, list(searches.values()), workspace), strict=True))
    # a blend is fitted on what its members, which are models of the recipe as well, were fitted on
    blended = {features for job in jobs if job.model.model == "Blend" for features in job.read}
    shared = {features: workspace.settings.state / "fits" / features.name for features in blended}
    calls = []
    for job in jobs:
        labels_by = {"thresholds": limits[_threshold_key(job)]} if job.model.threshold_model is not None else {}
        told: dict[str, Any] = {"which": job.which}
        told |= {} if job.start is None else {"parent": job.start.parent, "why": job.start.why}
        told |= {"kept": [shared[features] for features in job.read]} if blended.issuperset(job.read) else {}
        calls.append({"prepared": job.prepared, "model": job.model, "seed": job.seed, **labels_by, **told})
    try:
        return map_task(kind_of(recipe.data.kind).train, calls, workspace)
    finally:
        for folder in shared.values():
            shutil.rmtree(folder, ignore_errors=True)


@flow(name="evaluate", flow_run_name="evaluate {recipe.name}")
def evaluate(recipe: Recipe, jobs: list[Job], models: list[Path], workspace: Workspace) -> list[EvaluatedModel]:
    """Measures every model on what was held out of its data."""
    calls = [
        {"model": model, "prepared": job.prepared, "measures": recipe.measures, "label": job.label + job.which}
        for job, model in zip(jobs, models, strict=True)
    ]
    evaluations = map_task(kind_of(recipe.data.kind).evaluate, calls, workspace)
    return [
        EvaluatedModel(job.label, model, evaluation, job.prepared, job.seed, recipe.data.kind, job.which)
        for job, model, evaluation in zip(jobs, models, evaluations, strict=True)
    ]


@flow(name="register", flow_run_name="register {recipe.name}")
def register(
    recipe: Recipe, data: Path, evaluated: list[EvaluatedModel], parent: str, workspace: Workspace
) -> Candidate:
    """Tracks every model on a run of its own, and registers the one that challenges as a version."""
    registry, name = workspace.registry, registered_name(recipe.name, data_name(recipe.data))
    runs = {id(model): track_task(model, name, parent, registry) for model in evaluated}
    best, why = choose_challenger(evaluated, recipe.measures.primary)
    version = register_task(best, runs[id(best)], data, recipe, name, registry)
    return Candidate(best, version, len(evaluated), why)


def train_and_evaluate(recipe: Recipe, jobs: list[Job], workspace: Workspace) -> list[EvaluatedModel]:
    """Trains and measures, as the recipe says: what nightly and experiment share."""
    return evaluate(recipe, jobs, train(recipe, jobs, workspace), workspace)


def _threshold_key(job: Job) -> tuple[str, Path, int]:
    model = job.model.threshold_model
    return model.model_dump_json() if model else "none", job.prepared, job.seed
