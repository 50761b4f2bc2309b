"""From a stored corpus to rows of word weights and tags."""

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from prefect import task

from tagcore.features.build import make_features
from tagcore.features.corpus_reader import CorpusReader
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tasks.cache import PlannedResult, is_transient, run_cached, stored_key
from tasks.cluster.backend import Cluster, report_traffic
from tasks.cluster.sessions import copy_files_to_workers, executor_for
from tasks.progress import ProgressReporter


@task(name="features", retries=2, retry_delay_seconds=2, retry_condition_fn=is_transient)
def features(
    corpus: Path, settings: dict[str, Any], split: dict[str, Any], cluster: Cluster, threads: int, store: Path
) -> Path:
    """`settings` are the vectoriser's, `split` the recipe's. Where the rows are made changes no bit of them."""
    kind = split["kind"]
    if kind == "auto":
        kind = "official" if _has_official_split(corpus) else "drawn"
    numbers = {name: split[name] for name in ("train_documents", "test_documents", "revealed")}
    chosen = Split(kind, split["test"], split["seed"], split["validation"], **numbers)
    parameters = {"vectoriser": settings, "split": vars(chosen)}
    plan = PlannedResult(store, "features", parameters, {"corpus": stored_key(corpus, "corpus")})

    def make(folder: Path, step: ProgressReporter) -> None:
        data = Dataset.open(corpus, "corpus", verify=False)
        pieces = CorpusReader(data, chosen)
        storage = copy_files_to_workers(pieces.place, pieces.files, cluster, data.key)
        with executor_for(cluster, threads) as executor:
            step.begin()
            make_features(
                data,
                folder,
                Vectoriser(**settings),
                chosen,
                executor=executor,
                storage=storage,
                progress=report_traffic(step, executor),
                **plan.manifest,
            )

    return run_cached(plan, "build features", make)


def _has_official_split(corpus: Path) -> bool:
    blocks = Dataset.open(corpus, "corpus", verify=False).blocks("documents", ["split"])
    return all(block["split"].null_count == 0 and pc.count(block["split"]).as_py() for block in blocks)
