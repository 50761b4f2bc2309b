"""From features to a stored tagger."""

from pathlib import Path
from typing import Any

from prefect import task

from tagcore.features.build import VECTORISER
from tagcore.features.rows import StoredRows
from tagcore.fitting import fit_calibrated, make_model, warm_up
from tagcore.store.datasets import Dataset
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tagcore.training import Checkpoints
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backend import Cluster, report_traffic
from tasks.cluster.sessions import copy_to_workers, executor_for
from tasks.cluster.storage import storage_at
from tasks.progress import ProgressReporter
from tasks.thresholds import stored_thresholds


@task(
    name="train",
    task_run_name="train {model[model]}",
    retries=1,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
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
    inputs = {"features": stored_key(features, "features")}
    if thresholds is not None:
        inputs["thresholds"] = stored_key(thresholds, "thresholds")
    plan = PlannedResult(store, "model", parameters, inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        data = Dataset.open(features, "features", verify=False)
        rows = copy_to_workers(StoredRows.open(features, "train"), cluster, inputs["features"])
        warm_up(estimator, rows)
        places = storage_at(cluster.root).inside("checkpoints")
        with executor_for(cluster, threads) as executor:
            step.begin()
            calibrator = fit_calibrated(
                estimator,
                rows,
                model["calibrate"],
                seed=seed,
                executor=executor,
                progress=report_traffic(step, executor),
                checkpoints=Checkpoints(places.inside(plan.key), plan.key),
            )
        vectoriser = Vectoriser.load(data.folder / VECTORISER)
        limits = None if thresholds is None else stored_thresholds(thresholds)
        Tagger(vectoriser, estimator, data.names("tags"), calibrator, limits).save(folder, **plan.manifest)
        places.remove(plan.key)

    return run_cached(plan, f"train {model['label']}", make)
