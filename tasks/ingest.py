"""From files, or the planted demo, to a stored corpus."""

from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.corpus import DocumentSource, append_block, append_names
from tagcore.readers import open_source
from tagcore.readers.open import source_fingerprint
from tagcore.readers.source import Source
from tagcore.store.datasets import write_dataset
from tagcore.synthetic.corpus import demo_corpus
from tasks.cache import PlannedResult, is_transient, run_cached
from tasks.progress import ProgressReporter
from tasks.recipe_settings import DataSettings
from tasks.workspace import Workspace

ROWS_PER_GROUP = 8192
REJECTED = "rejected.jsonl"


@task(
    name="ingest",
    task_run_name="ingest {data.source}",
    retries=2,
    retry_delay_seconds=2,
    retry_condition_fn=is_transient,
)
def ingest(data: DataSettings, workspace: Workspace) -> State[Path]:
    """Reads the recipe's source into a corpus; rows that cannot be read end it, or are listed where told to skip."""
    demo = data.source == "demo"
    if demo:
        fingerprint = demo_corpus(data.documents).fingerprint()
    else:
        fingerprint = source_fingerprint(Path(data.source), **data.options)
    parameters = {
        "rows_per_group": ROWS_PER_GROUP,
        "options": data.options,
        "skip_bad_rows": data.skip_bad_rows,
    }
    plan = PlannedResult(workspace.store, "corpus", parameters, {"source": fingerprint})

    def make(folder: Path, step: ProgressReporter) -> None:
        with write_dataset(folder, "corpus", **plan.manifest) as writer:
            source: DocumentSource
            if demo:
                source = demo_corpus(data.documents)
            else:
                rejects = writer.folder / REJECTED if data.skip_bad_rows else None
                source = open_source(Path(data.source), skip_bad_rows=rejects, **data.options)
            total = data.documents if demo else 0
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
