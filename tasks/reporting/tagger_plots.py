"""Pictures and the table of tags of one tagger's evaluation, on its MLflow run."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import mlflow

from tagcore.metrics.evaluation import TagEvaluation
from tagcore.models.topics import Topic


def log_tagger_plots(evaluation: TagEvaluation, topics: Sequence[Topic]) -> None:
    """Logs the quality of every tag as a table that MLflow shows, and the pictures of the evaluation."""
    from tasks.reporting.plots import draw_all  # matplotlib is slow to import, and a run that stands is not drawn again

    mlflow.log_table(evaluation.per_tag.to_pandas(), "per_tag.json")
    with tempfile.TemporaryDirectory() as drawn:
        draw_all(evaluation, Path(drawn), topics)
        mlflow.log_artifacts(drawn, "plots")
