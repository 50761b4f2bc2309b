"""From stored ratings to those to learn from and those to measure on."""

from pathlib import Path
from typing import Literal

from prefect import task
from prefect.states import State

from tagcore.features.rating_split import KIND, RatingSplit, save_split
from tagcore.ratings import Ratings, UserTaggings
from tagcore.store.datasets import Dataset
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.data_settings import Profiles
from tasks.progress import ProgressReporter
from tasks.recipe_settings import SplitSettings
from tasks.workspace import Workspace


@task(name="split ratings", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def split_ratings(
    data: Path, split: SplitSettings, profiles: Profiles, workspace: Workspace, title: str = "split ratings"
) -> State[Path]:
    """Holds out a share of the ratings: `auto` means the newest of every user where all have a time, else a drawn one.
    Profiles of rated items are made of the ratings to learn from alone, cold users' among them."""
    kind = split.kind if split.kind != "auto" else _usual_kind(data)
    assert kind != "official"
    own = {"train": split.train, "train_seed": split.train_seed, "cold_users": split.cold_users}
    chosen = RatingSplit(kind, float(split.test), split.seed, split.validation, **own)  # type: ignore[arg-type]
    parameters = {"split": vars(chosen), "profiles": profiles}
    plan = PlannedResult(workspace.store, KIND, parameters, {"ratings": stored_key(data, "ratings")})

    def make(folder: Path, step: ProgressReporter) -> None:
        learnt, held_out = chosen.apply(Ratings.load(data))
        taggings = UserTaggings.load(data)
        if profiles == "rated items":
            if taggings is None:
                raise ValueError('data.profiles = "rated items": no item has a tag')
            taggings = taggings.of_rated_items(learnt)
        save_split(folder, chosen.without_cold_users(learnt, held_out), held_out, taggings, **plan.manifest)

    return run_cached(plan, title, make)


def _usual_kind(data: Path) -> Literal["drawn", "newest"]:
    times = Dataset.open(data, "ratings", verify=False).read("ratings", ["time"])["time"]
    return "drawn" if times.null_count else "newest"
