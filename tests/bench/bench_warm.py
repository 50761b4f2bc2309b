"""A night that brings 5 % more documents: going on from the night before against training all from nothing.

CPU seconds of features and training. Going on counts all that it needs: the ledger, new words and tags, extended rows,
the stored model loaded, taken further and stored; a full retrain reads all texts and fits its calibrator, too. Both are
measured on the same held-out documents; the difference (warm less full) is paired, with its 95 % interval.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flows.recipes import load_recipe
from tagcore.corpus import tag_matrix
from tagcore.metrics.intervals import paired_difference
from tagcore.readers import open_source
from tasks.cache import read_record
from tasks.evaluate import values_of_tagger
from tasks.features import features
from tasks.ingest import ingest
from tasks.kinds import kind_of
from tasks.nights.night import Night, open_night
from tasks.recipe import Recipe
from tasks.recipe_settings import ModelSettings
from tests.workspaces import workspace_at

COOKING = "stackexchange/cooking.csv.zip"
PLANTED = 20_000  # documents
GROWTH = 1.05
MEASURE = "nDCG@5"
MODELS = [
    {"model": "KNN"},
    {"model": "BOMC", "params": {"variant": "independent", "noise": 1.0}, "calibrate": "platt"},
    {"model": "PMM"},
]


def run(data: Path | None) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as home:
        for name, before, after in _sources(data, Path(home)):
            rows += _compare(name, before, after, Path(home) / name)
    return rows


def _sources(data: Path | None, folder: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(name, the data of last night, the data of tonight), as settings of a recipe."""
    sizes = [{"data.source": "demo", "data.documents": n} for n in (PLANTED, round(PLANTED * GROWTH))]
    yield "planted", *sizes
    if data is not None:
        lines = _lines(data / COOKING)
        paths = [folder / "last" / "cooking.jsonl", folder / "tonight" / "cooking.jsonl"]
        for path, n in zip(paths, (round(len(lines) / GROWTH), len(lines)), strict=True):
            path.parent.mkdir()
            path.write_text("".join(lines[:n]), encoding="utf-8")
        yield "cooking", *({"data.source": str(path)} for path in paths)


def _lines(path: Path) -> list[str]:
    """The documents of a source, a line each."""
    source, lines = open_source(path), []
    for block in source.blocks():
        names, tags = list(source.tags), tag_matrix(block.taggings, block.documents.num_rows, len(source.tags))
        for row, document in enumerate(block.documents.select(["id", "title", "text"]).to_pylist()):
            lines.append(json.dumps({**document, "tags": [names[tag] for tag in tags[row].indices]}) + "\n")
    return lines


def _compare(name: str, before: dict[str, Any], after: dict[str, Any], home: Path) -> list[dict[str, Any]]:
    home.mkdir()
    for settings in (before, after):
        night, learnt = _night(load_recipe("nightly", {"models": MODELS, **settings}), home)
        night.end()
    rows = []
    for model, (prepared, stored) in learnt.items():
        kind, whole = kind_of("documents"), _night(night_recipe := load_recipe("nightly", {"models": MODELS, **after}), home, full=True)
    return rows
