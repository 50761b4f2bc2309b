"""A night that brings 5 % more documents: going on from the night before against training all from nothing.

CPU seconds of features and training, the least of five nights each, which take turns; before them one each that loads
what is compiled. Going on counts all that it needs: the ledger, new words and tags, extended rows, the stored model
loaded, taken further and stored; a full retrain reads all texts and fits its calibrator, too. Both are measured on the
same held-out documents; the difference (warm less full) is paired, with its 95 % interval.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flows.recipes import load_recipe
from tagcore.corpus import tag_matrix
from tagcore.metrics.intervals import paired_difference
from tagcore.readers import open_source
from tagcore.store.files import link_or_copy
from tasks.cache import read_record
from tasks.data_kinds import kind_of
from tasks.evaluate import values_of_tagger
from tasks.features import features
from tasks.ingest import ingest
from tasks.nights.tonight import open_night
from tasks.train import train
from tests.workspaces import workspace_at

COOKING = "stackexchange/cooking.csv.zip"
PLANTED = 10_000  # documents
GROWTH = 1.05
TURNS = 5
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
    last, nights = home / "last", {"warm": [], "full": []}
    last.mkdir(parents=True)
    _night(before, last)
    for turn in range(1 + TURNS):
        for kind, made in nights.items():
            tonight = home / f"{kind}-{turn}"
            shutil.copytree(last, tonight, copy_function=link_or_copy)
            made.append(_night(after, tonight, full=kind == "full"))
    print(f"{name} done", flush=True)
    warm, full = (_least(made[1:]) for made in nights.values())
    return [_row(f"{name}: {label}", warm[label], full[label]) for label in full]


@dataclass(frozen=True)
class Learnt:
    """A model of a night, and what it took."""

    data: Path
    prepared: Path
    model: Path
    features_seconds: float
    train_seconds: float


def _least(nights: list[dict[str, Learnt]]) -> dict[str, Learnt]:
    """What the same night learnt each time, with the least that each part took."""
    return {
        label: replace(
            one,
            features_seconds=min(night[label].features_seconds for night in nights),
            train_seconds=min(night[label].train_seconds for night in nights),
        )
        for label, one in nights[-1].items()
    }


def _night(settings: dict[str, Any], home: Path, full: bool = False) -> dict[str, Learnt]:
    """A whole night but for measuring and promoting: what it learnt, by model."""
    recipe, workspace, learnt = load_recipe("nightly", {"models": MODELS, **settings}), workspace_at(home), {}
    data = ingest.fn(recipe.data_to_read, workspace).result()
    night = open_night("bench", recipe, data, full, workspace)
    for model in recipe.all_models():
        wanted = kind_of("documents").preparation(recipe, model, night.split)["settings"]
        grown = night.grow(wanted, "features")
        prepared = features.fn(data, wanted, night.split, workspace, growth=grown.parent, why=grown.why).result()
        night.prepared(wanted, prepared)
        start = night.start(model, 0, prepared)
        assert (start.parent is not None) == (night.before is not None and not full), start.why
        stored = train.fn(prepared, model, 0, workspace, parent=start.parent, why=start.why).result()
        night.trained(model, 0, stored)
        steps = [prepared] if grown.parent is None else [night.ledger, grown.parent, prepared]
        learnt[model.label] = Learnt(data, prepared, stored, sum(map(_cpu, steps)), _cpu(stored))
    night.end()
    return learnt


def _cpu(folder: Path) -> float:
    return read_record(folder)["cpu_seconds"]


def _row(what: str, warm: Learnt, full: Learnt) -> dict[str, Any]:
    ours, theirs = (values_of_tagger(one.model, one.data, one.prepared, MEASURE) for one in (warm, full))
    test = paired_difference(ours, theirs)
    whole, short = (one.features_seconds + one.train_seconds for one in (full, warm))
    return {
        "what": what,
        "full: features s": full.features_seconds,
        "train s": full.train_seconds,
        "warm: features s": warm.features_seconds,
        "train s ": warm.train_seconds,
        "warm / full": short / whole,
        f"full {MEASURE}": theirs.mean(),
        f"warm {MEASURE}": ours.mean(),
        "difference": f"{test.difference:+.4f} ({test.low:+.4f} to {test.high:+.4f})",
    }
