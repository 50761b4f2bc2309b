"""From files, or the planted demo, to a stored corpus."""

from collections.abc import Callable
from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.corpus import DocumentSource, append_block, append_names
from tagcore.readers import open_source
from tagcore.readers.open import source_fingerprint
from tagcore.readers.source import Source
from tagcore.store.datasets import write_dataset
from tagcore.synthetic.corpus import PlantedCorpus, demo_corpus
from tagcore.synthetic.media import PlantedMedia, demo_media
from tasks.cache import PlannedResult, is_transient, run_cached
from tasks.progress import ProgressReporter
from tasks.recipe_settings import DataSettings
from tasks.workspace import Workspace

ROWS_PER_GROUP = 8192
REJECTED = "rejected.jsonl"

_DEMOS: dict[str, Callable[[int], PlantedCorpus | PlantedMedia]] = {"demo": demo_corpus, "demo-media": demo_media}


@task(
    name="ingest",
    task_run_name="ingest {data.source}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def ingest(data: DataSettings, workspace: Workspace) -> State[Path]:
    """Reads the recipe's source into a corpus; rows that cannot be read end it, or are listed where told to skip."""
    demo = _DEMOS[data.source](data.documents) if data.planted else None
    fingerprint = demo.fingerprint() if demo else source_fingerprint(Path(data.source), **data.options)
    parameters = {
        "rows_per_group": ROWS_PER_GROUP,
        "options": data.options,
        "skip_bad_rows": data.skip_bad_rows,
    }
    plan = PlannedResult(workspace.store, "corpus", parameters, {"source": fingerprint})

    def make(folder: Path, step: ProgressReporter) -> None:
        with write_dataset(folder, "corpus", **plan.manifest) as writer:
            source: DocumentSource
            if demo is not None:
                source = demo
            else:
                rejects = writer.folder / REJECTED if data.skip_bad_rows else None
                source = open_source(Path(data.source), skip_bad_rows=rejects, **data.options)
            total = 0 if demo is None else data.documents
            for block in source.blocks(ROWS_PER_GROUP):
                append_block(writer, block)
                step(writer.counts["documents"], total, {})
            if not writer.counts.get("documents"):
                raise ValueError(f"{data.source}: no documents")
            append_names(writer, source.tags, source.words)
            if isinstance(source, Source):
                left_out = f"{source.rejected:,} bad rows left out, see {folder / REJECTED}" if source.rejected else ""
                step.remark = "; ".join(remark for remark in (source.remark, left_out) if remark)

    return run_cached(plan, f"read {data.name or Path(data.source).name}", make)
