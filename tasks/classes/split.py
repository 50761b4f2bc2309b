"""From stored rows to scaled ones, to learn from and to measure on."""

from dataclasses import asdict
from pathlib import Path

from prefect import task
from prefect.states import State

from tagcore.corpus import Corpus
from tagcore.features.class_split import KIND, save_class_split
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.features import choose_split
from tasks.progress import ProgressReporter
from tasks.recipe_settings import SplitSettings
from tasks.workspace import Workspace


@task(name="split rows", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def split_rows(data: Path, split: SplitSettings, workspace: Workspace, title: str = "split rows") -> State[Path]:
    """Holds out rows, and scales columns by the others."""
    chosen = choose_split(data, split)
    plan = PlannedResult(workspace.store, KIND, {"split": asdict(chosen)}, {"corpus": stored_key(data, "corpus")})

    def make(folder: Path, step: ProgressReporter) -> None:
        save_class_split(folder, Corpus.load(data), chosen, **plan.manifest)

    return run_cached(plan, title, make)
