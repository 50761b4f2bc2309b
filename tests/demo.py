"""Features of the demo, made by the tasks themselves."""

from pathlib import Path

from flows.recipes import load_recipe
from tasks.data_settings import DataSettings
from tasks.feature_settings import FeatureSettings
from tasks.features import features
from tasks.ingest import ingest
from tasks.workspace import Workspace


def demo_features(workspace: Workspace, documents: int) -> Path:
    """Makes a corpus of so many documents, and its rows with the demo's split."""
    corpus = ingest.fn(DataSettings(source="demo", documents=documents), workspace).result()
    return features.fn(corpus, FeatureSettings(min_df=2), load_recipe("demo").split, workspace).result()
