"""From split ratings to a stored recommender."""

from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.features.rating_split import KIND, load_side
from tagcore.fitting import make_model
from tagcore.rating_model import RatingModel
from tagcore.ratings import UserTaggings
from tagcore.recommender import Recommender
from tagcore.training import Checkpoints
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backends import report_traffic
from tasks.cluster.open_clusters import executor_for
from tasks.cluster.storage import storage_at
from tasks.progress import ProgressReporter
from tasks.recipe_settings import ModelSettings
from tasks.workspace import Workspace


@task(
    name="train recommender",
    task_run_name="train {model.label}{which}",
    retries=1,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def train_recommender(
    prepared: Path, model: ModelSettings, seed: int, workspace: Workspace, which: str = ""
) -> State[Path]:
    """Trains one model on the ratings to learn from. Where that happens, and on how many threads, changes no bit.

    `which` tells the training from others of its model. One that was killed goes on from its last checkpoint.
    """
    estimator = make_model(model.model, model.params, seed, RatingModel)
    parameters = {"model": model.model, "params": estimator.get_params(), "seed": seed}
    plan = PlannedResult(workspace.store, "recommender", parameters, {"split": stored_key(prepared, KIND)})

    def make(folder: Path, step: ProgressReporter) -> None:
        ratings, taggings = load_side(prepared, "train"), UserTaggings.load(prepared, KIND)
        places = storage_at(workspace.cluster.root).inside("checkpoints")
        with executor_for(workspace.cluster, workspace.threads) as executor:
            step.begin()
            estimator.fit(
                ratings,
                taggings,
                executor=executor,
                progress=report_traffic(step, executor),
                checkpoints=Checkpoints(places.inside(plan.key), plan.key),
            )
        Recommender.of(estimator, ratings, taggings).save(folder, **plan.manifest)
        places.remove(plan.key)

    return run_cached(plan, f"train {model.label}{which}", make)
