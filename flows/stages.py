"""The stages of the job, one flow each; every one also runs alone. Paths go in, paths come out.

What a stage does for documents and for ratings stands in `tasks.kinds`; the recipe's `data.kind` chooses.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import flow

from flows.map_tasks import map_task, run_task
from tagcore.store.files import require_writable
from tasks.evaluate import EvaluatedModel
from tasks.kinds import kind_of, require_models
from tasks.members import without_members
from tasks.naming import data_name, errors_name_source, registered_name
from tasks.nights.night import Night, Start
from tasks.progress import ProgressReporter
from tasks.promotion.decision import Candidate
from tasks.promotion.rules import choose_challenger
from tasks.recipe import Recipe
from tasks.recipe_settings import ModelSettings, SplitSettings
from tasks.registry.tracking import register as register_task
from tasks.registry.tracking import track as track_task
from tasks.thresholds import thresholds as thresholds_task
from tasks.workspace import Workspace


@dataclass(frozen=True)
class Job:
    """One model to train and measure on what was prepared for it: features, or split ratings."""

    model: ModelSettings
    prepared: Path
    seed: int
    which: str = ""  # of several jobs of the same model, as it is told: data, split, seed
    label: str = ""  # its name in tables; the model's own where none is given
    start: Start | None = None  # of a night: from the model of the night before, or from nothing

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.model.label)


@flow(name="ingest", flow_run_name="ingest {recipe.data.shown}")
def ingest(recipe: Recipe, workspace: Workspace) -> Path:
    """Reads the recipe's source into a stored corpus, or into stored ratings."""
    require_writable(workspace.store)
    require_models(recipe)
    return run_task(kind_of(recipe.data.kind).ingest, data=recipe.data_to_read, workspace=workspace)


@flow(name="prepare", flow_run_name="prepare {recipe.name}")
def prepare(recipe: Recipe, data: Path, preparation: dict[str, Any], workspace: Workspace) -> Path:
    """Splits the data; of documents, also learns vocabulary and word weights from the training side alone."""
    with errors_name_source(recipe.data, data):
        return run_task(kind_of(recipe.data.kind).prepare, data=data, **preparation, workspace=workspace)


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
    blended = {job.prepared for job in jobs if job.model.model == "Blend"}
    shared = {prepared: workspace.settings.state / "fits" / prepared.name for prepared in blended}
    calls = []
    for job in jobs:
        labels_by = {"thresholds": limits[_threshold_key(job)]} if job.model.threshold_model is not None else {}
        told: dict[str, Any] = {"which": job.which}
        told |= {} if job.start is None else {"parent": job.start.parent, "why": job.start.why}
        told |= {"kept": shared[job.prepared]} if job.prepared in shared else {}
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
    best = choose_challenger(evaluated, recipe.measures.primary)
    version = register_task(best, runs[id(best)], data, recipe, name, registry)
    return Candidate(best, version, len(evaluated))


def train_and_evaluate(recipe: Recipe, jobs: list[Job], workspace: Workspace) -> list[EvaluatedModel]:
    """Trains and measures, as the recipe says: what nightly and experiment share."""
    return evaluate(recipe, jobs, train(recipe, jobs, workspace), workspace)


def build_jobs(
    recipe: Recipe, data: Path, workspace: Workspace, point: str = "", night: Night | None = None
) -> list[Job]:
    """Prepares what the models need, for every split, and lists what is to be trained on it; `point` tells the recipe
    from others of its experiment. A `night` decides what goes on from the night before."""
    kind = kind_of(recipe.data.kind)
    prepared: dict[str, Path] = {}
    jobs, too_large = [], set[str]()
    for seed in recipe.seeds:
        split = split_of_seed(recipe, seed)
        documents = [point, f"split {split.seed}" if len(recipe.seeds) > 1 and recipe.split.redraw else ""]
        documents += [f"share {split.train_seed}"] if len(recipe.seeds) > 1 and recipe.split.resample else []
        which = _told([*documents, f"seed {seed}" if len(recipe.seeds) > 1 else ""])
        for model in recipe.all_models():
            preparation = kind.preparation(recipe, model, split)
            key = repr({name: value for name, value in preparation.items() if name != "title"})
            if key not in prepared:
                preparation |= {"title": preparation["title"] + _told(documents)}
                prepared[key] = _prepare(recipe, data, preparation, workspace, night)
            if model.most_cells is not None and (cells := kind.cells(prepared[key])) > model.most_cells:
                left_out = f"{cells:,} words × tags, it takes {model.most_cells:,} (most_cells of the recipe)"
                ProgressReporter(f"leave out {model.label}{which}", remark=left_out).tell("left out")
                too_large.add(model.model)
                continue
            model = without_members(model, too_large)
            start = None if night is None else night.start(model, seed, prepared[key])
            jobs.append(Job(model, prepared[key], seed, which, start=start))
    if not jobs:
        raise ValueError(f"{recipe.name}: every model is left out: the data have more words × tags than most_cells")
    return jobs


def _prepare(
    recipe: Recipe, data: Path, preparation: dict[str, Any], workspace: Workspace, night: Night | None
) -> Path:
    if night is None:
        return prepare(recipe, data, preparation, workspace)
    start = night.grow(preparation["settings"], preparation["title"])
    made = prepare(recipe, data, preparation | {"growth": start.parent, "why": start.why}, workspace)
    night.prepared(preparation["settings"], made)
    return made


def _told(parts: list[str]) -> str:
    return "".join(f", {part}" for part in parts if part)


def split_of_seed(recipe: Recipe, seed: int) -> SplitSettings:
    """A split of its own for every seed where the recipe redraws it, or what is learnt from; else one for all."""
    split = recipe.split
    if split.resample:
        split = split.model_copy(update={"train_seed": split.train_seed + seed})
    return split.model_copy(update={"seed": split.seed + seed}) if split.redraw else split


def _threshold_key(job: Job) -> tuple[str, Path, int]:
    model = job.model.threshold_model
    return model.model_dump_json() if model else "none", job.prepared, job.seed
