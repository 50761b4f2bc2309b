"""The two large corpora, made once, block by block, and found again: as stored documents, then as features.

They lie in the folder SCALE_FOLDER of the environment, by default one of the system's temporary folder; delete it to
make them anew.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagcore.corpus import DocumentSource, append_block, append_names
from tagcore.readers.qrels import read_qrels
from tagcore.readers.rcv1.taxonomy import read_taxonomy
from tagcore.store.datasets import write_dataset
from tagcore.synthetic.corpus import delicious_shaped
from tagcore.synthetic.newswire import PlantedNewswire
from tests.bench.scale.features import COUNTS, TF_IDF, write_features
from tests.bench.scale.processes import alone, peak_mib

RCV1, RCV1_HELD_OUT = 804_414, 4_414
DELICIOUS, DELICIOUS_HELD_OUT = 1_000_000, 10_000
_ROWS_PER_GROUP = 8192  # as `tagflow ingest` has it


@dataclass(frozen=True)
class Made:
    """Where a corpus and its features lie, and what making them cost, as rows of a table."""

    corpus: Path
    features: Path
    costs: list[dict[str, Any]]


def place() -> Path:
    """The folder of all that the benches of scale keep."""
    folder = Path(os.environ.get("SCALE_FOLDER") or Path(tempfile.gettempdir()) / "tagflow-scale")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def rcv1(data: Path, documents: int = RCV1, counts: bool = False) -> Made:
    """Stories of RCV1 from their true topics; at full size 800,000 to learn from and 4,414 to measure on."""
    return _made("rcv1", documents, min(RCV1_HELD_OUT, documents // 10), counts, _newswire, data, documents)


def delicious(documents: int = DELICIOUS) -> Made:
    """Bookmarks with a tag for every ten; at full size 100,000 tags, 990,000 documents to learn from."""
    return _made("delicious", documents, min(DELICIOUS_HELD_OUT, documents // 10), False, _bookmarks, documents)


def _made(
    name: str, documents: int, held_out: int, counts: bool, source: Callable[..., DocumentSource], *given: Any
) -> Made:
    kind, weights = ("counts", COUNTS) if counts else ("tf-idf", TF_IDF)
    corpus = place() / f"{name}-{documents}-corpus"
    features = place() / f"{name}-{documents}-{'counts' if counts else 'features'}"
    costs = [
        {"what": f"{documents:,} documents written", **_once(corpus, write_corpus, source, *given)},
        {
            "what": f"{kind} of {documents:,} documents",
            **_once(features, write_features, corpus, held_out, dict(weights)),
        },
    ]
    return Made(corpus, features, costs)


def _once(folder: Path, make: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """What making the folder cost: now, or when it was made. One without a note was left half done."""
    note = folder.with_suffix(".json")
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        note.write_text(json.dumps(alone(make, folder, *given)), encoding="utf-8")
    return json.loads(note.read_text(encoding="utf-8"))


def write_corpus(folder: Path, source: Callable[..., DocumentSource], *given: Any) -> dict[str, Any]:
    """The documents of source(*given), a block in memory at a time."""
    start = time.perf_counter()
    documents = source(*given)
    with write_dataset(folder, "corpus") as writer:
        for block in documents.blocks(_ROWS_PER_GROUP):
            append_block(writer, block)
        append_names(writer, documents.tags, documents.words)
    return {"s": time.perf_counter() - start, "peak MiB, driver": peak_mib()}


def _newswire(data: Path, documents: int) -> DocumentSource:
    """Counts, because the features weigh them."""
    ids, topics, names = read_qrels(data / "rcv1" / "rcv1-v2.topics.qrels.gz")
    known, above = read_taxonomy(data / "rcv1" / "rcv1.taxonomy")
    parents = {known[i]: known[above[i]] for i in np.flatnonzero(above >= 0)}
    parents = {child: parent for child, parent in parents.items() if child in names and parent in names}
    return PlantedNewswire(topics, names, parents=parents, ids=ids, n_documents=documents, weighted=False)


def _bookmarks(documents: int) -> DocumentSource:
    return delicious_shaped(documents, documents // 10)
