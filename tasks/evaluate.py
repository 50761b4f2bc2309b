"""A stored tagger on the held-out documents of a features data set."""

from pathlib import Path
from typing import Any

from prefect import task

from tagcore import load_model
from tagcore.features.build import tag_frequencies
from tagcore.features.rows import StoredRows
from tagcore.metrics.catalogue import signed
from tagcore.metrics.evaluate_model import evaluate as measure
from tagcore.metrics.evaluation import Evaluation
from tagcore.store.datasets import Dataset, write_dataset
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backend import Cluster, report_traffic
from tasks.cluster.sessions import copy_to_workers, executor_for
from tasks.progress import ProgressReporter


@task(
    name="evaluate", task_run_name="evaluate {title}", retries=1, retry_delay_seconds=2, retry_condition_fn=is_transient
)
def evaluate(
    model: Path, features: Path, measures: dict[str, Any], title: str, cluster: Cluster, threads: int, store: Path
) -> Path:
    """`measures` is the recipe's: ks, labelling. Intervals are drawn with one fixed seed, so that they can be
    compared. Where rows are scored, and on how many threads, changes no bit."""
    parameters = {"ks": measures["ks"], "labelling": measures["labelling"]}
    inputs = {"model": stored_key(model, "model"), "features": stored_key(features, "features")}
    plan = PlannedResult(store, "evaluation", parameters, inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        data = Dataset.open(features, "features", verify=False)
        rows = copy_to_workers(StoredRows.open(features, "test"), cluster, inputs["features"])
        tagger = load_model(model)
        asked: dict[str, Any] = {
            "ks": tuple(measures["ks"]),
            "labelling": measures["labelling"],
            "tag_names": tagger.tag_names,
            "train_counts": tag_frequencies(data, "train"),
            "train_documents": data.counts["train"],
        }
        measure(tagger, *rows.load(slice(0, min(8, rows.n_rows))), **asked)  # compiles the kernels, this once
        with executor_for(cluster, threads) as executor:
            step.begin()
            found = measure(tagger, rows, **asked, executor=executor, progress=report_traffic(step, executor))
        with write_dataset(folder, "evaluation", **plan.manifest) as writer:
            found.save(writer.folder)

    return run_cached(plan, f"measure {title}", make)


def signed_value(evaluation: Path, measure: str) -> float:
    """The value of a measure, turned so that more is better; ValueError for one that this evaluation has not."""
    summary = Evaluation.load(evaluation).summary
    if measure not in summary:
        raise ValueError(f"{measure!r} was not measured; there are {', '.join(summary)}")
    return signed(measure, summary[measure].value)
