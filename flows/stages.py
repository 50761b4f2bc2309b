"""The stages of the job, one flow each; every one also runs alone. Paths go in, paths come out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import flow

from flows.map_tasks import map_task, result_of
from tagcore.readers.cards import recognise
from tagcore.store.files import require_writable
from tasks.cluster.backend import Cluster
from tasks.evaluate import evaluate as evaluate_task
from tasks.evaluate import signed_value
from tasks.features import features as features_task
from tasks.ingest import ingest as ingest_task
from tasks.naming import registered_name, registry_of
from tasks.recipe import ModelSettings, Recipe
from tasks.registry.tracking import EvaluatedModel
from tasks.registry.tracking import register as register_task
from tasks.registry.tracking import track as track_task
from tasks.settings import load_settings
from tasks.thresholds import thresholds as thresholds_task
from tasks.train import train as train_task


@flow(name="ingest", log_prints=False)
def ingest(recipe: Recipe) -> Path:
    """Documents and taggings of the recipe's source, as a stored corpus."""
    store = load_settings().data
    require_writable(store)
    return result_of(ingest_task(recipe.data.model_dump(), store, return_state=True))


@flow(name="features")
def features(recipe: Recipe, corpus: Path) -> Path:
    """Vocabulary and word weights, learnt from the training documents alone."""
    card = None if recipe.data.source == "demo" else recognise(recipe.data.source)
    settings, split = recipe.features.model_dump() | (card.features if card else {}), recipe.split.model_dump()
    return result_of(features_task(corpus, settings, split, **_where(), return_state=True))


@dataclass(frozen=True)
class Job:
    """One model to train and measure on one features data set."""

    model: ModelSettings
    features: Path
    seed: int

    @property
    def plain(self) -> dict[str, Any]:
        return {**self.model.model_dump(), "label": self.model.label}


@flow(name="train")
def train(jobs: list[Job]) -> list[Path]:
    """The trained models, after the thresholds that some of them label by."""
    where = _where()
    searched = {_threshold_key(job): job for job in jobs if job.model.threshold_model is not None}
    calls = [{"features": j.features, "model": j.model.threshold_model, "seed": j.seed} for j in searched.values()]
    limits = dict(zip(searched, map_task(thresholds_task, [call | where for call in calls]), strict=True))
    calls = [{"features": j.features, "model": j.plain, "seed": j.seed} for j in jobs]
    return map_task(
        train_task,
        [call | where | {"thresholds": limits.get(_threshold_key(job))} for call, job in zip(calls, jobs, strict=True)],
    )


@flow(name="evaluate")
def evaluate(recipe: Recipe, jobs: list[Job], models: list[Path]) -> list[EvaluatedModel]:
    """Every model on the held-out documents of its features."""
    of = {"measures": recipe.measures.model_dump(), **_where()}
    pairs = list(zip(jobs, models, strict=True))
    calls = [{"model": model, "features": job.features, "title": job.model.label, **of} for job, model in pairs]
    return [
        EvaluatedModel(job.model.label, model, evaluation, job.features, job.seed)
        for (job, model), evaluation in zip(pairs, map_task(evaluate_task, calls), strict=True)
    ]


@flow(name="register")
def register(recipe: Recipe, corpus: Path, measured: list[EvaluatedModel], parent: str) -> list[str]:
    """A run and a registered version for every model; the versions, in order."""
    registry, name = registry_of(load_settings()), registered_name(recipe.name, recipe.data.source)
    runs = [track_task(m, name, parent, registry) for m in measured]
    return [register_task(m, run, corpus, name, registry) for m, run in zip(measured, runs, strict=True)]


def build_jobs(recipe: Recipe) -> tuple[Path, list[Job]]:
    """From the source to features: the corpus, and what is to be trained, for every seed of the recipe."""
    if recipe.tuning:
        return build_jobs(tune_models(recipe))
    corpus = ingest(recipe)
    splits = recipe.seeds if recipe.split.redraw else recipe.seeds[:1]
    rows = {seed: features(_redrawn(recipe, seed), corpus) for seed in splits}
    first = rows[splits[0]]
    return corpus, [Job(model, rows.get(seed, first), seed) for seed in recipe.seeds for model in recipe.all_models()]


def train_and_evaluate(recipe: Recipe, jobs: list[Job]) -> list[EvaluatedModel]:
    """Trained and evaluated, as the recipe measures: what nightly and experiment share."""
    return evaluate(recipe, jobs, train(jobs))


def tune_models(recipe: Recipe) -> Recipe:
    """The recipe with the point of every model's grid that is best on validation documents, with the first seed."""
    assert recipe.tuning is not None
    measure, rule = recipe.tuning.measure or recipe.measures.primary, recipe.tuning.rule

    def searched(model: ModelSettings) -> ModelSettings:
        """Without the parts that do not decide."""
        return model.model_copy(update={"calibrate": None} | ({} if rule == "thresholds" else {"thresholds": None}))

    grids = [searched(m) for m in recipe.models if len(list(m.expand())) > 1]
    merits: dict[str, float] = {}
    if grids:
        update = {
            "split": recipe.split.model_copy(update={"validation": recipe.tuning.validation}),
            "models": grids,
            "measures": recipe.measures.model_copy(update={"labelling": [rule] if rule else []}),
            "tuning": None,
            "seeds": recipe.seeds[:1],
        }
        search = recipe.model_copy(update=update)
        _, jobs = build_jobs(search)
        merits = {m.label: signed_value(m.evaluation, measure) for m in train_and_evaluate(search, jobs)}
    best = [max(m.expand(), key=lambda point: merits.get(searched(point).label, 0.0)) for m in recipe.models]
    return recipe.model_copy(update={"models": best, "tuning": None})


def _redrawn(recipe: Recipe, seed: int) -> Recipe:
    if not recipe.split.redraw:
        return recipe
    return recipe.model_copy(update={"split": recipe.split.model_copy(update={"seed": recipe.split.seed + seed})})


def _where() -> dict[str, Any]:
    """Where steps work, and where their results go."""
    settings = load_settings()
    return {"cluster": Cluster.of(settings), "threads": settings.threads, "store": settings.data}


def _threshold_key(job: Job) -> tuple[str, Path, int]:
    return json.dumps(job.model.threshold_model, sort_keys=True), job.features, job.seed
