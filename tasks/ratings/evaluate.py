"""A stored recommender on held-out ratings: measured, or only compared with another."""

from pathlib import Path

import numpy as np
from prefect import task
from prefect.states import State

from tagcore.features.rating_split import KIND, load_side
from tagcore.metrics.evaluate_ratings import evaluate_ratings, held_out_values
from tagcore.recommender import Recommender
from tagcore.store.datasets import write_dataset
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.progress import ProgressReporter
from tasks.recipe_settings import MeasureSettings
from tasks.workspace import Workspace


@task(
    name="evaluate recommender",
    task_run_name="evaluate {label}",
    retries=1,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def evaluate_recommender(
    model: Path, prepared: Path, measures: MeasureSettings, label: str, workspace: Workspace
) -> State[Path]:
    """Measures a model on the held-out ratings, by all measures of ratings and of the first items that it recommends.
    Intervals are drawn with one fixed seed."""
    inputs = {"model": stored_key(model, "recommender"), "split": stored_key(prepared, KIND)}
    plan = PlannedResult(workspace.store, "evaluation", {"ks": measures.ks}, inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        evaluation = evaluate_ratings(Recommender.load(model), load_side(prepared, "test"), measures.ks)
        with write_dataset(folder, "evaluation", **plan.manifest) as writer:
            evaluation.save(writer.folder)

    return run_cached(plan, f"measure {label}", make)


def values_of_recommender(model: Path, data: Path, prepared: Path, measure: str) -> np.ndarray:
    """One value of the measure per user of the held-out ratings, for any stored recommender."""
    return held_out_values(Recommender.load(model), load_side(prepared, "test"), measure)
