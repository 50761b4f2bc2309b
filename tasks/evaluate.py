"""A stored tagger on the held-out documents of a features data set."""

from pathlib import Path
from typing import Any

from prefect import task

from tagcore import load_model
from tagcore.features.build import tag_frequencies
from tagcore.features.rows import Stored
from tagcore.metrics import Evaluation, lower_is_better
from tagcore.metrics import evaluate as measure
from tagcore.store.datasets import Dataset, writing
from tasks.cache import Plan, key_of, produce, transient
from tasks.cluster.backend import Cluster, watched
from tasks.cluster.sessions import executor_of, within_reach
from tasks.progress import Step


@task(name="evaluate", task_run_name="evaluate {title}", retries=1, retry_delay_seconds=2, retry_condition_fn=transient)
def evaluate(
    model: Path, features: Path, measures: dict[str, Any], title: str, cluster: Cluster, threads: int, store: Path
) -> Path:
    """`measures` is the recipe's: ks, labelling. Intervals are drawn with one fixed seed, so that they can be
    compared. Where rows are scored, and on how many threads, changes no bit."""
    parameters = {"ks": measures["ks"], "labelling": measures["labelling"]}
    inputs = {"model": key_of(model, "model"), "features": key_of(features, "features")}
    plan = Plan(store, "evaluation", parameters, inputs)

    def make(folder: Path, step: Step) -> None:
        data = Dataset.open(features, "features", verify=False)
        rows = within_reach(Stored.open(features, "test"), cluster, inputs["features"])
        tagger = load_model(model)
        asked: dict[str, Any] = {
            "ks": tuple(measures["ks"]),
            "labelling": measures["labelling"],
            "tag_names": tagger.tag_names,
            "train_counts": tag_frequencies(data, "train"),
            "train_documents": data.counts["train"],
        }
        measure(tagger, *rows.load(slice(0, min(8, rows.n_rows))), **asked)  # compiles the kernels, this once
        with executor_of(cluster, threads) as executor:
            step.begin()
            found = measure(tagger, rows, **asked, executor=executor, progress=watched(step, executor))
        with writing(folder, "evaluation", **plan.manifest) as writer:
            found.save(writer.folder)

    return produce(plan, f"measure {title}", make)


def merit(evaluation: Path, measure: str) -> float:
    """The value of a measure, turned so that more is better; ValueError for one that this evaluation has not."""
    summary = Evaluation.load(evaluation).summary
    if measure not in summary:
        raise ValueError(f"{measure!r} was not measured; there are {', '.join(summary)}")
    value = summary[measure].value
    return -value if lower_is_better(measure) else value
