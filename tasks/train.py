"""From features to a stored tagger."""

from pathlib import Path
from typing import Any

from prefect import task

from tagcore.features import VECTORISER, load_rows
from tagcore.fitting import fit_calibrated, make_model, warm_up
from tagcore.shards import InProcess
from tagcore.store import Dataset
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tasks.progress import Step
from tasks.steps import Plan, key_of, produce, transient
from tasks.thresholds import stored_thresholds


@task(
    name="train", task_run_name="train {model[model]}", retries=1, retry_delay_seconds=2, retry_condition_fn=transient
)
def train(
    features: Path, model: dict[str, Any], seed: int, threads: int, store: Path, thresholds: Path | None = None
) -> Path:
    """`model` is the recipe's: class, params, calibrate. The number of threads does not change the result.

    `thresholds` are stored ones that the tagger shall label by.
    """
    estimator = make_model(model["model"], model["params"], seed)
    parameters = {
        "model": model["model"],
        "params": estimator.get_params(),
        "calibrate": model["calibrate"],
        "seed": seed,
    }
    inputs = {"features": key_of(features, "features")}
    if thresholds is not None:
        inputs["thresholds"] = key_of(thresholds, "thresholds")
    plan = Plan(store, "model", parameters, inputs)

    def make(folder: Path, step: Step) -> None:
        data = Dataset.open(features, "features", verify=False)
        X, Y = load_rows(data, "train")
        warm_up(estimator, X, Y)
        step.begin()
        calibrator = fit_calibrated(
            estimator, X, Y, model["calibrate"], seed=seed, executor=InProcess(threads), progress=step
        )
        vectoriser = Vectoriser.load(data.folder / VECTORISER)
        limits = None if thresholds is None else stored_thresholds(thresholds)
        Tagger(vectoriser, estimator, data.names("tags"), calibrator, limits).save(folder, **plan.manifest)

    return produce(plan, f"train {model['label']}", make)
