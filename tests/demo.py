"""Features of the demo, made by the tasks themselves."""

from pathlib import Path

from flows.recipes import load_recipe
from tasks.cluster.backend import Cluster
from tasks.features import features
from tasks.ingest import ingest


def demo_features(store: Path, documents: int) -> Path:
    data = {"source": "demo", "documents": documents, "options": {}, "skip_bad_rows": False}
    corpus = ingest.fn(data, store).result()
    split = load_recipe("demo").split.model_dump()
    return features.fn(corpus, {"min_df": 2}, split, Cluster(), 1, store).result()
