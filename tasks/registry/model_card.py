"""The page that goes with a registered tagger: what it is, what it learnt from, how good it is, where it fails."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from tagcore.metrics.catalogue import shown_in
from tagcore.metrics.evaluation import TagEvaluation
from tagcore.metrics.intervals import Estimate
from tagcore.models.topics import Topic
from tagcore.store.datasets import read_manifest
from tagcore.tagger import HEAD
from tasks.evaluate import EvaluatedModel
from tasks.reporting.topics import topics_markdown

UNCALIBRATED = "uncalibrated"


def tagger_facts(evaluated: EvaluatedModel) -> dict[str, Any]:
    """What is known of a tagger besides its quality and what every model has."""
    calibrator = json.loads((evaluated.model / HEAD).read_text(encoding="utf-8"))["calibrator"]
    head = json.loads((evaluated.model / "model" / "model.json").read_text(encoding="utf-8"))
    return {
        "calibration": f"{calibrator} calibration" if calibrator else UNCALIBRATED,
        "train_documents": read_manifest(evaluated.prepared, "features")["counts"]["train"],
        "words": head["facts"]["n_features_in_"],
    }


def tagger_card(
    label: str, data: str, made: dict[str, Any], evaluation: TagEvaluation, topics: Sequence[Topic] = ()
) -> str:
    """Markdown. `made` holds the training's parameters, seconds and keys."""
    counts = evaluation.counts
    shown = [name for name in shown_in("model card", "documents") if name in evaluation.summary]
    rows = "\n".join(f"| {name} | {measure_text(evaluation.summary[name])} |" for name in shown)
    best, worst = _tags_by_quality(evaluation)
    promise = "the model's own: they rank tags and are no" if made["calibration"] == UNCALIBRATED else "calibrated"
    meaning = f"{promise} probabilities of being right; {made['calibration']}"
    learnt = f"\n## Its topics\n\n{topics_markdown(topics)}" if topics else ""
    return f"""# {label} on {data}

Suggests tags for raw text. Give it a column `text`; it answers with `tags`, best first, and their `scores`
({meaning}).

## How good it is

Measured on {counts.documents:,} documents that it had not seen; 95 % intervals over documents.
{counts.untagged_documents:,} of them have no tag and count as wrong.

| measure | value |
|---|---|
{rows}
{_labelling(evaluation)}
Best known tags: {best}. Weakest of those tested at least five times: {worst}.

## What it learnt from

{made["train_documents"]:,} documents, {made["words"]:,} words, {counts.tags_in_train or 0:,} of {counts.tags:,} tags.
Trained in {made["seconds"]:.1f} s with seed {made["seed"]}.
Features `{made["features"][:16]}`, model `{made["model"][:16]}`.

## Its limits

Tags it never saw in training come after all others. A text without any known word gets the most popular tags.
Quality per tag is in `per_tag.parquet` of the run.
{learnt}"""


def measure_text(estimate: Estimate) -> str:
    """Text such as 0.617 (0.598–0.636), without the interval where there is none."""
    if estimate.low != estimate.low:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.low:.3f}–{estimate.high:.3f})"


def _labelling(evaluation: TagEvaluation) -> str:
    """How good the labels of each rule are; nothing where none was asked for."""
    rules = [line for line in evaluation.labelling.to_pylist() if line["labels"] is not None]
    if not rules:
        return ""
    names = [name for name in evaluation.labelling.column_names if name.startswith(("micro", "macro"))]
    head = "| labels by | given | " + " | ".join(name.replace("_", " ") for name in names) + " |"
    lines = [f"| {r['rule']} | {r['labels']:,} | " + " | ".join(f"{r[n]:.3f}" for n in names) + " |" for r in rules]
    return "\n".join(["", head, "|" + "---|" * (len(names) + 2), *lines, ""])


def _tags_by_quality(evaluation: TagEvaluation, n: int = 5) -> tuple[str, str]:
    tested = evaluation.per_tag.filter(pc.greater_equal(evaluation.per_tag["test_count"], 5))
    if not tested.num_rows:
        return "none was tested often enough to say", "likewise"
    order = tested.sort_by([("f1", "descending"), ("train_count", "descending")])["tag"].to_pylist()
    best, weakest = order[:n], order[n:][::-1][:n]  # no tag is both
    return ", ".join(map(str, best)), ", ".join(map(str, weakest)) or "no other was"
