"""From a stored corpus to rows of word weights and tags."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.compute as pc
from prefect import task
from prefect.states import State

from tagcore.features.build import VECTORISER, FeatureView, make_features
from tagcore.features.corpus_reader import CorpusReader, document_times
from tagcore.features.growth import extend_features
from tagcore.features.ledger import stands_as_it_was
from tagcore.features.side_by_side import join_features
from tagcore.features.split import Split, newest_cut
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tagcore.text.saving import read_params
from tasks.cache import PlannedResult, is_transient, run_cached, stored_folder, stored_key
from tasks.cluster.backends import report_traffic
from tasks.cluster.open_clusters import copy_files_to_workers, executor_for
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
    growth: Path | None = None,
    why: str = "",
) -> State[Path]:
    """Splits the corpus and weighs its words. Where the rows are made changes no bit of them.

    `views`, which weigh the same terms otherwise, are made beside it where they do not stand yet: asked for later, they
    are there, and no text was read twice for them. With `growth`, the features of the night before are extended by its
    words and tags, and by rows of new documents; `why` tells a person what was decided.
    """
    chosen, corpus_key = choose_split(data, split), stored_key(data, "corpus")
    if growth is not None:
        return _extended(data, settings, chosen, workspace, title, growth, why)

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
            step.remark = why

    return run_cached(plan, title, make)


def _extended(
    data: Path, settings: FeatureSettings, split: Split, workspace: Workspace, title: str, growth: Path, why: str
) -> State[Path]:
    grown = Dataset.open(growth, "growth", verify=False)
    inputs = {"corpus": stored_key(data, "corpus"), "growth": grown.key}
    parameters = {"vectoriser": settings.model_dump(), "split": vars(split)}
    plan = PlannedResult(workspace.store, "features", parameters, inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        before, ledger = (
            Dataset.open(stored_folder(workspace.store, kind, grown.manifest["inputs"][kind]), kind, verify=False)
            for kind in ("features", "ledger")
        )
        corpus = Dataset.open(data, "corpus", verify=False)
        last = stored_folder(workspace.store, "ledger", ledger.manifest["inputs"]["ledger"])
        as_it_was = split.min_tag_df == 1 and stands_as_it_was(ledger, Dataset.open(last, "ledger", verify=False))
        extend_features(
            corpus, folder, before, ledger, grown, split, as_it_was=as_it_was, progress=step, **plan.manifest
        )
        step.remark = why

    return run_cached(plan, title, make)


@task(name="join features", retries=1, retry_delay_seconds=2, retry_condition_fn=is_transient)
def join_views(views: Sequence[Path], workspace: Workspace) -> State[Path]:
    """Puts features of the same documents side by side, the first of which leads; nothing is read or copied for it."""
    keys = [stored_key(view, "features") for view in views]
    first = Dataset.open(views[0], "features", verify=False)
    inputs = {"features": keys[0]} | {f"view {number}": key for number, key in enumerate(keys[1:], start=1)}
    plan = PlannedResult(workspace.store, "features", first.manifest["parameters"], inputs)

    def make(folder: Path, step: ProgressReporter) -> None:
        opened = [first, *(Dataset.open(view, "features", verify=False) for view in views[1:])]
        join_features(folder, opened, **plan.manifest)
        step.remark = " and ".join(f"{count_words(view):,}" for view in views) + " words"

    return run_cached(plan, f"put {len(views)} kinds of features side by side", make)


def count_cells(prepared: Path) -> int:
    """Counts words × tags of stored features."""
    return count_words(prepared) * Dataset.open(prepared, "features", verify=False).counts["tags"]


def count_words(prepared: Path) -> int:
    """Counts the words of stored features of one view."""
    return int(read_params(prepared / VECTORISER)[1]["n_terms"])


def choose_split(corpus: Path, split: SplitSettings) -> Split:
    """Settles what `auto` means for this corpus: its own split where every document has a side, else a drawn one; and
    which documents are the newest, where it is not told."""
    kind, after, until = split.kind, split.after, split.until
    if kind == "auto":
        kind = "official" if has_official_split(corpus) else "drawn"
    cut = None if after is None or until is None else (_microseconds(after), _microseconds(until))
    if kind == "newest" and cut is None:
        cut = find_newest(corpus, split)
        if cut is None:
            raise ValueError(
                f"{corpus}: split.kind = 'newest': not every document has a tagging with a time, or too many have the "
                "same: expected times, or kind = 'drawn'"
            )
    return Split(
        kind,
        split.test,
        split.seed,
        split.validation,
        train_documents=split.train_documents,
        test_documents=split.test_documents,
        revealed=split.revealed,
        min_tag_df=split.min_tag_df,
        **({"after": cut[0], "until": cut[1]} if cut and kind == "newest" else {}),
        exceptions=split.exceptions,
    )


def find_newest(corpus: Path, split: SplitSettings) -> tuple[int, int] | None:
    """The times (after, until) of the newest share of the tagged documents; None where these do not all have one."""
    data = Dataset.open(corpus, "corpus", verify=False)
    tagged = data.read("taggings", ["document"])["document"].unique()
    times = document_times(data).take(tagged.cast("int64"))
    if isinstance(split.test, int) or times.null_count or not len(times):
        return None
    return newest_cut(times.to_numpy(), split.test)


def _microseconds(time: datetime) -> int:
    """Since 1970; a time without a zone is UTC."""
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6)


def has_official_split(corpus: Path) -> bool:
    """Whether every document has a side of its source's own."""
    blocks = Dataset.open(corpus, "corpus", verify=False).blocks("documents", ["split"])
    return all(block["split"].null_count == 0 and pc.count(block["split"]).as_py() for block in blocks)
