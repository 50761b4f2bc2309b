"""From stored ratings to those to learn from and those to measure on."""

from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.features.rating_split import KIND, RatingSplit, save_split
from tagcore.ratings import Ratings, UserTaggings
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.progress import ProgressReporter
from tasks.recipe_settings import SplitSettings
from tasks.workspace import Workspace


@task(name="split ratings", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def split_ratings(data: Path, split: SplitSettings, workspace: Workspace, title: str = "split ratings") -> State[Path]:
    """Holds out a share of the ratings; what `auto` means for ratings is a drawn share."""
    kind = "drawn" if split.kind == "auto" else split.kind
    assert kind != "official"
    chosen = RatingSplit(kind, float(split.test), split.seed, split.validation)
    plan = PlannedResult(workspace.store, KIND, {"split": vars(chosen)}, {"ratings": stored_key(data, "ratings")})

    def make(folder: Path, step: ProgressReporter) -> None:
        learnt, held_out = chosen.apply(Ratings.load(data))
        save_split(folder, learnt, held_out, UserTaggings.load(data), **plan.manifest)

    return run_cached(plan, title, make)
