"""The stages of the job, one flow each; every one also runs alone. Paths go in, paths come out."""

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.states import State

from flows.recipe import Model, Recipe
from tagcore.files import require_writable
from tagcore.readers import recognise
from tasks.cluster import Cluster
from tasks.evaluate import evaluate as evaluate_task
from tasks.evaluate import merit
from tasks.executors import kept_open
from tasks.features import features as features_task
from tasks.ingest import ingest as ingest_task
from tasks.places import performance_report, registered_name, registry_of
from tasks.settings import load_settings
from tasks.thresholds import thresholds as thresholds_task
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
    return made(features_task(corpus, settings, split, **_where(), return_state=True))


@flow(name="train")
def train(recipe: Recipe, features: Path, seed: int = 0) -> list[tuple[str, Path]]:
    """Every model of the recipe: (label, folder)."""
    where = _where()
    found = []
    for model in recipe.all_models():
        limits = None
        if (of := model.threshold_model) is not None:
            limits = made(thresholds_task(features, of, seed, **where, return_state=True))
        plain = {**model.model_dump(), "label": model.label}
        folder = made(train_task(features, plain, seed, **where, thresholds=limits, return_state=True))
        found.append((model.label, folder))
    return found


@flow(name="evaluate")
def evaluate(recipe: Recipe, features: Path, models: list[tuple[str, Path]], seed: int = 0) -> list[Measured]:
    """Every model on the same held-out documents."""
    measures, where = recipe.measures.model_dump(), _where()
    found = []
    for label, model in models:
        evaluation = made(evaluate_task(model, features, measures, label, **where, return_state=True))
        found.append(Measured(label, model, evaluation, features, seed))
    return found


@flow(name="register")
def register(recipe: Recipe, corpus: Path, measured: list[Measured], parent: str) -> list[str]:
    """A run and a registered version for every model; the versions, in order."""
    registry, name = registry_of(load_settings()), registered_name(recipe.name, recipe.data.source)
    runs = [track_task(m, name, parent, registry) for m in measured]
    return [register_task(m, run, corpus, name, registry) for m, run in zip(measured, runs, strict=True)]


def measured_models(recipe: Recipe) -> tuple[Path, list[Measured]]:
    """From the source to measured models, for every seed of the recipe: what nightly and experiment share."""
    if recipe.tuning:
        return measured_models(tuned(recipe))
    corpus = ingest(recipe)
    rows = None
    found = []
    with kept_open(performance_report(load_settings())):
        for seed in recipe.seeds:
            if rows is None or recipe.split.redraw:
                rows = features(_redrawn(recipe, seed), corpus)
            found += evaluate(recipe, rows, train(recipe, rows, seed), seed)
    return corpus, found


def tuned(recipe: Recipe) -> Recipe:
    """The recipe with the point of every model's grid that is best on validation documents, with the first seed."""
    assert recipe.tuning is not None
    measure, rule = recipe.tuning.measure or recipe.measures.primary, recipe.tuning.rule

    def searched(model: Model) -> Model:
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
        _, measured = measured_models(recipe.model_copy(update=update))
        merits = {m.label: merit(m.evaluation, measure) for m in measured}
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


def made(state: State) -> Path:
    """The folder of a step, whether it was made now or stood already; its error is raised as it was."""
    return state.result()
