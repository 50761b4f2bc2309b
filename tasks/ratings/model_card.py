"""The page that goes with a registered recommender: what it is, what it learnt from, how good it is, where it fails."""

from collections.abc import Sequence
from typing import Any

from tagcore.features.rating_split import KIND
from tagcore.metrics.catalogue import shown_in
from tagcore.metrics.evaluation import RatingEvaluation
from tagcore.models.topics import Topic
from tagcore.store.datasets import read_manifest
from tasks.evaluate import EvaluatedModel
from tasks.registry.model_card import measure_text


def recommender_facts(evaluated: EvaluatedModel) -> dict[str, Any]:
    """What is known of a recommender besides its quality and what every model has."""
    counts = read_manifest(evaluated.prepared, KIND)["counts"]
    return {"train_ratings": counts["train"], "users": counts["users"], "items": counts["items"]}


def recommender_card(
    label: str, data: str, made: dict[str, Any], evaluation: RatingEvaluation, topics: Sequence[Topic] = ()
) -> str:
    """Markdown. `made` holds the training's parameters, seconds and keys."""
    counts = evaluation.counts
    shown = [name for name in shown_in("model card", "ratings") if name in evaluation.summary]
    rows = "\n".join(f"| {name} | {measure_text(evaluation.summary[name])} |" for name in shown)
    return f"""# {label} on {data}

Recommends items to users. Give it a column `user`; it answers with `items`, best first and without those that the user
has rated, their `scores` (the rating that the user would give) and their `titles`. Of someone whom it does not know, a
column `tags` ("jazz, piano") may tell some tags, where the model learns from these.

## How good it is

Measured on {counts.ratings:,} ratings of {counts.users:,} users that it had not seen; 95 % intervals over users, as the
ratings of one user are alike.

| measure | value |
|---|---|
{rows}

## What it learnt from

{made["train_ratings"]:,} ratings by {made["users"]:,} users of {made["items"]:,} items.
Trained in {made["seconds"]:.1f} s with seed {made["seed"]}.
Ratings `{made["split"][:16]}`, model `{made["model"][:16]}`.

## Its limits

Without a rating in training were the users of {counts.ratings_of_new_users:,} held-out ratings and the items of
{counts.ratings_of_new_items:,}: for these the model falls back on what it knows of the other side, or of all. Errors of
every user are in `per_user.parquet` of the run.
"""
