"""Features of a stored corpus, made on the cluster that the benches of scale use."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tagcore.features.build import make_features
from tagcore.features.split import Split
from tagcore.shards import Executor
from tagcore.store.datasets import Dataset
from tagcore.text import Vectoriser
from tests.bench.scale.measured import figures, two_workers

TF_IDF: Mapping[str, Any] = {"sublinear_tf": True}
COUNTS: Mapping[str, Any] = {"use_idf": False, "norm": None}


def write_features(folder: Path, corpus: Path, held_out: int, weights: dict[str, Any]) -> dict[str, Any]:
    """Writes them at the folder; what that cost."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as root, two_workers(root) as executor:
        start = time.perf_counter()
        weigh(corpus, folder, held_out, executor, weights)
        return {"s": time.perf_counter() - start, **figures(executor)}


def weigh(corpus: Path, folder: Path, held_out: int, executor: Executor, weights: Mapping[str, Any] = TF_IDF) -> None:
    """Rows weighed so, by default tf-idf with logarithms of counts; so many documents drawn to measure on."""
    data = Dataset.open(corpus, "corpus", verify=False)
    make_features(data, folder, Vectoriser(**weights), Split("drawn", test=held_out), executor=executor)
