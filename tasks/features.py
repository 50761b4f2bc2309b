"""From a stored corpus to rows of word weights and tags."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.compute as pc
from prefect import task
from prefect.states import State

from tagcore.features.build import VECTORISER, FeatureView, make_features
from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tagcore.text.saving import read_params
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backends import report_traffic
from tasks.cluster.sessions import copy_files_to_workers, executor_for
from tasks.feature_settings import FeatureSettings
from tasks.progress import ProgressReporter
from tasks.recipe_settings import SplitSettings
from tasks.workspace import Workspace


@task(name="features", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def features(
    data: Path,
    settings: FeatureSettings,
    split: SplitSettings,
    workspace: Workspace,
    title: str = "build features",
    views: Sequence[FeatureSettings] = (),
) -> State[Path]:
    """Splits the corpus and weighs its words. Where the rows are made changes no bit of them.

    `views`, which weigh the same terms otherwise, are made beside it where they do not stand yet: asked for later, they
    are there, and no text was read twice for them.
    """
    chosen, corpus_key = choose_split(data, split), stored_key(data, "corpus")

    def planned(weighing: FeatureSettings) -> PlannedResult:
        parameters = {"vectoriser": weighing.model_dump(), "split": vars(chosen)}
        return PlannedResult(workspace.store, "features", parameters, {"corpus": corpus_key})

    plan = planned(settings)

    def make(folder: Path, step: ProgressReporter) -> None:
        corpus = Dataset.open(data, "corpus", verify=False)
        vectoriser = Vectoriser(**settings.model_dump())
        reader = CorpusReader(corpus, chosen, fields=vectoriser.field_names)
        storage = copy_files_to_workers(reader.storage, reader.files, workspace.cluster, corpus.key)
        with executor_for(workspace.cluster, workspace.threads) as executor:
            step.begin()
            make_features(
                corpus,
                folder,
                vectoriser,
                chosen,
                executor=executor,
                storage=storage,
                progress=report_traffic(step, executor),
                views=[
                    FeatureView(view.folder, Vectoriser(**weighing.model_dump()), view.manifest)
                    for weighing in views
                    if not (view := planned(weighing)).folder.exists()
                ],
                **plan.manifest,
            )

    return run_cached(plan, title, make)


def count_cells(prepared: Path) -> int:
    """Counts words × tags of stored features."""
    tags = Dataset.open(prepared, "features", verify=False).counts["tags"]
    return int(read_params(prepared / VECTORISER)[1]["n_terms"]) * tags


def choose_split(corpus: Path, split: SplitSettings) -> Split:
    """Settles what `auto` means for this corpus: its own split where every document has a side, else a drawn one."""
    kind = split.kind
    if kind == "auto":
        kind = "official" if _has_official_split(corpus) else "drawn"
    assert kind != "newest"  # which the recipe refuses for documents
    return Split(
        kind,
        split.test,
        split.seed,
        split.validation,
        train_documents=split.train_documents,
        test_documents=split.test_documents,
        revealed=split.revealed,
        min_tag_df=split.min_tag_df,
    )


def _has_official_split(corpus: Path) -> bool:
    blocks = Dataset.open(corpus, "corpus", verify=False).blocks("documents", ["split"])
    return all(block["split"].null_count == 0 and pc.count(block["split"]).as_py() for block in blocks)
