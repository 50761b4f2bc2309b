"""The stages of the job, one flow each; every one also runs alone. Paths go in, paths come out."""

from pathlib import Path

from prefect import flow
from prefect.states import State

from flows.recipe import Recipe
from tagcore.files import require_writable
from tagcore.readers import recognise
from tasks.evaluate import evaluate as evaluate_task
from tasks.evaluate import summary_value
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
    card = None if recipe.data.source == "demo" else recognise(recipe.data.source)
    settings, split = recipe.features.model_dump() | (card.features if card else {}), recipe.split.model_dump()
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
    if recipe.tuning:
        return measured_models(tuned(recipe))
    corpus = ingest(recipe)
    rows = features(recipe, corpus)
    found = []
    for seed in recipe.seeds:
        found += evaluate(recipe, rows, train(recipe, rows, seed), seed)
    return corpus, rows, found


def tuned(recipe: Recipe) -> Recipe:
    """The recipe with the point of every model's grid that is best on validation documents."""
    assert recipe.tuning is not None
    split = recipe.split.model_copy(update={"validation": recipe.tuning.validation})
    searched = [m.model_copy(update={"calibrate": None}) for m in recipe.models if len(list(m.expand())) > 1]
    chosen: dict[str, float] = {}
    if searched:
        update = {"split": split, "models": searched, "tuning": None, "seeds": recipe.seeds[:1]}
        _, _, measured = measured_models(recipe.model_copy(update=update))
        chosen = {m.label: summary_value(m.evaluation, recipe.measures.primary) for m in measured}
    best = [max(m.expand(), key=lambda point: chosen.get(point.label, 0.0)) for m in recipe.models]
    return recipe.model_copy(update={"models": best, "tuning": None})


def made(state: State) -> Path:
    """The folder of a step, whether it was made now or stood already; its error is raised as it was."""
    return state.result()
