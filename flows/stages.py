"""The stages of the job, one flow each; every one also runs alone. Paths go in, paths come out."""

from dataclasses import dataclass
from pathlib import Path

from prefect import flow

from flows.map_tasks import map_task, run_task
from tagcore.readers.cards import recognise
from tagcore.store.files import require_writable
from tasks.evaluate import EvaluatedModel
from tasks.evaluate import evaluate as evaluate_task
from tasks.features import features as features_task
from tasks.ingest import ingest as ingest_task
from tasks.naming import registered_name
from tasks.promotion import Candidate
from tasks.recipe import FeatureSettings, ModelSettings, Recipe, SplitSettings
from tasks.registry.tracking import register as register_task
from tasks.registry.tracking import track as track_task
from tasks.thresholds import thresholds as thresholds_task
from tasks.train import train as train_task
from tasks.workspace import Workspace


@dataclass(frozen=True)
class Job:
    """One model to train and measure on one features data set."""

    model: ModelSettings
    features: Path
    seed: int


@flow(name="ingest", log_prints=False)
def ingest(recipe: Recipe, workspace: Workspace) -> Path:
    """Reads documents and taggings of the recipe's source into a stored corpus."""
    require_writable(workspace.store)
    return run_task(ingest_task, data=recipe.data, workspace=workspace)


@flow(name="features")
def features(corpus: Path, settings: FeatureSettings, split: SplitSettings, title: str, workspace: Workspace) -> Path:
    """Learns vocabulary and word weights from the training documents alone."""
    return run_task(features_task, corpus=corpus, settings=settings, split=split, workspace=workspace, title=title)


@flow(name="train")
def train(jobs: list[Job], workspace: Workspace) -> list[Path]:
    """Trains the models, after the thresholds that some of them label by."""
    searches = {
        _threshold_key(job): {"features": job.features, "model": job.model.threshold_model, "seed": job.seed}
        for job in jobs
        if job.model.threshold_model is not None
    }
    limits = dict(zip(searches, map_task(thresholds_task, list(searches.values()), workspace), strict=True))
    calls = [
        {"features": job.features, "model": job.model, "seed": job.seed, "thresholds": limits.get(_threshold_key(job))}
        for job in jobs
    ]
    return map_task(train_task, calls, workspace)


@flow(name="evaluate")
def evaluate(recipe: Recipe, jobs: list[Job], models: list[Path], workspace: Workspace) -> list[EvaluatedModel]:
    """Measures every model on the held-out documents of its features."""
    calls = [
        {"model": model, "features": job.features, "measures": recipe.measures, "label": job.model.label}
        for job, model in zip(jobs, models, strict=True)
    ]
    evaluations = map_task(evaluate_task, calls, workspace)
    return [
        EvaluatedModel(job.model.label, model, evaluation, job.features, job.seed)
        for job, model, evaluation in zip(jobs, models, evaluations, strict=True)
    ]


@flow(name="register")
def register(
    recipe: Recipe, corpus: Path, evaluated: list[EvaluatedModel], parent: str, workspace: Workspace
) -> list[Candidate]:
    """Tracks every model on a run of its own and registers it as a version: all may be put into service."""
    registry, name = workspace.registry, registered_name(recipe.name, recipe.data.source)
    runs = [track_task(model, name, parent, registry) for model in evaluated]
    return [
        Candidate(model, register_task(model, run, corpus, name, registry))
        for model, run in zip(evaluated, runs, strict=True)
    ]


def train_and_evaluate(recipe: Recipe, jobs: list[Job], workspace: Workspace) -> list[EvaluatedModel]:
    """Trains and measures, as the recipe says: what nightly and experiment share."""
    return evaluate(recipe, jobs, train(jobs, workspace), workspace)


def build_jobs(recipe: Recipe, corpus: Path, workspace: Workspace) -> list[Job]:
    """Builds the features that the models need, for every split, and lists what is to be trained on them."""
    card = None if recipe.data.source == "demo" else recognise(recipe.data.source)
    suggested = recipe.features_with(card.features if card else {})
    splits = {seed: _split(recipe, seed) for seed in recipe.seeds}
    made: dict[tuple[str, SplitSettings], Path] = {}
    jobs = []
    for seed in recipe.seeds:
        for model in recipe.all_models():
            settings, split = suggested.on_top_of(**model.features), splits[seed]
            key = settings.model_dump_json(), split
            if key not in made:
                made[key] = features(corpus, settings, split, _features_title(model), workspace)
            jobs.append(Job(model, made[key], seed))
    return jobs


def _split(recipe: Recipe, seed: int) -> SplitSettings:
    """A split of its own for every seed where the recipe redraws it, else one for all."""
    return recipe.split.model_copy(update={"seed": recipe.split.seed + seed}) if recipe.split.redraw else recipe.split


def _features_title(model: ModelSettings) -> str:
    own = ", ".join(f"{name}={value}" for name, value in sorted(model.features.items()))
    return f"build features ({own})" if own else "build features"


def _threshold_key(job: Job) -> tuple[str, Path, int]:
    model = job.model.threshold_model
    return model.model_dump_json() if model else "none", job.features, job.seed
