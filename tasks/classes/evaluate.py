"""A stored classifier on held-out rows."""

import math
from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.classifier import Classifier
from tagcore.features.class_split import KIND, load_class_side
from tagcore.metrics.evaluate_classes import evaluate_classes
from tagcore.store.datasets import write_dataset
from tasks.cache import PlannedResult, is_transient, read_record, run_cached, stored_key
from tasks.progress import ProgressReporter
from tasks.recipe_settings import MeasureSettings
from tasks.workspace import Workspace


@task(
    name="evaluate classifier",
    task_run_name="evaluate {label}",
    retries=1,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def evaluate_classifier(
    model: Path, prepared: Path, measures: MeasureSettings, label: str, workspace: Workspace
) -> State[Path]:
    """Measures a model on the held-out rows, by all measures of classes. Intervals are drawn with one fixed seed."""
    inputs = {"model": stored_key(model, "classifier"), "split": stored_key(prepared, KIND)}
    plan = PlannedResult(workspace.store, "evaluation", {}, inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        seconds = float(read_record(model).get("cpu_seconds", math.nan))
        evaluation = evaluate_classes(Classifier.load(model).model, load_class_side(prepared, "test"), seconds)
        with write_dataset(folder, "evaluation", **plan.manifest) as writer:
            evaluation.save(writer.folder)

    return run_cached(plan, f"measure {label}", make)
