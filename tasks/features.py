"""From a stored corpus to rows of word weights and tags."""

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from prefect import task

from tagcore.features.build import make_features
from tagcore.features.corpus_reader import CorpusPieces
from tagcore.features.split import Split
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tasks.cache import Plan, key_of, produce, transient
from tasks.cluster.backend import Cluster, watched
from tasks.cluster.sessions import executor_of, reachable
from tasks.progress import Step


@task(name="features", retries=2, retry_delay_seconds=2, retry_condition_fn=transient)
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
    plan = Plan(store, "features", parameters, {"corpus": key_of(corpus, "corpus")})

    def make(folder: Path, step: Step) -> None:
        data = Dataset.open(corpus, "corpus", verify=False)
        pieces = CorpusPieces(data, chosen)
        storage = reachable(pieces.place, pieces.files, cluster, data.key)
        with executor_of(cluster, threads) as executor:
            step.begin()
            make_features(
                data,
                folder,
                Vectoriser(**settings),
                chosen,
                executor=executor,
                storage=storage,
                progress=watched(step, executor),
                **plan.manifest,
            )

    return produce(plan, "build features", make)


def _has_official_split(corpus: Path) -> bool:
    blocks = Dataset.open(corpus, "corpus", verify=False).blocks("documents", ["split"])
    return all(block["split"].null_count == 0 and pc.count(block["split"]).as_py() for block in blocks)
