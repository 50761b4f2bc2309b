"""What Prefect's deployments run: the jobs of the house with parameters that a person can fill in on its page.

When they run: `infra/prefect.yaml`.
"""

from typing import Any

from prefect import flow

from flows.experiment import ExperimentResult, experiment
from flows.nightly import NightlyResult, nightly
from flows.recipes import load_recipe
from flows.stages import ingest
from tasks.recipe import Recipe
from tasks.workspace import open_workspace


@flow(name="retrain", flow_run_name="retrain {data}")
def retrain(
    data: str,
    recipe: str = "nightly",
    name: str | None = None,
    settings: dict[str, Any] | None = None,
    full: bool = False,
) -> NightlyResult:
    """Trains and measures tonight's models, and puts the best into service if it beats the one that is.

    Args:
        data: A file or folder of tagged documents or of ratings, as this machine knows it; or `demo`.
        recipe: A preset, such as nightly, or the path of a recipe's .toml file.
        name: What the data is called in registered models and reports; its file's name if left empty.
        settings: Settings of the recipe to change, such as {"features.stem": "english"}.
        full: Train every model from nothing, instead of going on from the last night.
    """
    return nightly(_recipe(recipe, data, name, settings), full)


@flow(name="read", flow_run_name="read {data}")
def read(data: str, recipe: str = "nightly", name: str | None = None, settings: dict[str, Any] | None = None) -> str:
    """Reads what is new in the data into the store, so that the night finds it ready; what has been read stands.

    Args:
        data: A file or folder, as this machine knows it; or `demo`.
        recipe: The recipe that says how it is read.
        name: What the data is called; its file's name if left empty.
        settings: Settings of the recipe to change, such as {"data.skip_bad_rows": true}.
    """
    return str(ingest(_recipe(recipe, data, name, settings), open_workspace()))


@flow(name="compare", flow_run_name="compare {recipe} on {data}")
def compare(
    data: str, recipe: str = "baselines", name: str | None = None, settings: dict[str, Any] | None = None
) -> ExperimentResult:
    """Measures all models of a recipe against each other; nothing is put into service.

    Args:
        data: A file or folder, as this machine knows it; or `demo`.
        recipe: A preset, such as baselines, or the path of a recipe's .toml file.
        name: What the data is called; its file's name if left empty.
        settings: Settings of the recipe to change, such as {"seeds": [0, 1, 2]}.
    """
    return experiment(_recipe(recipe, data, name, settings))


def _recipe(recipe: str, data: str, name: str | None, settings: dict[str, Any] | None) -> Recipe:
    named = {"data.name": name} if name else {}
    return load_recipe(recipe, {**(settings or {}), "data.source": data, **named})
