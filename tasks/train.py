"""From features to a stored tagger."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefect import task
from prefect.states import State

from tagcore.features.build import VECTORISER, tag_frequencies
from tagcore.features.growth import inherited_rows
from tagcore.features.rows import StoredRows
from tagcore.features.side_by_side import open_rows, open_vectoriser
from tagcore.fitting import fit_calibrated, make_model, take_further, warm_up
from tagcore.kept_fits import KeptFits
from tagcore.store.datasets import Dataset
from tagcore.tag_model import TagModel
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tagcore.training import Checkpoints
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backends import report_traffic
from tasks.cluster.open_clusters import copy_to_workers, executor_for
from tasks.cluster.storage import storage_at
from tasks.costs import TRAIN_CPU_SECONDS, WORKING_MIB
from tasks.memory import watch_memory
from tasks.progress import ProgressReporter
from tasks.recipe_settings import ModelSettings
from tasks.thresholds import stored_thresholds
from tasks.workspace import Workspace


def model_parameters(estimator: TagModel, model: ModelSettings, seed: int) -> dict[str, Any]:
    """All that decides a model besides what it learns from."""
    return {"model": model.model, "params": estimator.get_params(), "calibrate": model.calibrate, "seed": seed}


def continue_training(parent: Path, data: Dataset) -> tuple[Tagger, int]:
    """Gives the tagger of the night before with what is new in extended features, and how many documents that were.

    Its calibrator stays: it was learnt on documents that the model had not seen.
    """
    before, rows = Tagger.load(parent, mapped=True), StoredRows.open(data.folder, "train")
    known = inherited_rows(data, "train")
    model = take_further(before.model, rows, known)
    shares = tag_frequencies(data, "train") / data.counts["train"]
    words = Vectoriser.load(data.folder / VECTORISER)
    return Tagger(words, model, data.names("tags"), before.calibrator, None, shares), rows.n_rows - known


@task(
    name="train",
    task_run_name="train {model.label}{which}",
    retries=1,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def train(
    prepared: Path,
    model: ModelSettings,
    seed: int,
    workspace: Workspace,
    thresholds: Path | None = None,
    which: str = "",
    kept: Sequence[Path] = (),
    parent: Path | None = None,
    why: str = "",
) -> State[Path]:
    """Trains one model. Where that happens, and on how many threads, changes no bit.

    `thresholds` are stored ones that the tagger shall label by; `which` tells the training from others of its model;
    `kept` are folders of fits that it shares with others, one for every kind of features that it reads. A training that
    was killed goes on from its last checkpoint. With a `parent`, the tagger of the night before, only the documents are
    learnt that are new since; `why` tells a person what was decided.
    """
    estimator = make_model(model.model, model.params, seed, TagModel)
    inputs = {"features": stored_key(prepared, "features")}
    if thresholds is not None:
        inputs["thresholds"] = stored_key(thresholds, "thresholds")
    if parent is not None:
        inputs["parent"] = stored_key(parent, "model")
    plan = PlannedResult(workspace.store, "model", model_parameters(estimator, model, seed), inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        data = Dataset.open(prepared, "features", verify=False)
        if parent is not None:
            warm_up(estimator, StoredRows.open(prepared, "train"), further=True)
            step.begin()
            tagger, new = continue_training(parent, data)
            tagger.save(folder, **plan.manifest)
            step.remark = f"warm start: {new:,} new documents {why}"
            return
        rows = copy_to_workers(open_rows(prepared, "train"), workspace.cluster, inputs["features"])
        warm_up(estimator, rows)
        places = storage_at(workspace.cluster.root).inside("checkpoints")
        with executor_for(workspace.cluster, workspace.threads) as executor, watch_memory() as memory:
            step.begin()
            calibrator = fit_calibrated(
                estimator,
                rows,
                model.calibrate,
                seed=seed,
                executor=executor,
                progress=report_traffic(step, executor),
                checkpoints=Checkpoints(places.inside(plan.key), plan.key),
                kept=KeptFits(tuple(kept)) if kept else None,
            )
        step.costs[WORKING_MIB] = memory.mebibytes
        step.costs[TRAIN_CPU_SECONDS] = time.process_time() - step.begun_cpu
        vectoriser = open_vectoriser(data.folder)
        limits = None if thresholds is None else stored_thresholds(thresholds)
        shares = tag_frequencies(data, "train") / data.counts["train"]
        Tagger(vectoriser, estimator, data.names("tags"), calibrator, limits, shares).save(folder, **plan.manifest)
        places.remove(plan.key)
        step.remark = f"trained from nothing: {why}" if why else ""

    return run_cached(plan, f"train {model.label}{which}", make)
