"""From tables of ratings and tags, or the planted demo, to stored ratings."""

from pathlib import Path
from typing import Any

from prefect import task
from prefect.states import State

from tagcore.features.pruning import Pruning
from tagcore.ratings import UserTaggings, append_ratings
from tagcore.readers.bad_rows import rows_left_out
from tagcore.readers.ratings import RatingsSource
from tagcore.store.datasets import write_dataset
from tagcore.synthetic.ratings import PlantedRatings
from tasks.cache import PlannedResult, is_transient, run_cached
from tasks.data_settings import DataSettings
from tasks.ingest import REJECTED
from tasks.progress import ProgressReporter
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
    parameters: dict[str, Any] = {"options": data.options, "skip_bad_rows": data.skip_bad_rows}
    if data.pruning is not None:
        parameters["pruning"] = data.pruning.model_dump()
    plan = PlannedResult(workspace.store, "ratings", parameters, {"source": source.fingerprint()})

    def make(folder: Path, step: ProgressReporter) -> None:
        remarks: list[str] = []
        taggings: UserTaggings | None
        with write_dataset(folder, "ratings", **plan.manifest) as writer:
            if isinstance(source, PlantedRatings):
                ratings, taggings = source.ratings(), source.taggings()
            else:
                rejects = writer.folder / REJECTED if data.skip_bad_rows else None
                ratings, taggings = source.read(skip_bad_rows=rejects)
                remarks = [source.remark] if source.remark else []
                if source.rejected:
                    told = rows_left_out(source.rejected, source.rejected_lines)
                    remarks.append(f"{told}, see {folder / REJECTED}")
            if data.pruning is not None:
                if taggings is None:
                    raise ValueError(f"{data.source}: data.pruning is by tags, and there are none")
                ratings, taggings = Pruning(**data.pruning.model_dump()).apply(ratings, taggings)
            append_ratings(writer, ratings, taggings)
        step.remark = "; ".join(remarks)

    return run_cached(plan, f"read {Path(data.only_source).name}", make)


def planted_ratings(data: DataSettings) -> PlantedRatings:
    """The ratings of the demo, with the tags of its users."""
    return PlantedRatings(data.users, data.items, seed=7)
