"""From split rows to a stored classifier."""

from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.class_model import ClassModel
from tagcore.classifier import Classifier
from tagcore.features.class_split import KIND, Scaling, load_class_side
from tagcore.fitting import make_model
from tagcore.store.datasets import Dataset
from tagcore.training import Checkpoints
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backends import report_traffic
from tasks.cluster.open_clusters import executor_for
from tasks.cluster.storage import storage_at
from tasks.progress import ProgressReporter
from tasks.recipe_settings import ModelSettings
from tasks.workspace import Workspace


@task(
    name="train classifier",
    task_run_name="train {model.label}{which}",
    retries=1,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def train_classifier(
    prepared: Path, model: ModelSettings, seed: int, workspace: Workspace, which: str = ""
) -> State[Path]:
    """Trains one model on the rows to learn from. Where that happens, and on how many threads, changes no bit.

    `which` tells the training from others of its model. One that was killed goes on from its last checkpoint.
    """
    estimator = make_model(model.model, model.params, seed, ClassModel)
    parameters = {"model": model.model, "params": estimator.get_params(), "seed": seed}
    plan = PlannedResult(workspace.store, "classifier", parameters, {"split": stored_key(prepared, KIND)})

    def make(folder: Path, step: ProgressReporter) -> None:
        data, rows = Dataset.open(prepared, KIND), load_class_side(prepared, "train")
        places = storage_at(workspace.cluster.root).inside("checkpoints")
        with executor_for(workspace.cluster, workspace.threads) as executor:
            step.begin()
            estimator.fit(
                rows.X,
                rows.y,
                executor=executor,
                progress=report_traffic(step, executor),
                checkpoints=Checkpoints(places.inside(plan.key), plan.key),
            )
        scaling = Scaling.from_table(data.read("scaling"))
        Classifier(estimator, data.names("columns"), scaling).save(folder, **plan.manifest)
        places.remove(plan.key)

    return run_cached(plan, f"train {model.label}{which}", make)
