"""MMSG with 1,000 prototypes and 101 categories on rows of RCV1 (see above): 100,000 of them in one process of two
threads, which keeps features as they are (bar: 8 GiB), and all of them on `local:2` with 6 GiB for each worker, which
keep features rounded. A round is a Newton step. Parameters are searched on 1,000 rows before it.
"""

from pathlib import Path
from typing import Any

from tagcore.features.rows import StoredRows
from tagcore.models import MMSG
from tagcore.shards import InProcess
from tests.bench.scale.corpora import RCV1, rcv1
from tests.bench.scale.head import head
from tests.bench.scale.measured import Job, compile_for, measured, tagged, trained
from tests.bench.scale.processes import alone, peak_mib

FEW = 100_000
MODEL = MMSG(n_categories=101, n_prototypes=1000, n_shards=16, memory=2**33)


def run(data: Path | None, rows: int = RCV1) -> list[dict[str, Any]]:
    """Nothing without the topics of RCV1."""
    if data is None:
        return []
    made = rcv1(data, rows)
    here = Job("MMSG, one process", MODEL, made.features, min(FEW, rows), RCV1)
    return [
        *made.costs,
        {"what": here.what, **alone(train_and_tag_here, here)},
        measured(Job("MMSG, two workers", MODEL, made.features, RCV1, RCV1)),
    ]


def train_and_tag_here(job: Job) -> dict[str, Any]:
    """As on a cluster, but in this process."""
    rows, executor = head(StoredRows.open(job.features, "train"), job.rows), InProcess(2)
    compile_for(job.model, rows)
    row = trained(job.model, rows, executor)
    row |= tagged(job.model, head(StoredRows.open(job.features, "test"), job.queries), executor)
    return row | {"peak MiB, driver": peak_mib()}
