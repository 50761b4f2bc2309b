"""A stored tagger on the held-out documents of a features data set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from prefect import task
from prefect.states import State

from tagcore.features.build import tag_frequencies
from tagcore.features.side_by_side import open_rows
from tagcore.metrics.catalogue import signed
from tagcore.metrics.evaluate_model import evaluate as measure
from tagcore.metrics.evaluation import Evaluation
from tagcore.metrics.held_out import held_out_values
from tagcore.metrics.measure import LearnsFrom
from tagcore.store.datasets import Dataset, write_dataset
from tagcore.tagger import Tagger
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backends import report_traffic
from tasks.cluster.open_clusters import copy_to_workers, executor_for
from tasks.costs import costs_of, with_costs
from tasks.progress import ProgressReporter
from tasks.recipe_settings import MeasureSettings
from tasks.workspace import Workspace


@dataclass(frozen=True)
class EvaluatedModel:
    """A trained and evaluated model, by path."""

    label: str
    model: Path
    evaluation: Path
    prepared: Path  # what it was trained and measured on: features, or split ratings
    seed: int = 0
    kind: LearnsFrom = "documents"
    which: str = ""  # of several of this label, as it is told
    rival: bool = False  # not a model of ours: there is its evaluation, and nothing stored to be served


@task(
    name="evaluate", task_run_name="evaluate {label}", retries=1, retry_delay_seconds=2, retry_condition_fn=is_transient
)
def evaluate(model: Path, prepared: Path, measures: MeasureSettings, label: str, workspace: Workspace) -> State[Path]:
    """Measures a model on the test rows. Intervals are drawn with one fixed seed, so that they can be compared. Where
    rows are scored, and on how many threads, changes no bit."""
    parameters: dict[str, Any] = {"ks": measures.ks, "labelling": measures.labelling}
    if measures.timed:
        parameters["timed"] = measures.timed
    inputs = {"model": stored_key(model, "model"), "features": stored_key(prepared, "features")}
    plan = PlannedResult(workspace.store, "evaluation", parameters, inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        data = Dataset.open(prepared, "features", verify=False)
        rows = copy_to_workers(open_rows(prepared, "test"), workspace.cluster, inputs["features"])
        tagger = Tagger.load(model)
        options: dict[str, Any] = {
            "ks": tuple(measures.ks),
            "labelling": measures.labelling,
            "tag_names": tagger.tag_names,
            "train_counts": tag_frequencies(data, "train"),
            "train_documents": data.counts["train"],
        }
        measure(tagger, *rows.load(slice(0, min(8, rows.n_rows))), **options)  # compiles the kernels, this once
        options["timed"] = measures.timed
        with executor_for(workspace.cluster, workspace.threads) as executor:
            step.begin()
            evaluation = measure(tagger, rows, **options, executor=executor, progress=report_traffic(step, executor))
        if measures.timed:
            evaluation = with_costs(evaluation, costs_of(model, tagger, rows))
        with write_dataset(folder, "evaluation", **plan.manifest) as writer:
            evaluation.save(writer.folder)

    return run_cached(plan, f"measure {label}", make)


def values_of_tagger(model: Path, data: Path, prepared: Path, measure: str) -> np.ndarray:
    """One value of the measure per held-out document of the features, for any stored tagger."""
    corpus, features = Dataset.open(data, "corpus", verify=False), Dataset.open(prepared, "features", verify=False)
    return held_out_values(Tagger.load(model), corpus, features, measure)


def signed_value(evaluation: Path, measure: str) -> float:
    """Reads the value of a measure, turned so that more is better; ValueError for one that was not measured."""
    summary = Evaluation.load(evaluation).summary
    if measure not in summary:
        raise ValueError(f"{measure!r} was not measured; there are {', '.join(summary)}")
    return signed(measure, summary[measure].value)
