"""The page that goes with a measured classifier: what it is, what it learnt from, how good it is."""

from collections.abc import Sequence
from typing import Any

from tagcore.features.class_split import KIND
from tagcore.metrics.evaluation import ClassEvaluation
from tagcore.models.topics import Topic
from tagcore.store.datasets import read_manifest
from tasks.evaluate import EvaluatedModel
from tasks.registry.model_card import measure_text


def classifier_facts(evaluated: EvaluatedModel) -> dict[str, Any]:
    """What is known of a classifier besides its quality and what every model has."""
    counts = read_manifest(evaluated.prepared, KIND)["counts"]
    return {"train_rows": counts["train"], "columns": counts["columns"], "classes": counts["classes"]}


def classifier_card(
    label: str, data: str, made: dict[str, Any], evaluation: ClassEvaluation, topics: Sequence[Topic] = ()
) -> str:
    """Markdown. `made` holds the training's parameters, seconds and keys."""
    counts = evaluation.counts
    rows = "\n".join(f"| {name} | {measure_text(value)} |" for name, value in evaluation.summary.items())
    return f"""# {label} on {data}

Tells the class of a row of {made["columns"]:,} numbers, one of {made["classes"]:,} classes.

## How good it is

Measured on {counts.rows:,} rows that it had not seen; 95 % intervals over rows. Evidence says how likely the training
rows are under the model: it compares settings of one model, not one model with another.

| measure | value |
|---|---|
{rows}

## What it learnt from

{made["train_rows"]:,} rows. Trained in {made["seconds"]:.1f} s with seed {made["seed"]}.
Rows `{made["split"][:16]}`, model `{made["model"][:16]}`.

## Its limits

Of a class that training did not have were {counts.rows_of_new_classes:,} held-out rows: these count as wrong. What was
predicted of every row is in `per_row.parquet` of the run.
"""
