"""What is learnt in this process and on 1, 2 and 4 workers, from 20,000 rows of RCV1's shape: the first digits of the
SHA-256 of all fitted arrays (of kNN, of the tags and scores of held-out rows). What the specs call approximate is the
same everywhere too, and is compared with the one stream of coupled BOMC: the correlation of z over all held-out rows
and tags (class shards must keep 0.999), and the difference of the measures.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from tagcore.baselines import KNN, LEML, OneVsRestLinear, Ridge
from tagcore.features.rows import Rows, StoredRows
from tagcore.models import BMLPL, BOMC, PMM
from tagcore.scoring.sharded import ShardedScores
from tagcore.shards import Executor, InProcess
from tagcore.tag_model import TagModel
from tests.bench.scale.corpora import place, rcv1
from tests.bench.scale.measured import quality, two_workers

DOCUMENTS = 22_000
WORKERS = (1, 2, 4)
STREAM = "BOMC, coupled, one stream"
PMM_ROW = "PMM, 40 classes"  # learns from counts
EXACT: dict[str, TagModel] = {
    STREAM: BOMC.published(),
    "BOMC, independent": BOMC.published("independent"),
    "BMLPL, EM": BMLPL(n_topics=20, max_iter=5),
    "BMLPL, online EM": BMLPL(n_topics=20, max_iter=1, inference="online", batch_rows=2000),
    "BMLPL, Gibbs": BMLPL(n_topics=20, inference="gibbs", burn_in=2, n_draws=2, thin=1),
    "OneVsRestLinear": OneVsRestLinear(),
    "Ridge": Ridge(),
    "LEML": LEML(20, max_iter=3),
    "kNN": KNN(),
    PMM_ROW: PMM(n_classes=40),
}
APPROXIMATE: dict[str, TagModel] = {
    "BOMC, class shards, merged every 500 rows": BOMC.published(parallel="classes", merge_every=500),
    "BOMC, class shards, merged ever less": BOMC.published(parallel="classes"),
}


def run(data: Path | None, rows: int = DOCUMENTS) -> list[dict[str, Any]]:
    """Nothing without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data, rows)
    learning, held_out = (StoredRows.open(made.features, side) for side in ("train", "test"))
    counts = StoredRows.open(rcv1(data, rows, counts=True).features, "train")
    table: dict[str, dict[str, Any]] = {what: {"what": what} for what in EXACT | APPROXIMATE}
    learnt: dict[str, TagModel] = {}
    for where, executor in executors():
        for what, settings in (EXACT | APPROXIMATE).items():
            learnt[what] = clone(settings).fit_rows(counts if what == PMM_ROW else learning, executor=executor)
            table[what][where] = digest(learnt[what], held_out, executor)
            print(where, what, table[what][where], flush=True)
    stream = learnt[STREAM]
    for what, row in table.items():
        row["same"] = "yes" if len({v for k, v in row.items() if k != "what"}) == 1 else "NO"
        if what in APPROXIMATE:
            row |= distance(learnt[what], stream, held_out)
    return list(table.values())


def executors() -> Iterator[tuple[str, Executor]]:
    """This process, then clusters of more and more workers, one at a time."""
    yield "in process", InProcess()
    for workers in WORKERS:
        with ExitStack() as stack:
            root = stack.enter_context(tempfile.TemporaryDirectory(dir=place()))
            yield f"{workers} worker{'s' * (workers > 1)}", stack.enter_context(two_workers(root, workers))


def digest(model: TagModel, held_out: Rows, executor: Executor) -> str:
    """kNN learns nothing: it is told by what it answers."""
    if isinstance(model, KNN):
        arrays = dict(zip(("tags", "scores"), ShardedScores(model, held_out, executor).top_k(5), strict=True))
    else:
        arrays = model.parts()["arrays"]
    found = hashlib.sha256()
    for name, values in sorted(arrays.items()):
        found.update(f"{name} {values.dtype} {values.shape}".encode())
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()[:12]


def distance(model: TagModel, exact: TagModel, held_out: Rows) -> dict[str, Any]:
    """Of their scores and of their first tags."""
    X, _ = held_out.load(slice(0, held_out.n_rows))
    one, other = (np.concatenate([z.ravel() for _, z in m.score_blocks(X)]) for m in (model, exact))
    here, there = (quality(held_out, m.top_k(X, 5)[0]) for m in (model, exact))
    shown = "P@1", "micro-F1@5", "macro-F1@5"
    differences = {f"{name} minus the stream's": here[name] - there[name] for name in shown}
    return {"correlation of z": f"{np.corrcoef(one, other)[0, 1]:.7f}", **differences}
