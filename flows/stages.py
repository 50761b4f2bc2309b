"""The stages of the job, one flow each; every one also runs alone. Paths go in, paths come out."""

from pathlib import Path

from prefect import flow
from prefect.states import State

from flows.recipe import Recipe
from tagcore.files import require_writable
from tasks.evaluate import evaluate as evaluate_task
from tasks.features import features as features_task
from tasks.ingest import ingest as ingest_task
from tasks.places import registered_name, registry_of
from tasks.settings import load_settings
from tasks.track import Measured
from tasks.track import register as register_task
from tasks.track import track as track_task
from tasks.train import train as train_task


@flow(name="ingest", log_prints=False)
def ingest(recipe: Recipe) -> Path:
    """Documents and taggings of the recipe's source, as a stored corpus."""
    store = load_settings().data
    require_writable(store)
    return made(ingest_task(recipe.data.model_dump(), store, return_state=True))


@flow(name="features")
def features(recipe: Recipe, corpus: Path) -> Path:
    """Vocabulary and word weights, learnt from the training documents alone."""
    settings, split = recipe.features.model_dump(), recipe.split.model_dump()
    return made(features_task(corpus, settings, split, load_settings().data, return_state=True))


@flow(name="train")
def train(recipe: Recipe, features: Path, seed: int = 0) -> list[tuple[str, Path]]:
    """Every model of the recipe: (label, folder)."""
    settings = load_settings()
    models = recipe.all_models()
    plain = [{**m.model_dump(), "label": m.label} for m in models]
    where = {"threads": settings.threads, "store": settings.data}
    return [(m["label"], made(train_task(features, m, seed, **where, return_state=True))) for m in plain]


@flow(name="evaluate")
def evaluate(recipe: Recipe, features: Path, models: list[tuple[str, Path]], seed: int = 0) -> list[Measured]:
    """Every model on the same held-out documents."""
    measures, store = recipe.measures.model_dump(), load_settings().data
    return [
        Measured(label, folder, made(evaluate_task(folder, features, measures, label, store, return_state=True)), seed)
        for label, folder in models
    ]


@flow(name="register")
def register(recipe: Recipe, corpus: Path, features: Path, measured: list[Measured], parent: str) -> list[str]:
    """A run and a registered version for every model; the versions, in order."""
    registry, name = registry_of(load_settings()), registered_name(recipe.name, recipe.data.source)
    runs = [track_task(m, features, name, parent, registry) for m in measured]
    return [register_task(m, run, corpus, features, name, registry) for m, run in zip(measured, runs, strict=True)]


def measured_models(recipe: Recipe) -> tuple[Path, Path, list[Measured]]:
    """From the source to measured models, for every seed of the recipe: what nightly and experiment share."""
    corpus = ingest(recipe)
    rows = features(recipe, corpus)
    found = []
    for seed in recipe.seeds:
        found += evaluate(recipe, rows, train(recipe, rows, seed), seed)
    return corpus, rows, found


def made(state: State) -> Path:
    """The folder of a step, whether it was made now or stood already; its error is raised as it was."""
    return state.result()
