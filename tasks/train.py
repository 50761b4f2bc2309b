"""From features to a stored tagger."""

from pathlib import Path
from typing import Any

from prefect import task

from tagcore.features.build import VECTORISER
from tagcore.features.rows import Stored
from tagcore.fitting import fit_calibrated, make_model, warm_up
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tagcore.training import Checkpoints
from tasks.cache import Plan, key_of, produce, transient
from tasks.cluster.backend import Cluster, watched
from tasks.cluster.sessions import executor_of, within_reach
from tasks.cluster.storage import storage_at
from tasks.progress import Step
from tasks.thresholds import stored_thresholds


@task(
    name="train", task_run_name="train {model[model]}", retries=1, retry_delay_seconds=2, retry_condition_fn=transient
)
def train(
    features: Path,
    model: dict[str, Any],
    seed: int,
    cluster: Cluster,
    threads: int,
    store: Path,
    thresholds: Path | None = None,
) -> Path:
    """`model` is the recipe's: class, params, calibrate. Where it is trained, and on how many threads, changes no bit.

    `thresholds` are stored ones that the tagger shall label by. A training that was killed goes on from its last
    checkpoint.
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
        rows = within_reach(Stored.open(features, "train"), cluster, inputs["features"])
        warm_up(estimator, rows)
        places = storage_at(cluster.root).inside("checkpoints")
        with executor_of(cluster, threads) as executor:
            step.begin()
            calibrator = fit_calibrated(
                estimator,
                rows,
                model["calibrate"],
                seed=seed,
                executor=executor,
                progress=watched(step, executor),
                checkpoints=Checkpoints(places.inside(plan.key), plan.key),
            )
        vectoriser = Vectoriser.load(data.folder / VECTORISER)
        limits = None if thresholds is None else stored_thresholds(thresholds)
        Tagger(vectoriser, estimator, data.names("tags"), calibrator, limits).save(folder, **plan.manifest)
        places.remove(plan.key)

    return produce(plan, f"train {model['label']}", make)
