"""Per-tag thresholds of best F1 for a model, found by cross-validation on the training documents; a step of its own,
so that models that share them find them once, and the time is not counted as training."""

from pathlib import Path

import numpy as np
from prefect import task
from prefect.states import State

from tagcore.features.side_by_side import open_rows
from tagcore.fitting import make_model, warm_up
from tagcore.labelling.thresholds import cross_validated_thresholds, load_thresholds, save_thresholds
from tagcore.store.datasets import read_manifest, stored_kind, write_dataset
from tagcore.tag_model import TagModel
from tasks.cache import PlannedResult, is_transient, read_record, run_cached, stored_key
from tasks.cluster.open_clusters import executor_for
from tasks.progress import ProgressReporter
from tasks.recipe_settings import ModelChoice
from tasks.workspace import Workspace

KIND = FILE = "thresholds"


@task(
    name="thresholds",
    task_run_name="thresholds of {model.model}",
    retries=1,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def thresholds(features: Path, model: ModelChoice, seed: int, workspace: Workspace) -> State[Path]:
    """Finds the thresholds of one class with its parameters; the seed is that of the model and of the folds."""
    estimator = make_model(model.model, model.params, seed, TagModel)
    parameters = {"model": model.model, "params": estimator.get_params(), "seed": seed}
    plan = PlannedResult(workspace.store, KIND, parameters, {"features": stored_key(features, "features")})

    def make(folder: Path, step: ProgressReporter) -> None:
        rows = open_rows(features, "train")
        warm_up(estimator, rows)
        X, Y = rows.load(slice(0, rows.n_rows))
        with executor_for(workspace.cluster, workspace.threads) as executor:
            step.begin()
            limits = cross_validated_thresholds(estimator, X, Y, seed=seed, executor=executor, progress=step)
        with write_dataset(folder, KIND, **plan.manifest) as writer:
            save_thresholds(limits, writer.folder / f"{FILE}.safetensors")

    return run_cached(plan, f"find thresholds of {model.model}", make)


def stored_thresholds(folder: Path) -> np.ndarray:
    """Loads the thresholds that the task stored, one for each tag."""
    return load_thresholds(folder / f"{FILE}.safetensors")


def threshold_seconds(model: Path) -> float | None:
    """Tells how long the thresholds of a stored model took to find; None for one without."""
    if stored_kind(model) != "model":  # a recommender labels nothing
        return None
    key = read_manifest(model, "model")["inputs"].get(KIND)
    return None if key is None else read_record(model.parent / f"{KIND}-{key[:16]}").get("seconds")
