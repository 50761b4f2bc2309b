"""From tables of ratings and tags, or the planted demo, to stored ratings."""

from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.ratings import append_ratings
from tagcore.readers.ratings import RatingsSource
from tagcore.store.datasets import write_dataset
from tagcore.synthetic.ratings import PlantedRatings
from tasks.cache import PlannedResult, is_transient, run_cached
from tasks.ingest import REJECTED
from tasks.progress import ProgressReporter
from tasks.recipe_settings import DataSettings
from tasks.workspace import Workspace


@task(
    name="ingest ratings",
    task_run_name="ingest {data.shown}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def ingest_ratings(data: DataSettings, workspace: Workspace) -> State[Path]:
    """Reads the recipe's source into ratings; rows that cannot be read end it, or are listed where told to skip."""
    demo = data.source == "demo"
    source = planted_ratings(data) if demo else RatingsSource(data.only_source, **data.options)
    parameters = {"options": data.options, "skip_bad_rows": data.skip_bad_rows}
    plan = PlannedResult(workspace.store, "ratings", parameters, {"source": source.fingerprint()})

    def make(folder: Path, step: ProgressReporter) -> None:
        if isinstance(source, PlantedRatings):
            source.ratings().save(folder, taggings=source.taggings(), **plan.manifest)
            return
        with write_dataset(folder, "ratings", **plan.manifest) as writer:
            rejects = writer.folder / REJECTED if data.skip_bad_rows else None
            append_ratings(writer, *source.read(skip_bad_rows=rejects))
        if source.rejected:
            step.remark = f"{source.rejected:,} bad rows left out, see {folder / REJECTED}"

    return run_cached(plan, f"read {Path(data.only_source).name}", make)


def planted_ratings(data: DataSettings) -> PlantedRatings:
    """The ratings of the demo, with the tags of its users."""
    return PlantedRatings(data.users, data.items, seed=7)
